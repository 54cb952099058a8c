from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.rules import Rule, field, score
from gristmill.recipes.source import Revision, Source

PAGES = Source(
    name="pages",
    convert=DolmaLines("pages"),
    revisions=(
        Revision(
            version="v1",
            columns=(score("words-1__count"), field("metadata.language", name="lang", optional=True)),
            include=(Rule("english", "lang = 'en'", "the readers know no other language"),),
            exclude=(Rule("short", "words_1__count < 2", "one word says nothing"),),
        ),
    ),
)
