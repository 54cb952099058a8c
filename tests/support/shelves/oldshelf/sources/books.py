from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.rules import Rule, field, score
from gristmill.recipes.source import Revision, Source

BOOKS = Source(
    name="books",
    description="Pages of books",
    licence="CC0-1.0",
    owners=("team:press",),
    convert=DolmaLines("books"),
    revisions=(
        Revision(
            version="v1",
            description="Pages that say something, and do not shout it",
            columns=(
                field("metadata.language"),
                score("length-1__words", "words"),
                score("shout-1__capitals", "capitals"),
            ),
            include=(Rule("english", "language = 'en'", "the others are for another mix"),),
            exclude=(
                Rule("short", "words < 3", "two words say nothing"),
                Rule("loud", "capitals > 0.5", "a page in capitals is a poster"),
            ),
        ),
    ),
)
