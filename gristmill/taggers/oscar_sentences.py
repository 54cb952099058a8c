"""OSCAR_SENTENCES: the languages of each line, as OSCAR identified them, without a loss.

It computes nothing: it turns the metadata of documents that were read by `OscarLines` into spans.
"""

from gristmill.readers.oscar.identifications import COUNT, OTHER_LINES, identification_labels
from gristmill.recipes.tagger import Score, Spans, Tagger

OSCAR_SENTENCES = Tagger(
    name="oscar-sentences-1",
    document=identification_labels,
    labels=(
        Score(
            COUNT,
            "identifications of lines that the document has, null ones too; -1 if their list is null; missing if it has"
            " no list",
            unit="lines",
            low=-1,
            optional=True,
        ),
        Score(
            OTHER_LINES,
            "1 if the text was edited since it was read, so its lines have no identifications",
            low=1,
            high=1,
            optional=True,
        ),
        Spans(
            "*",
            "each line that OSCAR identified as this language, with its probability, which may exceed 1 by rounding",
            low=0,
            high=1.001,
            optional=True,
            exact=True,
        ),
    ),
    only=frozenset({"oscar*"}),
    description="The language of each line, as OSCAR identified it, as spans by language.",
)
