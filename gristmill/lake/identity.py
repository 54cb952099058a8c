"""The identity of documents: (source, id) pairs, their digests and their hashes."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

Pair = tuple[str, str]
"""(source, id). A pair is unique within a lake, an id within its source."""

HASH_BYTES = 16
ROW_BYTES = 4


def canonical_bytes(pair: Pair) -> bytes:
    """The pair as bytes, equal on every machine: a compact JSON array in UTF-8.

    >>> canonical_bytes(("wiki", "d1"))
    b'["wiki","d1"]'
    """
    return orjson.dumps(pair)


def digest_of(value: Any) -> str:
    """The sha256 (hex) of the canonical JSON of a value: keys sorted, no spaces.

    >>> digest_of({"b": 1, "a": 2}) == digest_of({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


class PairDigest:
    """The running digest of pairs in row order.

    It is the XXH3-128 (hex) of the canonical bytes of all pairs, each followed by a line feed.
    """

    def __init__(self) -> None:
        self._digest = xxhash.xxh3_128()
        self.rows = 0

    def update(self, pairs: Iterable[Pair]) -> None:
        """Appends pairs, in row order."""
        self._append_lines([orjson.dumps(pair) for pair in pairs])

    def _append_lines(self, lines: Sequence[bytes]) -> None:
        if lines:
            self._digest.update(b"\n".join(lines))
            self._digest.update(b"\n")
            self.rows += len(lines)

    def hexdigest(self) -> str:
        """The digest of all pairs so far."""
        return self._digest.hexdigest()


class IdDigest(PairDigest):
    """The running digest of pairs in row order, and their 128-bit hashes for the id index."""

    def __init__(self) -> None:
        super().__init__()
        self._hashes: list[bytes] = []

    def _append_lines(self, lines: Sequence[bytes]) -> None:
        super()._append_lines(lines)
        hash_of = xxhash.xxh3_128_digest
        self._hashes.append(b"".join([hash_of(line) for line in lines]))

    def index(self) -> bytes:
        """The id index: the sorted XXH3-128 hashes of the pairs, then the row number of each, in the same order.

        A hash has 16 bytes and a row number 4, both big-endian.
        """
        hashes = load_hashes(b"".join(self._hashes))
        order = _hash_sort_order(hashes)
        return dump_hashes(hashes[order]) + order.astype(">u4").tobytes()

    def first_other(self, index: bytes, rows: int) -> int | None:
        """The first row whose pair is not the one that an id index has for it.

        Args:
            index: bytes of an id index.
            rows: number of rows that the digest covers.

        Returns:
            The row's number: that of the first missing or additional row if all others agree. None if the index has no
            row numbers, or is of another number of rows, or all pairs agree.
        """
        if len(index) < rows * (HASH_BYTES + ROW_BYTES):
            return None
        recorded = np.empty((rows, 2), np.uint64)
        numbers = np.frombuffer(index, ">u4", rows, rows * HASH_BYTES)
        if (np.sort(numbers) != np.arange(rows)).any():
            return None
        recorded[numbers] = load_hashes(index[: rows * HASH_BYTES])
        here = load_hashes(b"".join(self._hashes))
        both = min(rows, self.rows)
        other = np.flatnonzero((here[:both] != recorded[:both]).any(axis=1))
        if len(other):
            return int(other[0])
        return both if rows != self.rows else None


def load_hashes(index: bytes, *, ordered: bool = True) -> NDArray[np.uint64]:
    """The hashes of bytes.

    Args:
        index: hashes of 16 bytes each.
        ordered: whether they are sorted already; if not, they are sorted.

    Returns:
        Shape (n, 2): the high and the low 64 bits of each hash, sorted.
    """
    array = np.frombuffer(index, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    if ordered:
        return array
    return array[_hash_sort_order(array)]


def _hash_sort_order(hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """The indices that sort hashes of shape (n, 2)."""
    return np.lexsort((hashes[:, 1], hashes[:, 0]))


def dump_hashes(hashes: NDArray[np.uint64]) -> bytes:
    """The bytes of hashes of shape (n, 2): the inverse of load_hashes."""
    return hashes.astype(">u8").tobytes()


def sorted_pair_hashes(pairs: Sequence[Pair]) -> NDArray[np.uint64]:
    """The sorted hashes of pairs, uint64, shape (n, 2)."""
    return load_hashes(b"".join(xxhash.xxh3_128_digest(canonical_bytes(p)) for p in pairs), ordered=False)


def _hashes_as_keys(hashes: NDArray[np.uint64]) -> NDArray[np.void]:
    """One comparable key of 16 bytes for each hash: big-endian bytes compare like their numbers."""
    return np.ascontiguousarray(hashes.astype(">u8")).view("V16").ravel()


def hashes_missing_from(hashes: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes that are not among others.

    Args:
        hashes: shape (n, 2).
        known: the others, shape (m, 2).
    """
    here = np.isin(_hashes_as_keys(hashes), _hashes_as_keys(known))
    return hashes[~here]


def hashes_shared_by(hashes: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes that are also among others.

    Args:
        hashes: hashes of shape (m, 2).
        others: shape (m, 2).
    """
    here = np.isin(_hashes_as_keys(hashes), _hashes_as_keys(others))
    return hashes[here]
