"""STARCODER: the statistics by which StarCoder filters code: line lengths, letters and digits, XML.

Source: Li et al. 2023, "StarCoder: may the source be with you!", section 3; github.com/bigcode-project/bigcode-dataset,
commit f4326540, `preprocessing/filtering.py`: `add_stats`, `basic_filters_per_extension`, `filter_xml`. The names are
those of The Stack. Letters and digits are those of Unicode 14.0.
"""

from functools import cache

import numpy as np

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger
from gristmill.text.characters.line_lengths import line_lengths
from gristmill.text.characters.sets import Characters
from gristmill.text.characters.stretches import split_into_stretches
from gristmill.text.code_points import CodePoints

_HEAD, _XML = 100, "<?xml version="


def tag(document: Document) -> dict[str, Label]:
    r"""The five statistics. Lines are those of `str.splitlines`. Only `xml` is there for the empty text.

    * `max_line_length`, `avg_line_length`: code points of the longest line, and of all lines on average.
    * `alphanum_fraction`, `alpha_fraction`: share of code points that are letters or digits, or letters.
    * `xml`: 1 if `<?xml version=` is in the first 100 code points, else 0.

    >>> labels = tag(Document(id="a", text="x = [1, 2]\ny = x", source="code"))
    >>> labels["max_line_length"], labels["avg_line_length"], labels["alphanum_fraction"], labels["xml"]
    (10.0, 7.5, 0.3125, 0.0)
    """
    text = document.text
    xml = float(_XML in text[:_HEAD])
    if not text:
        return {"xml": xml}
    longest, lines, length = line_lengths(text)
    alphanum = alpha = 0
    for stretch in split_into_stretches(text):
        column = CodePoints.of([stretch])
        alphanum += int(_alphanumeric_characters().count(column)[0])
        alpha += int(_letter_characters().count(column)[0])
    return {
        "max_line_length": float(longest),
        "avg_line_length": length / lines,
        "alphanum_fraction": alphanum / len(text),
        "alpha_fraction": alpha / len(text),
        "xml": xml,
    }


@cache
def _alphanumeric_characters() -> Characters:
    return Characters.that(np.strings.isalnum)


@cache
def _letter_characters() -> Characters:
    return Characters.that(np.strings.isalpha)


STARCODER = Tagger(
    name="code-starcoder-1",
    document=tag,
    labels=(
        Score("max_line_length", "length of the longest line", unit="code points", low=0, optional=True),
        Score("avg_line_length", "average length of the lines", unit="code points", low=0, optional=True),
        Score("alphanum_fraction", "share of code points that are letters or digits", low=0, high=1, optional=True),
        Score("alpha_fraction", "share of code points that are letters", low=0, high=1, optional=True),
        Score("xml", "1 if `<?xml version=` is in the first 100 code points, else 0", low=0, high=1),
    ),
    parameters={"lines": "str.splitlines", "head": _HEAD},
    description="Line lengths, shares of letters and digits, XML, as StarCoder filters code.",
)
