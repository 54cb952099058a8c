"""Samples of a tar in columns, and the index of their offsets beside a tar or a JSONL file.

The walk over a tar finds such columns, and the writer of tars makes them. The index, `.tar.idx` or `.jsonl.idx`, holds
n + 1 offsets for n samples as unsigned 64-bit integers, without a header: where each sample begins, and where the last
one ends. We write it little-endian; the real tool uses the order of its machine, which is the same on all usual ones.

Source: NVIDIA/Megatron-Energon 7.4.1.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gristmill.errors import DataError

Offsets = NDArray[np.int64]
"""Offsets, sizes or numbers, as 64-bit integers."""


class Samples(NamedTuple):
    """Consecutive samples of one tar.

    Attributes:
        first: number of the first of them in its tar, counted from 0.
        keys: keys of the samples, n.
        starts: n + 1 offsets in bytes: of the first header of each sample, and of the end of the last.
        part_samples: number in its tar of the sample of each part, m.
        part_names: names of the parts, m, in the order of the tar.
        part_offsets: offset of the content of each part in bytes, m.
        part_sizes: size of the content of each part in bytes, m.
    """

    first: int
    keys: list[str]
    starts: Offsets
    part_samples: Offsets
    part_names: list[str]
    part_offsets: Offsets
    part_sizes: Offsets

    def sample_rows(self) -> Iterator[tuple[str, int, int, int]]:
        """The key of each sample, its number in the tar, its offset and its size in bytes."""
        numbers = range(self.first, self.first + len(self.keys))
        return zip(self.keys, numbers, self.starts[:-1].tolist(), np.diff(self.starts).tolist(), strict=True)

    def part_rows(self) -> Iterator[tuple[int, str, int, int]]:
        """The number of each part's sample in the tar, the part's name, its offset and its size in bytes."""
        columns = (self.part_samples, self.part_offsets, self.part_sizes)
        samples, offsets, sizes = (column.tolist() for column in columns)
        return zip(samples, self.part_names, offsets, sizes, strict=True)


def index_name(name: str) -> str:
    """The name of the index of a tar or JSONL file.

    >>> index_name("shards/a.v1.tar")
    'shards/a.v1.tar.idx'
    """
    return f"{name}.idx"


def index_bytes(offsets: Sequence[int] | ArrayLike) -> bytes:
    r"""The bytes of an index.

    Args:
        offsets: n + 1 offsets, as the walk or the writer gives them.

    >>> index_bytes([0, 1536])[8:]
    b'\x00\x06\x00\x00\x00\x00\x00\x00'
    """
    return np.asarray(offsets, dtype="<u8").tobytes()


def read_index(data: bytes, where: str) -> Offsets:
    r"""The offsets of an index, shape (n + 1,) for n samples.

    Args:
        data: content of the file.
        where: its path, for messages.

    Raises:
        DataError: the size is not a multiple of 8, there are fewer than two values, or they do not ascend.

    >>> read_index(bytes(8) + b"\x09" + bytes(7), "a.tar.idx").tolist()
    [0, 9]
    """
    if len(data) % 8 or len(data) < 16:
        raise DataError(f"{where}: {len(data)} bytes are no index of samples; prepare the dataset again")
    offsets = np.frombuffer(data, dtype="<u8").astype(np.int64)
    wrong = np.flatnonzero(np.diff(offsets) <= 0)
    if wrong.size or offsets[0] < 0:
        number = int(wrong[0]) if wrong.size else 0
        raise DataError(f"{where}: sample {number} does not end behind its start; prepare the dataset again")
    return offsets
