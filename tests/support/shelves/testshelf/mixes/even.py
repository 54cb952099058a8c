from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, field

EVEN = Mix(
    name="even",
    streams=(
        Stream(
            source="pages",
            version="v1",
            columns=(field("metadata.number", "BIGINT"),),
            include=(Rule("by-four", "number % 4 = 0", "a number that one can count by eye"),),
        ),
    ),
)
