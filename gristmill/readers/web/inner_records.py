"""Finds the beginning of a WARC record inside another one, whose Content-Length is too large."""

import re

_MAGIC = b"WARC/"
_INNER = re.compile(rb"(?:\A|\n)WARC/[01]\.\d{1,2}[ \t]*\r?\n(?:[^\r\n]{1,500}\r?\n){0,10}?WARC-Type:", re.IGNORECASE)
_KEPT = 4 << 10


class InnerRecord:
    """Looks at the content of a record, piece by piece.

    A page may show a record as an example. So a content whose digest is compared is not looked at.

    Args:
        compared: whether the content is compared with a digest.

    Attributes:
        found: whether a record begins in the content.
    """

    def __init__(self, *, compared: bool) -> None:
        self.found = False
        self._last = b""
        self._looks = not compared

    def look(self, piece: bytes) -> None:
        r"""Looks at the next piece.

        >>> inner = InnerRecord(compared=False)
        >>> inner.look(b"text\r\n\r\nWARC/1.0\r\nWARC-")
        >>> inner.look(b"Type: response\r\n")
        >>> inner.found
        True
        """
        if not self._looks or self.found:
            return
        piece = self._last + piece
        self.found = _MAGIC in piece and _INNER.search(piece) is not None
        self._last = piece[-_KEPT:] if len(piece) > _KEPT else piece
