"""The hashes of an earlier snapshot, met range by range."""

from collections.abc import Sequence

import numpy as np

from gristmill.errors import DataError
from gristmill.lake.store.protocol import Store
from gristmill.stages.dedupe.columns import HASHES, ColumnFile, Spill
from gristmill.stages.dedupe.hash_order import U64, Places, are_ascending, count_up_to, shared_hashes

_LEAST = 4096
"""Hashes that are read at once, at least."""
_BLOCK_BYTES = 64
"""Bytes of memory for a hash that is read."""
_NONE = np.zeros(0, np.int64)


class OldRun:
    """The hashes of one bucket of an earlier snapshot. It is read when it is first needed.

    Args:
        store: the lake.
        path: path of the file `hashes`.
        digest: the XXH3-128 of its bytes.
        spill: memory and temporary folder that hold it; None: in memory, until the last range.
        new: number of hashes in all ranges together.
    """

    def __init__(self, store: Store, path: str, digest: str, spill: Spill | None, new: int) -> None:
        self._store, self._path, self._digest, self._spill = store, path, digest, spill
        self._left, self._at = new, 0
        self._file: ColumnFile | None = None

    def shared_hashes(self, hi: U64, lo: U64) -> tuple[Places, Places]:
        """The hashes of a range that this snapshot has. Ranges come in their order.

        Returns:
            Their places in the range, and in the file, shape (n,) each.
        """
        file = self._file or ColumnFile(self._store, self._path, self._digest, HASHES, self._spill)
        self._file = file if self._spill else None
        if not len(hi):
            return _NONE, _NONE
        if self._spill is None:
            high, low = self._check_hash_order(file.read(0, file.rows))
            return shared_hashes(hi, lo, high, low)
        found: list[tuple[Places, Places]] = []
        share = min(1.0, 1.1 * len(hi) / max(self._left, 1))
        self._left -= len(hi)
        while self._at < file.rows:
            count = min(int((file.rows - self._at) * share), self._spill.memory // _BLOCK_BYTES)
            high, low = self._check_hash_order(file.read(self._at, self._at + max(count, _LEAST)))
            cut = count_up_to(high, low, (hi[-1], lo[-1]))
            mine, theirs = shared_hashes(hi, lo, high[:cut], low[:cut])
            found.append((mine, theirs + self._at))
            self._at += cut
            if cut < len(high):
                break
        return np.concatenate([each[0] for each in found] or [_NONE]), np.concatenate(
            [each[1] for each in found] or [_NONE]
        )

    def _check_hash_order(self, hashes: Sequence[U64]) -> tuple[U64, U64]:
        hi, lo = hashes
        if not are_ascending(hi, lo):
            raise DataError(f"{self._path}: its hashes are not in order; make the runs of its snapshot again")
        return hi, lo
