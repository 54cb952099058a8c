"""What the recognition of printed pages leaves behind: words cut at line ends, and long runs of one sign."""

import re

from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Transform

_HYPHEN = re.compile(r"[-\u00ad\u2010]\n[ \t]{0,8}")
_PART = 2
"""Letters that a cut word has on each side of the line end, at least."""
_RUN = re.compile(r"([^\w\s])\1{4,}")
_SHORT_RUN = 3


def mended(document: Document) -> str:
    r"""The text with cut words joined, and with at most three equal signs in a row where there were five or more.

    A word is joined only if the letter after the line end is a small one. `well-known` that was cut at its own hyphen
    loses it.

    >>> mended(Document(id="d1", source="books", text="The gar-\nden ..........  12\nJean-\nPaul"))
    'The garden ...  12\nJean-\nPaul'
    """
    text = document.text
    joined = _HYPHEN.sub(lambda cut: "" if _is_cut(text, cut) else cut[0], text)
    return _RUN.sub(lambda run: run[1] * _SHORT_RUN, joined)


def _is_cut(text: str, cut: re.Match[str]) -> bool:
    before, after = text[max(0, cut.start() - _PART) : cut.start()], text[cut.end() : cut.end() + _PART]
    return len(before) == len(after) == _PART and before.isalpha() and after.isalpha() and after.islower()


OCR_NOISE = Transform(
    name="ocr-noise-1",
    description="words that were cut at line ends are joined, and runs of five or more equal signs become three",
    document=mended,
)
