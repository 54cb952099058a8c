"""Raw spans: where in its raw object each document of a shard was found, as far as the converter says.

They are packed behind the id index of v0 (lake/ledger/id_index.py), in gzip: a line of JSON and, if any row has a
span, two numbers for each row as 8 bytes, big-endian: how far the span begins behind the end of the row before it, and
how long it is. The bytes of these numbers are stored plane by plane (all the highest ones first), because most of them
are zeros: about 1.6 bytes for each row remain.
"""

import zlib
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError
from gristmill.lake.rows.shard_file import gzip_bytes

_NOWHERE = -1


class Spot(NamedTuple):
    """Where in a raw object a document lies: bytes [start, end).

    They are counted in what is unpacked, if the object's name says that it is packed (`.gz`, `.zst`) or a member is
    named; otherwise in the object itself. Of parquet files rows are counted: their records have no bytes of their own.

    Attributes:
        start: the first byte (or row).
        end: behind the last one.
        member: the file inside, if the object is an archive.
    """

    start: int
    end: int
    member: str = ""


class _Head(msgspec.Struct):
    """The line of JSON: rows of each raw object in order, and each row's member, if any row has one."""

    inputs: list[int]
    members: list[str] = []
    placed: bool = False


class SpotsWriter:
    """Collects the spots of a shard's rows."""

    def __init__(self) -> None:
        self._inputs: list[int] = []
        self._starts, self._ends = array("q"), array("q")
        self._members: dict[int, str] = {}
        self._placed = False

    def begin(self) -> None:
        """The next rows come from the next raw object."""
        self._inputs.append(0)

    def add(self, spot: Spot | None) -> None:
        """Adds a row; None where its converter does not say."""
        self._inputs[-1] += 1
        if spot is None:
            self._starts.append(_NOWHERE)
            self._ends.append(_NOWHERE)
            return
        self._placed = True
        if spot.member:
            self._members[len(self._starts)] = spot.member
        self._starts.append(spot.start)
        self._ends.append(spot.end)

    def pack(self) -> bytes:
        """As they lie in the index; nothing where there are no rows."""
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


class Found(NamedTuple):
    """The raw object that a row came from, by its number among the shard's inputs, and where in it."""

    number: int
    spot: Spot | None


def find_spot(packed: bytes, row: int, path: str) -> Found:
    """Where a row came from.

    Args:
        packed: as SpotsWriter gave it.
        row: its number in the shard.
        path: of the index, for messages.

    Raises:
        DataError: these are no spots, or not of so many rows.
    """
    try:
        line, _, planes = zlib.decompress(packed, wbits=31).partition(b"\n")
        head = msgspec.json.decode(line, type=_Head)
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: no raw spots behind its hashes ({error}); make its shard again") from error
    ends = np.cumsum(head.inputs, dtype=np.int64)
    rows = int(ends[-1]) if len(ends) else 0
    if not 0 <= row < rows or len(planes) != 16 * rows * head.placed or len(head.members) not in {0, rows}:
        raise DataError(f"{path}: raw spots of {rows} rows, which cannot be; make its shard again")
    number = int(np.searchsorted(ends, row, "right"))
    return Found(number, _spot(planes, row, rows, head.members) if head.placed else None)


def _spot(planes: bytes, row: int, rows: int, members: Sequence[str]) -> Spot | None:
    numbers: npt.NDArray[np.int64] = (
        np.ascontiguousarray(np.frombuffer(planes, np.uint8).reshape(8, -1).T).view(">i8").astype(np.int64).ravel()
    )
    gaps, lengths = numbers[: row + 1], numbers[rows : rows + row + 1]
    end = int(gaps.sum() + lengths.sum())
    start = end - int(lengths[-1])
    return None if start == _NOWHERE else Spot(start, end, members[row] if members else "")
