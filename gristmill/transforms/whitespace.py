"""White space: line ends, ends of lines, blank lines, and characters that nobody sees. Indentation stays."""

import re

from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Drop, Transform

_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u00ad]")
"""Zero-width spaces, the byte order mark and the soft hyphen."""
_TRAILING = re.compile(r"[^\S\n]\n")
_BLANK_LINES = re.compile(r"\n{3,}")


def tidy(document: Document) -> str | Drop:
    r"""The text with `\n` at line ends, no white space before them, and at most one blank line in a row.

    >>> tidy(Document(id="d1", source="tales", text="To be,\r\n  or not \t\n\n\n\nto be.\n"))
    'To be,\n  or not\n\nto be.'
    """
    text = document.text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii():
        text = _INVISIBLE.sub("", text).replace("\u00a0", " ").replace("\u202f", " ")
    if _TRAILING.search(text):
        text = "\n".join(line.rstrip() for line in text.split("\n"))
    tidied = _BLANK_LINES.sub("\n\n", text).strip("\n").rstrip()
    return tidied if tidied.strip() or not document.text else Drop("nothing but white space")


WHITESPACE = Transform(
    name="whitespace-1",
    description="one form of line ends, no white space before them, one blank line at most, no invisible characters",
    document=tidy,
)
