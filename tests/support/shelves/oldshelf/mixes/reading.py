from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.row_format import Chat, Prebuilt, Text
from gristmill.recipes.rules import Rule, score

TEMPLATE = (
    "{% for m in messages %}{{ m.role[0] }}:{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "{% endgeneration %}{% else %}{{ m.content }}{% endif %};{% endfor %}"
)

READING = Mix(
    name="reading",
    description="Books, talks about them, and exams",
    owners=("team:press",),
    streams=(
        Stream(
            source="books",
            version="v1",
            columns=(score("length-1__chars", "chars"),),
            exclude=(Rule("endless", "chars > 400", "no page is that long"),),
            blocklists=("takedowns",),
            rate=0.9,
            weight=2.0,
            format=Text(pack=True),
        ),
        Stream(source="talks", version="v0", format=Chat(chat_template=TEMPLATE, on_trouble="drop")),
        Stream(
            source="exams",
            version="v0",
            format=Prebuilt(input_ids_key="ids", loss_weights_key="weights", length=8, on_trouble="drop"),
        ),
    ),
    validation=0.2,
    parts=4,
    tokenizers=("tiny-1",),
)
