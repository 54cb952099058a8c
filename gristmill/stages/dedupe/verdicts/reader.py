"""Reads verdicts as pairs of positions: a hash, and where it occurs before."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import VERDICTS
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.dedupe.columns import FOUND, POSITIONS, ColumnFile
from gristmill.stages.dedupe.hash_order import U64
from gristmill.stages.dedupe.runs.grinder import bucket_name
from gristmill.stages.dedupe.verdicts.step import SnapshotRuns, stored_file
from gristmill.stages.fingerprints.order import Order, round_partition_key


class Pairs(NamedTuple):
    """Hashes of a snapshot that occur before, in the order of their positions.

    Attributes:
        positions: place of the first occurrence of each hash in the snapshot: (number of the shard << 32) + its number
            in the shard (n).
        ranks: rank, uint32, of the snapshot that keeps it (n).
        keepers: place of its first occurrence in that snapshot (n).
    """

    positions: U64
    ranks: NDArray[np.uint32]
    keepers: U64


class VerdictReader:
    """Reads the verdicts of one round.

    A verdict names the place of a hash in the run that keeps it, because that depends on the hashes alone. So the files
    `positions` of those runs are read too.

    Args:
        store: the lake.
        recipe: the dedupe recipe.
        order: the order of the snapshots.
        number: number of the round.
    """

    def __init__(self, store: Store, recipe: Dedupe, order: Order, number: int) -> None:
        self.place = place(VERDICTS.at(dedupe=recipe.name), round_partition_key(number))
        self.ledger, self._rows = read_ledger(store, self.place)
        self._store, self._recipe, self._order = store, recipe, order
        self._by_bucket = {row.name: row for row in self._rows}
        self._runs: dict[int, SnapshotRuns] = {}

    def pairs(self, rank: int, bucket: int) -> Pairs:
        """The verdicts on a new snapshot in one bucket.

        Raises:
            DataError: the verdicts are not there, are damaged, or were made from other runs.
        """
        row = self._by_bucket.get(bucket_name(bucket))
        if row is None:
            raise DataError(f"{self.place.table}: no bucket {bucket}; make the verdicts again")
        file = stored_file(row, self.place.table, str(rank))
        found = ColumnFile(self._store, file.path, file.digest, FOUND)
        positions, ranks, places = found.read(0, found.rows)
        keepers = np.zeros(len(positions), np.uint64)
        for other in np.unique(ranks).tolist():
            run = self._matching_run(other).file(bucket, "positions")
            kept = ColumnFile(self._store, run.path, run.digest, POSITIONS)
            mine = np.flatnonzero(ranks == other)
            if int(places[mine].max()) >= kept.rows:
                raise DataError(f"{file.path}: a hash that {run.path} does not have; make the verdicts again")
            keepers[mine] = kept.read_column_range(0, 0, kept.rows)[places[mine]]
        order = np.argsort(positions)
        return Pairs(positions[order], ranks[order], keepers[order])

    def _matching_run(self, rank: int) -> SnapshotRuns:
        """The run of a snapshot, if the verdicts were made from it."""
        if rank not in self._runs:
            if rank >= len(self._order.entries):
                raise DataError(f"{self.place.table}: rank {rank} is not in the order; make the verdicts again")
            entry = self._order.entries[rank]
            runs = SnapshotRuns(self._store, self._recipe, entry.source, entry.snapshot)
            if runs.ledger.upstream not in self.ledger.inputs:
                raise DataError(
                    f"{self.place.ledger}: made before {runs.place.asset} ({entry.snapshot}) was changed; make the"
                    " verdicts of this round again"
                )
            self._runs[rank] = runs
        return self._runs[rank]
