"""Proves the bitmaps of a mix's slice: the keys are read again from the version that the slice was selected from.

If all bitmaps follow from one hash of the keys, no key is on both sides, in whatever stream or snapshot.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, guard_proof
from gristmill.lake.address import Place, attributes_beside, place
from gristmill.lake.asset_kinds import DOCUMENTS, kind_of
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.rows.batches import IdPair
from gristmill.lake.store.json_object import read_free_form
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mixture.held_out import HeldOut, read_held_out
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing.held_out import HeldOutFlags, held_out_row_flags
from gristmill.stages.mixing.row_filter import RowFilter


def held_out_findings(store: Store, partition: Place, head: Ledger, shards: Sequence[Shard]) -> Iterator[Finding]:
    """Findings unless each row of a slice is on the side of its key. Slices without a key have none.

    Nothing is compared if the version that was read has changed since: then the slice is due, and its audit says so.

    Args:
        store: the lake.
        partition: the slice.
        head: the head of its ledger.
        shards: the rows of its table.
    """
    declared = head.recipe.parameters.get("held_out")
    upstream = next((each for each in head.inputs if kind_of(each.asset) is DOCUMENTS), None)
    if declared is None or upstream is None:
        return
    documents = place(upstream.asset, upstream.snapshot)
    try:
        with read_free_form(partition.ledger):
            held_out = read_held_out(declared)
        keys = _Keys(store, documents, held_out)
        if keys.fingerprint != upstream.fingerprint:
            return
        for shard in shards:
            yield from guard_proof(store, partition.ledger, _shard_flag_findings(store, partition, shard, keys))
    except DataError as error:
        yield Finding(partition.table, None, f"the rows held out cannot be compared: {error}")


def _shard_flag_findings(store: Store, partition: Place, shard: Shard, keys: "_Keys") -> Iterator[Finding]:
    recorded = held_out_row_flags(shard)
    if recorded is None:
        yield Finding(partition.table, None, f"shard {shard.name}: it does not say which rows are held out")
        return
    file, path = open_shard(store, partition, shard), partition.shard(shard.name)
    computed = keys.expected_flags(shard.name, (row.pair for _, rows in file.rows(IdPair) for row in rows))
    if len(computed) != len(recorded):
        yield Finding(path, None, f"{len(computed)} of its rows are in the version before, and it has {len(recorded)}")
        return
    for row in np.flatnonzero(computed != recorded).tolist()[:1]:
        sides = ("is held out", "is not") if recorded[row] else ("is not held out", "is")
        yield Finding(path, row, f"by its table it {sides[0]}, by its key it {sides[1]}")


class _Keys:
    """The keys of the version that a slice was selected from."""

    def __init__(self, store: Store, documents: Place, held_out: HeldOut) -> None:
        self._held_out = held_out
        selection = Selection(held_out=held_out)
        head, shards = read_ledger(store, documents)
        self.fingerprint = head.fingerprint
        self._shards = {shard.name: shard for shard in shards}
        self._sets = {
            name: {row.name: row for row in read_ledger(store, attributes_beside(documents, name))[1]}
            for name in selection.sets
        }
        self._filter = RowFilter(store, documents, selection, [])

    def expected_flags(self, name: str, kept: Iterator[Pair]) -> NDArray[np.bool_]:
        """For each kept row of a shard, whether its key is held out. Kept rows are in the order of the documents."""
        flags = HeldOutFlags(self._held_out)
        if name not in self._shards:
            return flags.array
        beside = {set_name: rows[name] for set_name, rows in self._sets.items()}
        wanted = next(kept, None)
        for block in self._filter.blocks(self._shards[name], beside, {}):
            decisions = np.ones(len(block.pairs), dtype=np.int64)
            for number, pair in enumerate(block.pairs):
                if pair == wanted:
                    decisions[number] = 0
                    wanted = next(kept, None)
            flags.add(block._replace(decisions=decisions))
        return flags.array
