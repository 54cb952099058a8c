"""Confirmation: compares the texts of duplicates with those of their first occurrences.

The documents are read again, and their units are found as for fingerprints. Of each unit, normalised, the first 128
bits of the SHA-256 are compared, besides the XXH3-128, which is equal already. So a text takes 16 bytes in memory.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.address import documents_asset, place
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits
from gristmill.stages.dedupe.hash_order import U64
from gristmill.stages.dedupe.marks.first_occurrences import FirstOccurrences
from gristmill.stages.fingerprints.key_rows import keyed_row_type
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.fingerprints.reader import FingerprintPart
from gristmill.stages.fingerprints.units_of_texts import hash_units_of_rows
from gristmill.stages.near_duplicates.inputs import Table
from gristmill.text.units.hashes import sha256_digests

_ORDINAL = np.uint64(0xFFFFFFFF)


class Confirmation:
    """Compares texts. A shard is streamed once for its duplicates, and once for the first occurrences in it.

    Args:
        store: the lake.
        recipe: the dedupe recipe.
        order: the order of the snapshots.
        documents: the fingerprint of the ledger of each snapshot's documents, as its units were compared, by rank.
    """

    def __init__(self, store: Store, recipe: Dedupe, order: Order, documents: Mapping[int, str]) -> None:
        self._store, self._recipe, self._order, self._planned = store, recipe, order, documents
        self._known: dict[int, tuple[Table, Table]] = {}
        key = recipe.unit.key if isinstance(recipe.unit, DocumentUnits) else "text"
        self._row_type = keyed_row_type(key)

    def false_duplicates(self, rank: int, found: FirstOccurrences) -> U64:
        """The positions (n) of duplicates whose texts differ from their first occurrences, though the hash is the same.

        Args:
            rank: rank of the snapshot that has the duplicates.
            found: the duplicates.

        Raises:
            DataError: documents are missing or damaged, or changed after they were compared.
        """
        mine = self._second_hashes(rank, found.positions)
        firsts = np.empty_like(mine)
        for other in np.unique(found.ranks).tolist():
            (some,) = np.nonzero(found.ranks == other)
            firsts[some] = self._second_hashes(other, found.firsts[some])
        differ: NDArray[np.bool_] = (mine != firsts).any(axis=1)
        return found.positions[differ]

    def _second_hashes(self, rank: int, positions: U64) -> U64:
        """The second hash of the unit at each position (n, 2)."""
        places, each = np.unique(positions, return_inverse=True)
        found = np.empty((len(places), 2), np.uint64)
        shards = (places >> np.uint64(32)).astype(np.int64)
        numbers, begins = np.unique(shards, return_index=True)
        bounds = [*begins.tolist(), len(places)]
        for number, begin, end in zip(numbers.tolist(), bounds, bounds[1:], strict=False):
            ordinals = (places[begin:end] & _ORDINAL).astype(np.int64)
            found[begin:end] = self._second_shard_hashes(rank, number, ordinals)
        return found[each]

    def _second_shard_hashes(self, rank: int, number: int, ordinals: NDArray[np.int64]) -> U64:
        """The second hashes of ascending units of a shard (n, 2)."""
        printed, _ = self._matching_tables(rank)
        row = printed.row(number)
        spans = FingerprintPart(self._store, row, printed.place.table).spans()
        if int(ordinals[-1]) >= spans.hashes:
            raise self._changed_shard_error(rank, row.name)
        documents = np.searchsorted(spans.first_spans, ordinals, "right") - 1
        rows, each = np.unique(documents, return_inverse=True)
        counts = spans.counts[rows].astype(np.int64)
        hashes = self._hash_shard_rows(rank, row.name, rows)
        if len(hashes) != int(counts.sum()):
            raise self._changed_shard_error(rank, row.name)
        begins = np.cumsum(counts) - counts
        found: U64 = hashes[begins[each] + ordinals - spans.first_spans[documents]]
        return found

    def _hash_shard_rows(self, rank: int, name: str, rows: NDArray[np.int64]) -> U64:
        """The second hashes of all units of ascending rows of a shard (n, 2)."""
        _, documents = self._matching_tables(rank)
        if name not in documents.rows:
            raise self._changed_shard_error(rank, name)
        hashes: list[U64] = [np.empty((0, 2), np.uint64)]
        for first, batch in open_shard(self._store, documents.place, documents.rows[name]).rows(self._row_type):
            begin, end = np.searchsorted(rows, [first, first + len(batch)])
            wanted = [batch[row - first] for row in rows[begin:end].tolist()]
            if wanted:
                found = hash_units_of_rows(self._recipe.unit, wanted, Counter(), sha256_digests)
                hashes += [np.stack(each.units.hashes, axis=1) for each in found]
        return np.concatenate(hashes)

    def _matching_tables(self, rank: int) -> tuple[Table, Table]:
        """The tables of a snapshot's fingerprints and documents, if these are of each other."""
        if rank not in self._known:
            entry, recipe = self._order.entries[rank], self._recipe
            asset = documents_asset(entry.source, recipe.versions[entry.source])
            documents = Table.read(self._store, place(asset, entry.snapshot))
            self._known[rank] = (Table.read(self._store, entry.fingerprints(recipe.name)), documents)
            if documents.upstream is None or documents.upstream.fingerprint != self._planned.get(rank):
                raise self._changed_shard_error(rank, "")
        return self._known[rank]

    def _changed_shard_error(self, rank: int, name: str) -> DataError:
        entry = self._order.entries[rank]
        asset = documents_asset(entry.source, self._recipe.versions[entry.source])
        where = f"{asset} ({entry.snapshot})" + (f", shard {name}" if name else "")
        return DataError(f"{where}: changed after it was compared; make its fingerprints again, then resolve again")
