from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.rules import Rule, field, score, spans
from gristmill.recipes.source import Revision, Source

PAPERS = Source(
    name="papers",
    description="Papers with exam questions, repetitions and stops",
    licence="CC0-1.0",
    owners=("team:press",),
    convert=DolmaLines("papers"),
    revisions=(
        Revision(
            version="v1",
            description="Papers that say something new",
            columns=(
                field("metadata.language"),
                score("length-1__words", "words"),
                score("once-1__duplicate", "duplicate", optional=True),
                spans("asked-1__quiz", "asked"),
            ),
            include=(Rule("english", "language = 'en'", "the others are for another mix"),),
            exclude=(
                Rule("short", "words < 3", "two words say nothing"),
                Rule("again", "duplicate > 0", "it was there before"),
                Rule("exam", "len(asked) > 0", "part of an exam"),
            ),
            blocklists=("takedowns",),
            rate=0.95,
            carry=("stops-1",),
        ),
        Revision(
            version="v2",
            edits=(Edit(spans="carried-stops-1__stops", replacement="|", optional=True),),
            least_kept=0.5,
            origin=True,
        ),
    ),
)
