from oldshelf.mixes.reading import TEMPLATE

from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.row_format import Chat, Prebuilt, Text
from gristmill.recipes.rules import Rule, score

READING = Mix(
    name="reading",
    description="Papers, talks and exams",
    owners=("team:press",),
    streams=(
        Stream(
            source="papers",
            version="v2",
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
    metadata={"for": "tests"},
)
