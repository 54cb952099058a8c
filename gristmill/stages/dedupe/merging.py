"""Makes the run of a bucket: its distinct hashes in order, with where each occurs first and where it occurs again.

What does not fit in memory is sorted in parts, and the sorted parts are merged. A hash that is repeated many times is
one entry of each sorted part, so it costs as much as as many different hashes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gristmill.stages.dedupe.columns import COUNTS, HASHES, POSITIONS, REPEATS, ColumnWriter, Spill, array_bytes
from gristmill.stages.dedupe.fingerprint_blocks import PlacedHashes
from gristmill.stages.dedupe.hash_order import U64, Places, count_up_to, differ_from_previous, sort_hashes

ENTRY_BYTES = 120
"""Bytes of memory that sorting a hash takes, at most."""


class AscendingHashes(Protocol):
    """Distinct hashes in ascending order."""

    @property
    def rows(self) -> int:
        """The number of hashes."""

    def read(self, start: int, stop: int) -> Sequence[U64]:
        """The high and low halves of the hashes [start, stop), shape (n,) each."""


Window = list[tuple[int, U64, U64]]
"""A part of each list: where it begins, and its high and low halves."""


def merge_windows(lists: Sequence[AscendingHashes], most: int) -> Iterator[Window]:
    """Walks through ascending lists together: each window has the hashes of one range, all lists included.

    Args:
        lists: the lists.
        most: about so many hashes are read for one window; each list gives one at least.

    Returns:
        The windows in ascending order.
    """
    begins = [0] * len(lists)
    while any(begin < each.rows for begin, each in zip(begins, lists, strict=True)):
        left = [each.rows - begin for begin, each in zip(begins, lists, strict=True)]
        total = sum(left)
        wanted = left if total <= most else [-(-most * count // total) for count in left]
        window: Window = []
        for begin, count, each in zip(begins, wanted, lists, strict=True):
            hi, lo = each.read(begin, begin + count)[:2]
            window.append((begin, hi, lo))
        ends = [
            (hi[-1], lo[-1])
            for (_, hi, lo), count, rest in zip(window, wanted, left, strict=True)
            if count and count < rest
        ]
        if ends:
            last = min(ends)
            cuts = [count_up_to(hi, lo, last) for _, hi, lo in window]
            window = [(begin, hi[:cut], lo[:cut]) for (begin, hi, lo), cut in zip(window, cuts, strict=True)]
        begins = [begin + len(hi) for begin, hi, _ in window]
        yield window


class _SortedPart:
    """A sorted part of a bucket: hashes, the first position of each, and the positions of its repeats.

    The repeats of hash i are `again[starts[i]:starts[i + 1]]`.
    """

    def __init__(self, pieces: Sequence[PlacedHashes]) -> None:
        hi, lo, positions = (np.concatenate(column) for column in zip(*pieces, strict=True))
        at, hi, lo = sort_hashes(hi, lo)
        positions = positions[at]
        del at
        new = np.ones(len(hi), bool)
        new[1:] = differ_from_previous(hi, lo)
        firsts = np.flatnonzero(new)
        self.hi, self.lo, self.positions = hi[firsts], lo[firsts], positions[firsts]
        self.again = positions[~new]
        self.starts = np.append(firsts, len(hi)) - np.arange(len(firsts) + 1)


class _HeldPart:
    """A sorted part in temporary files. Its columns as in _SortedPart."""

    def __init__(self, part: _SortedPart, spill: Spill) -> None:
        self.rows = len(part.hi)
        columns = {name: getattr(part, name) for name in ("hi", "lo", "positions", "again", "starts")}
        self._files = {name: (spill.new_file(), column.dtype.str) for name, column in columns.items()}
        for name, column in columns.items():
            spill.append(self._files[name][0], array_bytes(column))

    def read(self, start: int, stop: int) -> Sequence[U64]:
        return self.hash_column("hi", start, stop), self.hash_column("lo", start, stop)

    def hash_column(self, name: str, start: int, stop: int) -> NDArray[np.uint64]:
        path, dtype = self._files[name]
        column: NDArray[np.uint64] = np.fromfile(path, dtype, stop - start, offset=8 * start)
        return column


class RunWriter:
    """Takes the hashes of a bucket in the order of their positions, and writes the columns of its run.

    Args:
        spill: memory for the hashes, and the temporary files.

    Attributes:
        hashes: columns of the file `hashes`; so are positions, repeats and counts of theirs.
    """

    def __init__(self, spill: Spill) -> None:
        most = spill.memory // 16
        self.hashes, self.positions = ColumnWriter(HASHES, spill, most), ColumnWriter(POSITIONS, spill, most)
        self.repeats, self.counts = ColumnWriter(REPEATS, spill, most), ColumnWriter(COUNTS, spill, most)
        self._spill, self._most = spill, max(1, spill.memory // ENTRY_BYTES)

    def write_bucket(self, pieces: Iterable[PlacedHashes]) -> None:
        """Takes all hashes of the bucket."""
        held: list[_HeldPart] = []
        kept: list[PlacedHashes] = []
        size = 0
        for piece in pieces:
            if kept and size + len(piece[0]) > self._most:
                held.append(_HeldPart(_SortedPart(kept), self._spill))
                kept, size = [], 0
            kept.append(piece)
            size += len(piece[0])
        if not held:
            if size:
                self._write_whole_bucket(_SortedPart(kept))
            return
        held.append(_HeldPart(_SortedPart(kept), self._spill))
        kept = []
        for window in merge_windows(held, self._most):
            self._merge_hash_window(held, window)

    def _write_whole_bucket(self, part: _SortedPart) -> None:
        """Writes a part that is the whole bucket."""
        counts = np.diff(part.starts)
        self.hashes.write(part.hi, part.lo)
        self.positions.write(part.positions)
        self.repeats.write(np.repeat(np.arange(len(counts)), counts), part.again)
        several = np.flatnonzero(counts)
        self.counts.write(several, counts[several])

    def _merge_hash_window(self, parts: Sequence[_HeldPart], window: Window) -> None:
        """Writes the hashes of a window that all parts share."""
        at, hi, lo = sort_hashes(*(np.concatenate([each[number] for each in window]) for number in (1, 2)))
        new = np.ones(len(hi), bool)
        new[1:] = differ_from_previous(hi, lo)
        merged = np.empty(len(hi), np.int64)  # the place of each hash of the window among its distinct ones
        merged[at] = np.cumsum(new) - 1
        first = np.empty(len(hi), bool)
        first[at] = new
        places, firsts, shares = [], [], []
        begin = 0
        base = self.hashes.rows
        positions = np.empty(int(new.sum()), np.uint64)
        for part, (start, high, _) in zip(parts, window, strict=True):
            stop, end = start + len(high), begin + len(high)
            places.append(merged[begin:end])
            firsts.append(first[begin:end])
            mine = part.hash_column("positions", start, stop)
            positions[places[-1][firsts[-1]]] = mine[firsts[-1]]
            shares.append(_Share(part, start, places[-1], np.where(firsts[-1], 0, 1), mine))
            begin = end
        self.hashes.write(hi[new], lo[new])
        self.positions.write(positions)
        totals = np.zeros(len(positions), np.int64)
        for share in shares:
            totals[share.places] += share.counts
        several = np.flatnonzero(totals)
        self.counts.write(several + base, totals[several])
        for begin, end in _repeat_limited_ranges(totals, self._most):
            self._write_repeats(shares, begin, end, base)

    def _write_repeats(self, shares: Sequence["_Share"], begin: int, end: int, base: int) -> None:
        """Writes the repeats of the hashes [begin, end) of a window."""
        found = (share.find_repeats(begin, end) for share in shares)
        if end - begin == 1:  # it may be repeated more often than fits in memory
            for places, positions in found:
                self.repeats.write(places + base, positions)
            return
        listed = list(found)
        places = np.concatenate([each[0] for each in listed])
        order = np.argsort(places, kind="stable")
        self.repeats.write(places[order] + base, np.concatenate([each[1] for each in listed])[order])


class _Share:
    """What one part has in a window: the place of each of its hashes, and how many repeats it adds to it.

    Args:
        part: the part.
        start: its first hash in the window.
        places: of its hashes among the distinct ones of the window.
        own: 1 for each hash that an earlier part has too: its first position is a repeat; else 0.
        positions: the first position of each of its hashes.
    """

    def __init__(self, part: _HeldPart, start: int, places: Places, own: Places, positions: U64) -> None:
        self.places, self._part, self._own, self._positions = places, part, own, positions
        self._starts = part.hash_column("starts", start, start + len(places) + 1).astype(np.int64)
        self.counts = np.diff(self._starts) + own

    def find_repeats(self, begin: int, end: int) -> tuple[Places, U64]:
        """Place and position of each repeat of the hashes [begin, end) of the window, in order."""
        first, last = np.searchsorted(self.places, [begin, end])
        counts, own = self.counts[first:last], self._own[first:last]
        places = np.repeat(self.places[first:last], counts)
        positions = np.empty(len(places), np.uint64)
        heads = np.zeros(len(places), bool)
        heads[(np.cumsum(counts) - counts)[own == 1]] = True
        positions[heads] = self._positions[first:last][own == 1]
        positions[~heads] = self._part.hash_column("again", int(self._starts[first]), int(self._starts[last]))
        return places, positions


def _repeat_limited_ranges(totals: Places, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of hashes with at most so many repeats together, or of one hash."""
    before = np.concatenate([[0], np.cumsum(totals)])
    begin = 0
    while begin < len(totals):
        end = int(np.searchsorted(before, before[begin] + most, "right")) - 1
        end = max(end, begin + 1)
        if before[end] > before[begin]:
            yield begin, end
        begin = end
