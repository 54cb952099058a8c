from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.source import Revision, Source

LETTERS = Source(
    name="letters",
    description="Letters to the mill",
    licence="CC0-1.0",
    owners=("team:post",),
    convert=DolmaLines("letters"),
    revisions=(
        Revision(
            version="v1",
            description="Letters that say something",
            columns=(score("count-1__words", "words"),),
            exclude=(Rule("short", "words < 2", "one word says nothing"),),
        ),
    ),
)
