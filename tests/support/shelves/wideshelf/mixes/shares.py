from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.row_format import Text
from gristmill.recipes.rules import Rule, field

PAGE = field("metadata.page", "BIGINT")

SHARES = Mix(
    name="shares",
    description="Papers and adopted rows by shares of tokens",
    streams=(
        Stream(
            source="papers",
            version="v1",
            name="first",
            group="papers",
            language="en",
            columns=(PAGE,),
            include=(Rule("early", "page < 3", "the others are in the stream edited"),),
        ),
        Stream(
            source="papers",
            version="v2",
            name="edited",
            group="papers",
            repeats=2.0,
            columns=(PAGE,),
            include=(Rule("late", "page >= 3", "the others are in the stream first"),),
            format=Text(pack=2),
        ),
        Stream(source="theirs", version="v0", blocklists=("takedowns",)),
    ),
    proportions={"papers": 0.7, "theirs": 0.3},
    token_budget=1200,
    sequence_length=16,
    validation=0.3,
    validation_key=PAGE,
    tokenizers=("tiny-1",),
)
