"""White space: line ends, ends of lines, blank lines, and characters that nobody sees. Indentation stays."""

from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Drop, Transform

_REPLACED = {**dict.fromkeys("\u200b\u2060\ufeff\u00ad", ""), **dict.fromkeys("\u00a0\u202f", " ")}
"""Zero-width spaces, the byte order mark and the soft hyphen go; spaces that do not break a line become plain ones.

A search for one character is many times as fast as one for any of them.
"""


def tidy(document: Document) -> str | Drop:
    r"""The text with `\n` at line ends, no white space before them, and at most one blank line in a row.

    >>> tidy(Document(id="d1", source="tales", text="To be,\r\n  or not \t\n\n\n\nto be.\n"))
    'To be,\n  or not\n\nto be.'
    """
    text = document.text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii():
        for old, new in _REPLACED.items():
            text = text.replace(old, new)
    text = "\n".join(map(str.rstrip, text.split("\n")))
    while "\n\n\n" in text:  # a run gets a third shorter each time
        text = text.replace("\n\n\n", "\n\n")
    tidied = text.strip("\n").rstrip()
    return tidied if tidied.strip() or not document.text else Drop("nothing but white space")


WHITESPACE = Transform(
    name="whitespace-1",
    description="one form of line ends, no white space before them, one blank line at most, no invisible characters",
    document=tidy,
)
