"""The order of 128-bit hashes, each in two halves: sorting, distinct ones, and where two sorted lists meet."""

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
Places = NDArray[np.int64]
"""Indexes into an array."""


def bucket_range(bucket: int, buckets: int) -> tuple[int, int]:
    """The high halves of a bucket: the first one, and the one after the last.

    The bucket of a hash is floor(hi * buckets / 2**64).

    >>> [hex(end) for end in bucket_range(1, 3)]
    ['0x5555555555555556', '0xaaaaaaaaaaaaaaab']
    """
    return -(-(bucket << 64) // buckets), -(-((bucket + 1) << 64) // buckets)


def sort_hashes(hi: U64, lo: U64) -> tuple[Places, U64, U64]:
    """Sorts hashes; equal ones keep their order.

    One sort of numbers does most of the work: the number of each hash has the first bits of its high half above its
    place in the list. PlacedHashes that agree in those bits are sorted once more.

    Returns:
        The place of each sorted hash in the given lists, and its halves.

    >>> at, _, low = sort_hashes(np.array([7, 5, 7, 7], "u8"), np.array([2, 9, 1, 2], "u8"))
    >>> at.tolist(), low.tolist()
    ([1, 2, 0, 3], [9, 1, 2, 2])
    """
    count = len(hi)
    if count < 2:
        return np.arange(count, dtype=np.int64), hi, lo
    bits = np.uint64((count - 1).bit_length())
    first = hi.min()
    spread = int(hi.max() - first).bit_length()
    keys = (hi - first) << np.uint64(64 - max(spread, 1))
    keys >>= bits
    keys <<= bits
    keys |= np.arange(count, dtype=np.uint64)
    keys.sort()
    at = (keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    keys >>= bits
    alike = keys[1:] == keys[:-1]
    high, low = hi[at], lo[at]
    mixed = alike & differ_from_previous(high, low)
    if mixed.any():
        groups = np.concatenate([[0], np.cumsum(~alike)])
        marked = np.zeros(int(groups[-1]) + 1, bool)
        marked[groups[1:][mixed]] = True
        where = np.flatnonzero(marked[groups])
        where_from = at[where]
        at[where] = where_from[np.lexsort((lo[where_from], hi[where_from]))]
        high[where], low[where] = hi[at[where]], lo[at[where]]
    return at, high, low


def differ_from_previous(hi: U64, lo: U64) -> NDArray[np.bool_]:
    """Whether each hash of a list, from the second on, is another than the one before it (n - 1)."""
    different: NDArray[np.bool_] = (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1])
    return different


def are_ascending(hi: U64, lo: U64) -> bool:
    """Whether hashes are distinct and ascending."""
    return bool(((hi[1:] > hi[:-1]) | ((hi[1:] == hi[:-1]) & (lo[1:] > lo[:-1]))).all())


def count_up_to(hi: U64, lo: U64, last: tuple[np.uint64, np.uint64]) -> int:
    """The number of ascending hashes that are not above a hash."""
    begin, end = np.searchsorted(hi, last[0], "left"), np.searchsorted(hi, last[0], "right")
    return int(begin + np.searchsorted(lo[begin:end], last[1], "right"))


def shared_hashes(hi: U64, lo: U64, other_hi: U64, other_lo: U64) -> tuple[Places, Places]:
    """The hashes that two lists share. Both lists are distinct and ascending.

    The shorter list is searched in the longer one. The low halves are looked at only where high halves are equal.

    Returns:
        Their places in the first list, ascending, and their places in the other, shape (n,) each.

    >>> a, b = np.array([1, 4, 4], "u8"), np.array([4, 4, 9], "u8")
    >>> [at.tolist() for at in shared_hashes(a, np.array([0, 5, 6], "u8"), b, np.array([6, 8, 0], "u8"))]
    [[2], [0]]
    """
    if len(hi) < len(other_hi):
        mine, theirs = _find_wanted_hashes(other_hi, other_lo, hi, lo)
        return mine, theirs
    theirs, mine = _find_wanted_hashes(hi, lo, other_hi, other_lo)
    return mine, theirs


def _find_wanted_hashes(hi: U64, lo: U64, wanted_hi: U64, wanted_lo: U64) -> tuple[Places, Places]:
    """Finds wanted hashes in a list: the places of those that are found among the wanted, and in the list."""
    if not len(hi) or not len(wanted_hi):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    at = np.searchsorted(hi, wanted_hi).astype(np.int64)
    np.minimum(at, len(hi) - 1, out=at)
    wanted = np.flatnonzero(hi[at] == wanted_hi)
    at = at[wanted]
    later = np.flatnonzero(lo[at] < wanted_lo[wanted])  # more hashes with this high half may follow
    if len(later):
        at[later] = _bisect_low_halves(hi, lo, at[later], wanted_hi[wanted[later]], wanted_lo[wanted[later]])
    same = (hi[at] == wanted_hi[wanted]) & (lo[at] == wanted_lo[wanted])
    return wanted[same], at[same]


def _bisect_low_halves(hi: U64, lo: U64, begin: Places, wanted_hi: U64, wanted_lo: U64) -> Places:
    """The place of the first low half that is not below the wanted one, among the hashes with the same high half."""
    end = np.searchsorted(hi, wanted_hi, "right").astype(np.int64)
    most = len(hi) - 1
    while (active := begin < end).any():
        middle = (begin + end) // 2
        below = lo[np.minimum(middle, most)] < wanted_lo
        begin = np.where(active & below, middle + 1, begin)
        end = np.where(active & ~below, middle, end)
    return np.minimum(begin, most)
