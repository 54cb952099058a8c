"""REDPAJAMA_CODE: the statistics by which RedPajama filters code: line lengths, letters and digits.

Source: Together Computer 2023, RedPajama-Data; as `code_redpajama_taggers_v1` of the Dolma toolkit 1.2.1 computes them
(`dolma/taggers/code/code_taggers.py`). The values are equal, except for texts with code points that Unicode 14.0 does
not assign: here they are no letters.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger
from gristmill.text.characters.line_lengths import line_lengths
from gristmill.text.characters.stretches import split_into_stretches
from gristmill.text.unicode.assigned import assigned
from gristmill.text.unicode.tables import SPACE, WORD, character_flags

_WORD, _MARK, _ALNUM, _ALPHA = 1, 2, 4, 8


def tag(document: Document) -> dict[str, Label]:
    r"""The four statistics. Lines are those of `str.splitlines`.

    * `max_line_length_doc`, `avg_line_length_doc`: code points of the longest line, and of all lines on average.
    * `alnum_prop_doc`: share of code points that are letters or digits (`str.isalnum`).
    * `alpha_token_prop_doc`: letters divided by tokens. A token is a run of `\w`, or of what is neither `\w` nor white
      space; one is added, as RedPajama does.

    >>> tag(Document(id="a", text="x = [1, 2]\ny = x", source="code"))["max_line_length_doc"]
    10.0
    """
    longest, lines, characters = line_lengths(document.text)
    alnum = alpha = tokens = before = 0
    for stretch in split_into_stretches(document.text):
        kinds = _character_kinds(stretch)
        alnum += int(np.count_nonzero(kinds & _ALNUM))
        alpha += int(np.count_nonzero(kinds & _ALPHA))
        runs = kinds & (_WORD | _MARK)
        tokens += int(np.count_nonzero((runs[1:] != 0) & (runs[1:] != runs[:-1])))
        if len(runs):
            tokens += int(runs[0] not in {0, before})
            before = int(runs[-1])
    return {
        "max_line_length_doc": float(longest),
        "avg_line_length_doc": characters / lines if lines else 0.0,
        "alnum_prop_doc": alnum / len(document.text) if document.text else 0.0,
        "alpha_token_prop_doc": alpha / (tokens + 1),
    }


def _character_kinds(text: str) -> NDArray[np.uint8]:
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    kinds: NDArray[np.uint8] = _character_kind_table()[points]
    return kinds


@cache
def _character_kind_table() -> NDArray[np.uint8]:
    """For every code point: whether it is in a token, of which kind, and whether it is a letter or a digit."""
    every = np.arange(0x110000, dtype=np.uint32).view("U1")
    alpha, alnum = np.strings.isalpha(every) & assigned(), np.strings.isalnum(every) & assigned()
    tokens = np.where(character_flags() & WORD, _WORD, np.where(character_flags() & SPACE, 0, _MARK))
    kinds: NDArray[np.uint8] = (tokens | alnum * _ALNUM | alpha * _ALPHA).astype(np.uint8)
    return kinds


REDPAJAMA_CODE = Tagger(
    name="code-redpajama-1",
    document=tag,
    labels=(
        Score("max_line_length_doc", "length of the longest line", unit="code points", low=0),
        Score("avg_line_length_doc", "average length of the lines", unit="code points", low=0),
        Score("alnum_prop_doc", "share of code points that are letters or digits", low=0, high=1),
        Score("alpha_token_prop_doc", "letters divided by one more than the tokens", low=0),
    ),
    parameters={"lines": "str.splitlines", "tokens": r"\w+|[^\w\s]+"},
    description="Line lengths and shares of letters and digits, as RedPajama filters code.",
)
