"""Who a document is: the (source, id) pair, its digests and its hash."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

Pair = tuple[str, str]
"""(source, id): unique over a lake; ids alone are unique within a source."""

HASH_BYTES = 16
ROW_BYTES = 4


def canonical(pair: Pair) -> bytes:
    """The pair as bytes that are the same everywhere: a compact JSON array, UTF-8."""
    return orjson.dumps(pair)


def digest_of(value: Any) -> str:
    """sha256 (hex) over the canonical JSON of a value: keys sorted, no spaces."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


class IdDigest:
    """The running digest over ordered pairs, and their 128-bit hashes for the id index.

    The digest is XXH3-128 (hex) over the canonical bytes of each pair, each closed by a line feed.
    """

    def __init__(self) -> None:
        self._digest = xxhash.xxh3_128()
        self._hashes: list[bytes] = []
        self.rows = 0

    def update(self, pairs: Iterable[Pair]) -> None:
        """Adds pairs in row order."""
        lines = [orjson.dumps(pair) for pair in pairs]
        if not lines:
            return
        self._digest.update(b"\n".join(lines))
        self._digest.update(b"\n")
        hash_of = xxhash.xxh3_128_digest
        self._hashes.append(b"".join([hash_of(line) for line in lines]))
        self.rows += len(lines)

    def hexdigest(self) -> str:
        """The digest so far."""
        return self._digest.hexdigest()

    def index(self) -> bytes:
        """The id index: the pairs' XXH3-128 hashes, sorted, 16 bytes each; behind them in the same order the numbers
        of their rows, 4 bytes each; all big-endian.
        """
        hashes = load_hashes(b"".join(self._hashes))
        order = _order(hashes)
        return dump_hashes(hashes[order]) + order.astype(">u4").tobytes()


def load_hashes(index: bytes, *, ordered: bool = True) -> NDArray[np.uint64]:
    """Hashes as an array of shape (n, 2), high and low 64 bits, sorted by row."""
    array = np.frombuffer(index, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    if ordered:
        return array
    return array[_order(array)]


def _order(hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """How rows of shape (n, 2) are put in order."""
    return np.lexsort((hashes[:, 1], hashes[:, 0]))


def dump_hashes(hashes: NDArray[np.uint64]) -> bytes:
    """The inverse of load_hashes."""
    return hashes.astype(">u8").tobytes()


def hashes_of(pairs: Sequence[Pair]) -> NDArray[np.uint64]:
    """The sorted hashes of pairs, shape (n, 2)."""
    return load_hashes(b"".join(xxhash.xxh3_128_digest(canonical(p)) for p in pairs), ordered=False)


def _as_keys(hashes: NDArray[np.uint64]) -> NDArray[np.void]:
    """One comparable 16-byte key a row: big-endian bytes compare as the numbers do."""
    return np.ascontiguousarray(hashes.astype(">u8")).view("V16").ravel()


def missing_from(hashes: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Those of `hashes` that `known` lacks; both of shape (n, 2)."""
    here = np.isin(_as_keys(hashes), _as_keys(known))
    return hashes[~here]


def shared_by(hashes: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Those of `hashes` that stand in `others` as well; both of shape (n, 2)."""
    here = np.isin(_as_keys(hashes), _as_keys(others))
    return hashes[here]
