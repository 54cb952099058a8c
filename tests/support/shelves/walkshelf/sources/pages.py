from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.source import Revision, Source

PAGES = Source(
    name="pages",
    convert=DolmaLines("pages"),
    revisions=(
        Revision(
            version="v1",
            columns=(score("drops-1__drop", "dropped"),),
            exclude=(Rule("marked", "dropped > 0", "the text says so"),),
        ),
    ),
)
