"""BucketSort: hashes divided into ranges, in bounded memory: what does not fit goes through a temporary file."""

import tempfile
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.text.code_points import Numbers
from gristmill.text.units.hashes import Hashes128

RUN = 1 << 20
"""Hashes that are sorted in memory; more of them are sorted in runs."""
MOST_HASHES = 2**32 - 1
"""Most hashes of a shard: their ordinals have 32 bits."""

_TYPES = ("<u8", "<u8", "<u4")
_BYTE = 256

Block = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint32]]
"""High halves, low halves and ordinals."""


def bucket_numbers(high: NDArray[np.uint64], buckets: int) -> NDArray[np.uint16]:
    """The bucket of each hash: floor(high * buckets / 2**64).

    Args:
        high: upper halves of hashes (n).
        buckets: number of buckets, at most 65536.

    >>> bucket_numbers(np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64), 4).tolist()
    [0, 1, 2, 3]
    """
    bits = (buckets - 1).bit_length()
    if 1 << bits == buckets:
        return (high >> np.uint64(64 - bits)).astype(np.uint16) if bits else np.zeros(len(high), np.uint16)
    half = np.uint64(32)
    count = np.uint64(buckets)
    product = (high & np.uint64(0xFFFFFFFF)) * count
    product >>= half
    product += (high >> half) * count
    product >>= half
    return product.astype(np.uint16)


class BucketSort:
    """Takes the hashes of a shard in their order, and gives them by bucket.

    Args:
        buckets: number of ranges of the high halves into which the hashes are divided.
        run: hashes that are sorted in memory.
    """

    def __init__(self, buckets: int, run: int = RUN) -> None:
        self.hashes = 0
        self._buckets, self._run = buckets, run
        self._waiting: list[Hashes128] = []
        self._held = 0
        self._runs: list[tuple[int, Numbers]] = []
        self._file: IO[bytes] | None = None
        self._written = 0

    def add(self, hashes: Hashes128) -> None:
        """Appends hashes. Their ordinals go on from those before.

        Raises:
            DataError: a shard has more than 2**32 - 1.
        """
        self._waiting.append(hashes)
        self._held += len(hashes.high)
        self.hashes += len(hashes.high)
        if self.hashes > MOST_HASHES:
            raise DataError(f"more than {MOST_HASHES} units to compare in one shard; divide it into smaller shards")
        if self._held >= self._run:
            self._spill_sorted_run()

    def blocks(self) -> Iterator[tuple[int, int, Iterator[NDArray[Any]]]]:
        """The blocks of all buckets, in order.

        Yields:
            The number of the bucket, how many hashes it has, and the parts of its three columns, shape (n,) each, in
            their order: high halves, low halves and ordinals. A heavy bucket has many parts. Take all before the next
            bucket.
        """
        if self._file is None:
            yield from _divide_into_buckets(0, *self._sort_waiting_hashes())
            return
        if self._held:
            self._spill_sorted_run()
        counts = np.sum([np.diff(offsets) for _, offsets in self._runs], axis=0)
        before = np.append(0, np.cumsum(counts))
        first = 0
        while first < self._buckets:  # as many buckets as fit in memory, or one that does not
            last = int(np.searchsorted(before, before[first] + self._run, side="right")) - 1
            if last > first:
                yield from _divide_into_buckets(first, *self._merge_bucket_runs(first, last))
            else:
                last = first + 1
                columns = chain.from_iterable(self._read_bucket_column(first, last, column) for column in range(3))
                yield first, int(counts[first]), columns
            first = last

    def close(self) -> None:
        """Removes the temporary file."""
        if self._file is not None:
            self._file.close()

    def _sort_waiting_hashes(self) -> tuple[Block, Numbers]:
        """What waits, sorted by bucket, and where each bucket begins (buckets + 1)."""
        none = np.zeros(0, np.uint64)
        high = np.concatenate([none, *(hashes.high for hashes in self._waiting)])
        low = np.concatenate([none, *(hashes.low for hashes in self._waiting)])
        first = self.hashes - self._held
        self._waiting, self._held = [], 0
        ordinals = np.arange(first, first + len(high), dtype=np.uint32)
        return _sort_block_by_bucket((high, low, ordinals), 0, self._buckets, self._buckets)

    def _spill_sorted_run(self) -> None:
        block, offsets = self._sort_waiting_hashes()
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._runs.append((self._written, offsets))
        self._file.seek(self._written)
        for column in block:
            self._file.write(column.tobytes())
            self._written += column.nbytes

    def _merge_bucket_runs(self, first: int, last: int) -> tuple[Block, Numbers]:
        """The hashes of some buckets out of all runs."""
        high, low, ordinals = (
            np.concatenate(list(self._read_bucket_column(first, last, column))) for column in range(3)
        )
        return _sort_block_by_bucket((high, low, ordinals), first, last, self._buckets)

    def _read_bucket_column(self, first: int, last: int, column: int) -> Iterator[NDArray[Any]]:
        """A column of some buckets, run by run."""
        sizes = [np.dtype(kind).itemsize for kind in _TYPES]
        for start, offsets in self._runs:
            begin, end, count = int(offsets[first]), int(offsets[last]), int(offsets[-1])
            at = start + count * sum(sizes[:column])
            yield self._read_spilled_array(at + begin * sizes[column], (end - begin) * sizes[column], _TYPES[column])

    def _read_spilled_array(self, start: int, size: int, kind: str) -> NDArray[Any]:
        if self._file is None:
            raise ValueError("nothing was spilled")
        self._file.seek(start)
        return np.frombuffer(self._file.read(size), kind)


def _sort_block_by_bucket(block: Block, first: int, last: int, buckets: int) -> tuple[Block, Numbers]:
    """A block sorted by bucket, and where each of the buckets from first to before last begins."""
    numbers = bucket_numbers(block[0], buckets)
    if last - first <= _BYTE:
        numbers = (numbers - np.uint16(first)).astype(np.uint8)
        wanted = np.arange(last - first + 1)
    else:
        wanted = np.arange(first, last + 1)
    counts = np.bincount(numbers, minlength=int(wanted[-1]))[wanted[0] :]
    offsets = np.append(0, np.cumsum(counts))
    if last - first == 1:
        return block, offsets
    order = np.argsort(numbers, kind="stable")
    high, low, ordinals = block
    return (high.take(order), low.take(order), ordinals.take(order)), offsets


def _divide_into_buckets(
    first: int, block: Block, offsets: Numbers
) -> Iterator[tuple[int, int, Iterator[NDArray[Any]]]]:
    for number, (start, end) in enumerate(pairwise(offsets.tolist()), first):
        yield number, end - start, iter([column[start:end] for column in block])
