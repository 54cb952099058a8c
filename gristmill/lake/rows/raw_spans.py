"""Raw spans: the bytes of the raw object from which each document of a shard was made, if its reader reports them.

They follow the id index of v0 (lake/ledger/id_index.py), packed with gzip. First comes a line of JSON. If any row has
a span, two numbers for each row follow, 8 bytes each, big-endian: the distance from the end of the previous row's span
to the start of this one, and the length. All first bytes of the numbers are stored together, then all second bytes,
and so on: most are zeros, so gzip needs about 1.6 bytes per row.
"""

import zlib
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError
from gristmill.lake.identity import Pair
from gristmill.lake.rows.row_blocks import ROW_LIMIT
from gristmill.lake.rows.shard_file import gzip_bytes
from gristmill.lake.store.json_object import NOT_DECODED

_UNKNOWN = -1


class RawSpan(NamedTuple):
    """The part of a raw object from which a document was made: bytes [start, end).

    If the object's name ends in `.gz` or `.zst`, or a member is named, the numbers count unpacked bytes. In parquet
    files they count rows, because a record there has no bytes of its own.

    Attributes:
        start: the first byte (or row).
        end: the byte (or row) after the last one.
        member: the file within the object, if the object is an archive.
    """

    start: int
    end: int
    member: str = ""


class SpannedRows(NamedTuple):
    """Several rows that a reader has made at once.

    Attributes:
        rows: their JSON, each with its line feed.
        pairs: the (source, id) pair of each.
        starts: offset of the first byte of each row's raw span.
        ends: offset after the last byte of each row's raw span.
    """

    rows: bytes
    pairs: Sequence[Pair]
    starts: Sequence[int]
    ends: Sequence[int]


class _Head(msgspec.Struct):
    """The line of JSON.

    Attributes:
        inputs: how many rows each raw object gave, in order.
        members: the member of each row; empty if no row has one.
        placed: whether any row has a span.
    """

    inputs: list[int]
    members: list[str] = []
    placed: bool = False


class RawSpansWriter:
    """Collects the raw spans of a shard's rows."""

    def __init__(self) -> None:
        self._inputs: list[int] = []
        self._starts, self._ends = array("q"), array("q")
        self._members: dict[int, str] = {}
        self._placed = False

    def begin_object(self) -> None:
        """Starts the next raw object: the rows added from now on come from it."""
        self._inputs.append(0)

    def add(self, raw_span: RawSpan | None) -> None:
        """Adds a row; None if its reader does not report a span."""
        self._inputs[-1] += 1
        if raw_span is None:
            self._starts.append(_UNKNOWN)
            self._ends.append(_UNKNOWN)
            return
        self._placed = True
        if raw_span.member:
            self._members[len(self._starts)] = raw_span.member
        self._starts.append(raw_span.start)
        self._ends.append(raw_span.end)

    def append_spans(self, starts: Sequence[int], ends: Sequence[int]) -> None:
        """Adds rows with their spans.

        Args:
            starts: the first byte of each row's span.
            ends: the byte after the last one of each span.
        """
        self._inputs[-1] += len(starts)
        self._starts.extend(starts)
        self._ends.extend(ends)
        self._placed = self._placed or bool(starts)

    def packed_spans(self) -> bytes:
        """The packed spans, as the index holds them; empty for a shard without rows."""
        if not self._starts:
            return b""
        members = [self._members.get(row, "") for row in range(len(self._starts))] if self._members else []
        head = msgspec.json.encode(_Head(self._inputs, members, self._placed)) + b"\n"
        if not self._placed:
            return gzip_bytes(head)
        starts, ends = np.array(self._starts, np.int64), np.array(self._ends, np.int64)
        numbers = np.stack([starts - np.concatenate([[0], ends[:-1]]), ends - starts])
        planes = numbers.astype(">i8").view(np.uint8).reshape(-1, 8).T
        return gzip_bytes(head + planes.tobytes())


class RawOrigin(NamedTuple):
    """The raw object that a row came from.

    Attributes:
        number: number of the object among the shard's inputs, from 0.
        raw_span: the raw span; None if it is not known.
    """

    number: int
    raw_span: RawSpan | None


def find_raw_span(packed: bytes, row: int, path: str) -> RawOrigin:
    """Finds the raw object and the raw span of a row.

    Args:
        packed: bytes of the writer's `packed_spans`.
        row: number of the row in the shard.
        path: path of the index, for messages.

    Returns:
        The object's number, and the span if it is known.

    Raises:
        DataError: the bytes are not raw spans, or have no such row.

    >>> writer = RawSpansWriter()
    >>> writer.begin_object()
    >>> writer.add(RawSpan(0, 120))
    >>> writer.add(RawSpan(120, 250))
    >>> find_raw_span(writer.packed_spans(), 1, "demo.xxh128").raw_span
    RawSpan(start=120, end=250, member='')
    """
    head, planes = _read_packed_spans(packed, path)
    ends = np.cumsum(head.inputs, dtype=np.int64)
    rows = int(ends[-1]) if len(ends) else 0
    if not 0 <= row < rows:
        raise DataError(f"{path}: its raw spans of {rows} rows have no row {row}; make its shard again")
    number = int(np.searchsorted(ends, row, "right"))
    return RawOrigin(number, _decode_raw_span(planes, row, rows, head.members) if head.placed else None)


def check_raw_spans(packed: bytes, rows: int, inputs: int, path: str) -> None:
    """Checks that packed spans are spans of the rows of a shard. They are not compared with the raw objects.

    Args:
        packed: bytes of the writer's `packed_spans`.
        rows: number of rows of the shard.
        inputs: number of its raw objects.
        path: path of the index, for messages.

    Raises:
        DataError: the bytes are not raw spans, are of other rows or of another number of objects, or a span begins
            before its object or ends before it begins.
    """
    head, planes = _read_packed_spans(packed, path)
    if (sum(head.inputs), len(head.inputs)) != (rows, inputs):
        raise DataError(
            f"{path}: its raw spans are of {sum(head.inputs)} rows from {len(head.inputs)} raw objects, the shard has"
            f" {rows} rows from {inputs}; make its shard again"
        )
    if not head.placed:
        return
    gaps, lengths = _decode_span_numbers(planes).reshape(2, -1)
    starts = np.cumsum(gaps + lengths) - lengths
    wrong = ((starts < 0) | (lengths < 0)) & ~((starts == _UNKNOWN) & (lengths == 0))
    if wrong.any():
        raise DataError(f"{path}: the raw span of row {int(np.argmax(wrong))} is not valid; make its shard again")


def _read_packed_spans(packed: bytes, path: str) -> tuple[_Head, bytes]:
    """The line of JSON and the numbers; DataError if they do not belong together."""
    try:
        line, _, planes = _unpack_limited(packed).partition(b"\n")
        head = msgspec.json.decode(line, type=_Head)
    except (zlib.error, *NOT_DECODED) as error:
        raise DataError(
            f"{path}: the raw spans after its hashes cannot be read ({error}); make its shard again"
        ) from error
    rows = sum(head.inputs)
    if (
        min(head.inputs, default=0) < 0
        or rows >= 1 << 62  # a sum of int64 must hold it
        or len(planes) != 16 * rows * head.placed
        or len(head.members) not in {0, rows}
    ):
        raise DataError(f"{path}: its raw spans of {rows} rows are not valid; make its shard again")
    return head, planes


def _unpack_limited(packed: bytes) -> bytes:
    """The unpacked bytes. A forged index must not fill the memory."""
    gzip = zlib.decompressobj(wbits=31)
    plain = gzip.decompress(packed, ROW_LIMIT)
    if not gzip.eof or gzip.unused_data:
        raise zlib.error(f"truncated, more than {ROW_LIMIT} bytes, or bytes behind its end")
    return plain


def _decode_span_numbers(planes: bytes) -> npt.NDArray[np.int64]:
    """The gaps of all rows, then the lengths of all rows."""
    numbers: npt.NDArray[np.int64] = (
        np.ascontiguousarray(np.frombuffer(planes, np.uint8).reshape(8, -1).T).view(">i8").astype(np.int64).ravel()
    )
    return numbers


def _decode_raw_span(planes: bytes, row: int, rows: int, members: Sequence[str]) -> RawSpan | None:
    numbers = _decode_span_numbers(planes)
    gaps, lengths = numbers[: row + 1], numbers[rows : rows + row + 1]
    end = int(gaps.sum() + lengths.sum())
    start = end - int(lengths[-1])
    return None if start == _UNKNOWN else RawSpan(start, end, members[row] if members else "")
