"""The records of a WARC, WET or WAT file (ISO 28500), one by one, in bounded memory.

No record is left out in silence. A record that is damaged, or is longer or shorter than it says, is refused with its
place, if the file's members show where the next one begins; else the file is an error. A record is given only after
the checksum of its gzip member was compared, if the member holds nothing else.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gristmill.errors import DataError
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.web.digests import digest_difference, is_comparable_digest
from gristmill.readers.web.inner_records import InnerRecord
from gristmill.readers.web.members import MAGIC, Damaged
from gristmill.readers.web.part_members import members_of_part, told_of_part
from gristmill.recipes.raw_object import TOO_LONG, LeftOut, RawObject, Refused

HEADER_LIMIT = 64 << 10
"""Most bytes of the header of a record, and of HTTP."""
_VERSION = re.compile(rb"WARC/[01]\.\d{1,2}\s*")
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_SHOWN = 4 << 10
_LINE_ENDS = 16
_PETABYTE = 15  # digits
_SHORTER = "record shorter than its Content-Length"


class _Malformed(Exception):  # noqa: N818 - the tree reads as English
    """A record whose header or length is wrong.

    Its arguments: whether the record begins a member, the reason, and more for people.
    """


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """One record.

    Attributes:
        headers: values of the fields, by their names in lower case. Of fields that are given twice, the values are
            joined by ", ".
        content: its bytes.
        where: its place, for messages.
        number: its number in the file, counted from 0.
        start: its first byte in the unpacked file.
    """

    headers: dict[str, str]
    content: bytes
    where: str
    number: int = 0
    start: int = 0

    @property
    def kind(self) -> str:
        """Its WARC-Type, in lower case."""
        return self.headers.get("warc-type", "").lower()

    @property
    def id(self) -> str:
        """Its WARC-Record-ID as written, with its angle brackets; empty without one."""
        return self.headers.get("warc-record-id", "")

    @property
    def url(self) -> str:
        """Its WARC-Target-URI, without the angle brackets that wget writes."""
        return bare(self.headers.get("warc-target-uri", ""))

    @property
    def warc_date(self) -> str | None:
        """Its WARC-Date with milliseconds, as `2021-09-16T11:07:14.000Z`; None if it is not a complete date."""
        match = _DATE.fullmatch(self.headers.get("warc-date", ""))
        if match is None:
            return None
        return match[0] if match[1] else f"{match[0][:-1]}.000Z"

    def refused(self, reason: str, detail: str = "") -> Refused:
        """The record as a refused row, with its first bytes.

        Args:
            reason: short reason, as in Refused.
            detail: more for people, put behind the record's place; may be empty.
        """
        where = f"{self.where} ({detail})" if detail else self.where
        head, size = self.content[:_SHOWN], len(self.content)
        return Refused(reason, where, head, size, row=self.number, id=self.id, offset=self.start)


def bare(uri: str) -> str:
    """An address without angle brackets around it.

    >>> bare("<https://example.org/>")
    'https://example.org/'
    """
    return uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri


def parse_warc_header(lines: list[bytes]) -> dict[str, str]:
    r"""The fields of a header, by their names in lower case. A line that begins with white space continues the last.

    Args:
        lines: lines of the header without the first one, which is the version or status.

    Raises:
        ValueError: a line is not a field.

    >>> parse_warc_header([b"Host: a.org", b"Via: b,", b"  c", b"host: d.org"])
    {'host': 'a.org, d.org', 'via': 'b, c'}
    """
    block = b"\n".join(lines)
    try:
        text = block.decode()
    except UnicodeDecodeError:
        text = block.decode("latin-1")
    rows = text.split("\n") if text else []
    found: dict[str, str] = {}
    if "\n " not in text and "\n\t" not in text and not text.startswith((" ", "\t")):  # no line continues another
        parts = [row.partition(":") for row in rows]
        found = {name.strip().lower(): value.strip() for name, colon, value in parts if colon}
        if len(found) == len(rows) and "" not in found:  # nor is a line no field, or a field given twice
            return found
        found = {}
    last = ""
    for line in rows:
        name, colon, value = line.partition(":")
        if line[:1] in {" ", "\t"} and last:
            found[last] = f"{found[last]} {line.strip()}"
            continue
        last = name.strip().lower()
        if not colon or not last:
            raise ValueError(line[:100])
        found[last] = f"{found[last]}, {value.strip()}" if last in found else value.strip()
    return found


def read_warc_records(
    raw: RawObject, leave_out: Callable[[dict[str, str]], str], source: str
) -> Iterator[WarcRecord | Refused | LeftOut]:
    """The records of a WARC file. Before it yields one, it sets `raw.raw_span` to its bytes in the unpacked file.

    Args:
        raw: the file: plain, packed by gzip (record by record, or whole), or by zstd.
        leave_out: function from a record's header to the reason to leave it out; empty for a record that is wanted. The
            content of what is left out is not kept in memory.
        source: name of the source, for what is left out.

    Yields:
        Each wanted record, a LeftOut for each other one, and a Refused for each that is damaged.

    Raises:
        DataError: the file is truncated or is not WARC, or the end of a damaged record cannot be found.
    """
    return told_of_part(iter(_Reader(raw, leave_out, source)), raw)


class _Reader:
    """Cuts a file's plain bytes into records."""

    def __init__(self, raw: RawObject, leave_out: Callable[[dict[str, str]], str], source: str) -> None:
        self._raw, self._leave_out, self._source = raw, leave_out, source
        self._members = members_of_part(raw)
        self._held = bytearray()
        self._passed = 0  # plain bytes before those that are held
        self._begin = 0  # the first plain byte of the current member
        self._number = -1
        self._start = self._offset = 0  # the current record: its first plain byte, and its member's place in the file
        self._given = False  # whether a record of the current member was given before the member was checked

    def __iter__(self) -> Iterator[WarcRecord | Refused | LeftOut]:
        while True:
            self._number += 1
            try:
                if not self._at_record():
                    return
                result = self._read_record()
            except Damaged as error:
                result = self._after_damage(error)
            except _Malformed as error:
                result = self._after_malformed(error)
            self._raw.check_unpacked(self._passed, self._number + 1)
            yield result

    def _at_record(self) -> bool:
        """Goes to the first byte of the next record; False at the end of the file."""
        while not self._hold_bytes(1):
            if not self._next_member():
                return False
        self._start, self._offset = self._passed, self._members.offset
        return True

    def _next_member(self) -> bool:
        self._given, self._begin = False, self._passed + len(self._held)
        return self._members.next_member()

    def _hold_bytes(self, count: int) -> bool:
        """Whether the current member has at least this many bytes more. They are then held."""
        while len(self._held) < count:
            piece = self._members.piece()
            if not piece:
                return False
            self._held += piece
        return True

    def _pass_bytes(self, count: int) -> bytes:
        taken = bytes(self._held[:count])
        del self._held[:count]
        self._passed += count
        return taken

    def _read_record(self) -> WarcRecord | Refused | LeftOut:
        alone = self._start == self._begin
        headers, length = self._read_header(alone=alone)
        end = self._passed + length
        place = f"bytes {self._start}-{end} unpacked, member at byte {self._offset}"
        where = f"{self._raw.name} record {self._number} ({place})"
        reason = self._leave_out(headers)
        most = 0 if reason else self._raw.limits.row
        digest = headers.get("warc-block-digest", "")
        inner = InnerRecord(length, compared=not reason and length <= most and is_comparable_digest(digest))
        content = self._read_content(length, length if length <= most else min(most, _SHOWN), inner, alone=alone)
        self._check_end(alone=alone)
        self._given = bool(self._held)
        if inner.found:
            return self._refused_record(_SHORTER, f"{where}: another record begins inside", content, length)
        self._raw.raw_span = RawSpan(self._start, end)
        if reason:
            return LeftOut(reason, id=headers.get("warc-record-id", ""), source=self._source)
        if length > most:
            where = f"{where}: {length} bytes, but row_limit is {most}; its first are kept"
            return self._refused_record(TOO_LONG, where, content, length)
        record = WarcRecord(headers, content, where, self._number, self._start)
        wrong = digest_difference(digest, content)
        return record.refused("wrong checksum", wrong) if wrong else record

    def _read_header(self, *, alone: bool) -> tuple[dict[str, str], int]:
        end, width = _header_end(self._held)
        while end < 0:
            if len(self._held) > HEADER_LIMIT and self._held.startswith(MAGIC):
                raise _Malformed(alone, "record header too long", f"more than {HEADER_LIMIT} bytes")
            if len(self._held) > HEADER_LIMIT or not self._more_of_header(alone=alone):
                raise _Malformed(alone, "not a WARC record", f"it begins with {bytes(self._held[:16])!r}")
            end, width = _header_end(self._held)
        first, *lines = bytes(self._held[:end]).split(b"\n")
        if not _VERSION.fullmatch(first):
            raise _Malformed(alone, "not a WARC record", f"it begins with {first[:16]!r}")
        try:
            headers = parse_warc_header(lines)
            length = headers.get("content-length", "")
            if not length.isascii() or not length.isdigit() or len(length) > _PETABYTE:
                raise _Malformed(alone, "no Content-Length", f"it is {length!r}")
        except ValueError as error:
            raise _Malformed(alone, "not a WARC record", f"a line of its header is no field: {error}") from error
        self._pass_bytes(end + width)
        return headers, int(length)

    def _more_of_header(self, *, alone: bool) -> bool:
        """Whether more bytes are held, if need be of the next member. But that may be a record of its own."""
        size = len(self._held)
        if self._hold_bytes(size + 1):
            return True
        if not self._next_member():
            return False
        if alone and self._hold_bytes(size + len(MAGIC)) and self._held[size:].startswith(MAGIC):
            self._pass_bytes(size)
            raise _Malformed(alone, _SHORTER, "its header is not complete")
        return True

    def _read_content(self, length: int, keep: int, inner: InnerRecord, *, alone: bool) -> bytes:
        """The first `keep` bytes of a content; the others are passed over."""
        if length == keep <= len(self._held):
            content = self._pass_bytes(length)
            inner.look(content)
            return content
        kept = bytearray()
        left = length
        while left:
            if not self._held and not self._hold_bytes(1):
                self._continue_in_next_member(left, alone=alone)
                continue
            taken = self._pass_bytes(min(left, len(self._held)))
            left -= len(taken)
            inner.look(taken)
            kept += taken[: keep - len(kept)]
        return bytes(kept)

    def _continue_in_next_member(self, left: int, *, alone: bool) -> None:
        """Continues in the next member, inside of a record."""
        if not self._next_member():
            raise DataError(
                f"{self._raw.path}: record {self._number}: the file ends {left} bytes before the record does: it was"
                " truncated; acquire it again"
            )
        if alone and self._hold_bytes(len(MAGIC)) and self._held.startswith(MAGIC):
            raise _Malformed(alone, _SHORTER, f"{left} bytes are missing")

    def _check_end(self, *, alone: bool) -> None:
        """Passes the line ends after a record, and checks that the next one follows."""
        while self._hold_bytes(1) and self._held[0] in b"\r\n":
            head = self._held[:_LINE_ENDS]
            self._pass_bytes(len(head) - len(head.lstrip(b"\r\n")))
        self._hold_bytes(len(MAGIC))
        if not MAGIC.startswith(self._held[: len(MAGIC)]):
            what = f"{bytes(self._held[:16])!r} follows it"
            raise _Malformed(alone, "record longer than its Content-Length", what)

    def _after_damage(self, error: Damaged) -> Refused:
        gap = None if self._given else self._members.recover()
        if gap is None:
            raise DataError(
                f"{self._raw.path}: damaged at record {self._number}, in the member at byte {self._members.offset}"
                f" ({error}), and the next record cannot be found; acquire it again"
            ) from error
        self._passed += len(self._held)
        self._held = bytearray()
        self._given, self._begin = False, self._passed
        where = f"{self._raw.name} record {self._number}: bytes {gap.start}-{gap.end} of the file: {error}"
        return self._refused_record("damaged record", where, gap.head, gap.end - gap.start)

    def _after_malformed(self, error: _Malformed) -> Refused:
        """Passes over the rest of the member of a malformed record, if the record is alone in it."""
        alone, reason, detail = error.args
        place = f"record {self._number} (byte {self._start} unpacked, member at byte {self._offset}): {detail}"
        if reason == _SHORTER:
            return self._refused_record(
                reason, f"{self._raw.name} {place}", b"", 0
            )  # the next record is at hand already
        head = bytes(self._held[:_SHOWN])
        try:
            while self._hold_bytes(1):
                self._pass_bytes(len(self._held))
        except Damaged as damage:
            return self._after_damage(damage)
        if not alone or (not self._next_member() and not self._start):
            raise DataError(
                f"{self._raw.path}: {reason}: {place}; the next record cannot be found; acquire it again"
            ) from error
        return self._refused_record(reason, f"{self._raw.name} {place}", head, self._passed - self._start)

    def _refused_record(self, reason: str, where: str, head: bytes, size: int) -> Refused:
        return Refused(reason, where, head[:_SHOWN], size, row=self._number, offset=self._start)


def _header_end(held: bytearray) -> tuple[int, int]:
    """Where a header ends, and the length of the empty line; (-1, 0) if its end is not held yet."""
    end = held.find(b"\r\n\r\n", 0, HEADER_LIMIT)
    if end >= 0:
        return end, 4
    end = held.find(b"\n\n", 0, HEADER_LIMIT)
    return (end, 2) if end >= 0 else (-1, 0)
