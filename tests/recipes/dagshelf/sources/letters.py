from gristmill.stages.conversion import Revision, Source
from gristmill.stages.dolma_lines import DolmaLines
from gristmill.stages.rules import Rule, score

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
