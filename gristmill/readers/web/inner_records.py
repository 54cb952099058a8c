"""Finds the beginning of a WARC record inside another one, whose Content-Length is too large."""

import re

_BEGIN = re.compile(rb"\nWARC/[01]\.\d{1,2}[ \t]{0,8}\r?\n", re.IGNORECASE)
_FIELDS = re.compile(rb"(?:(?!WARC/)[^\r\n][^\n]*\n)*+", re.IGNORECASE)  # also lines that are no fields
_TYPE = re.compile(rb"^WARC-Type:", re.IGNORECASE | re.MULTILINE)
_LENGTH = re.compile(rb"^Content-Length:[ \t]*(\d{1,15})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_LINE_ENDS = 4  # bytes between two records
_LONGEST = 16 << 10  # header of an inner record
_KEPT = 32  # bytes in which a beginning may be cut


class InnerRecord:
    """Looks at the content of a record, piece by piece.

    A page may show a record as an example. So a content whose digest is compared is not looked at, and of others only
    a record counts that ends where the content ends: a Content-Length that is too large in another way is told by what
    follows the content.

    Args:
        length: number of bytes of the content.
        compared: whether the content is compared with a digest.

    Attributes:
        found: whether a record begins in the content, and ends with it.
    """

    def __init__(self, length: int, *, compared: bool) -> None:
        self.found = False
        self._length = length
        self._held, self._before = b"\n", -1  # as if a line ended before the content
        self._looks = not compared

    def look(self, piece: bytes) -> None:
        r"""Looks at the next piece.

        >>> inner = InnerRecord(63, compared=False)
        >>> inner.look(b"text\r\n\r\nWARC/1.0\r\nWARC-")
        >>> inner.look(b"Type: response\r\nContent-Length: 3\r\n\r\nabc")
        >>> inner.found
        True
        """
        if not self._looks or self.found:
            return
        held, at = self._held + piece, 0
        kept = max(len(held) - _KEPT, 0)
        while begin := _BEGIN.search(held, at):
            fields = _FIELDS.match(held, begin.end())
            at = fields.end() if fields else begin.end()
            line_end = held.find(b"\n", at)
            if line_end < 0 and len(held) - begin.start() <= _LONGEST:
                kept = begin.start()  # the rest of its header is in the next piece
                break
            if fields and not held[at:line_end].strip(b"\r"):
                self._compare_record_ends(fields[0], self._before + line_end + 1)
            at -= 1  # the line end before the next line
        self._held, self._before = held[kept:], self._before + kept

    def _compare_record_ends(self, header: bytes, start: int) -> None:
        """Compares the end of a record with that of the content. `start`: of its own content."""
        length = _LENGTH.search(header)
        if length and _TYPE.search(header):
            self.found |= 0 <= self._length - start - int(length[1]) <= _LINE_ENDS
