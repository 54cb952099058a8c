"""Entries of blocklists that match no document: a takedown of a misspelt id takes nothing down.

The id indexes of v0 answer it: later versions have no other ids. What has no index was not searched, and is told so.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.address import Place, blocklist_path, documents_asset, ledger_folder
from gristmill.lake.identity import Pair, hashes_missing_from, sorted_pair_hashes
from gristmill.lake.ledger.files import list_ledgers, read_table
from gristmill.lake.ledger.id_search import index_reader, load_indexes
from gristmill.lake.rows.blocklists.blocklist import erased_pairs, read_blocklist
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue

NAMED = 3
"""Most entries, and most partitions, that a message names."""


class Unmatched(NamedTuple):
    """The entries of a blocklist that match no document.

    Attributes:
        blocklist: name of the list.
        entries: number of all its entries.
        missing: the (source, id) of those that no searched document has and no record of an erasure names, sorted.
        undeclared: the sources among them that no recipe declares.
        skipped: names of what was not searched: assets that were never made, and partitions without a readable id
            index.
    """

    blocklist: str
    entries: int
    missing: tuple[Pair, ...]
    undeclared: frozenset[str]
    skipped: tuple[str, ...]

    def __str__(self) -> str:
        named = [
            f"{name!r} of {source}" + (" (no recipe declares this source)" if source in self.undeclared else "")
            for source, name in self.missing
        ]
        words = f"{blocklist_path(self.blocklist)}: {len(self.missing)} of {self.entries} entries match no document"
        words += f": {_first_words(named)}; correct them, unless their documents are still to come, or were erased"
        return f"{words}. Not searched: {_first_words(self.skipped)}" if self.skipped else words


def _first_words(words: Sequence[str]) -> str:
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return ", ".join(words[:NAMED]) + more


def named_lists(catalogue: Catalogue) -> list[str]:
    """The names of the blocklists that recipes name, sorted."""
    selections = [revision for source in catalogue.sources.values() for revision in source.revisions]
    streams = [stream for _, stream in catalogue.streams()]
    return sorted({name for selection in (*selections, *streams) for name in selection.blocklists})


def unmatched_entries(store: Store, catalogue: Catalogue) -> Iterator[Unmatched]:
    """The entries of all blocklists that recipes name, and that match no document; lists without such are left out.

    A document that the record of an erasure names is gone because people asked for that. It is left out.
    A list that cannot be read is left out too: planning the mix that names it raises its error.

    Args:
        store: the lake.
        catalogue: the recipes.
    """
    first = {source.name: source.versions[0] for source in catalogue.sources.values()}
    for name in named_lists(catalogue):
        try:
            pairs = list(read_blocklist(store, name).reasons)
        except (DataError, RecipeError):
            continue
        skipped: list[str] = []
        missing = _unmatched_pairs(store, first, pairs, skipped)
        missing = missing and sorted(set(missing) - _erased_pairs(store))
        if missing:
            undeclared = frozenset(source for source, _ in missing) - catalogue.sources.keys()
            yield Unmatched(name, len(pairs), tuple(missing), undeclared, tuple(skipped))


def _erased_pairs(store: Store) -> set[Pair]:
    """The documents that records of erasures name; empty if a record is damaged: a takedown tells of that."""
    try:
        return erased_pairs(store)
    except DataError:
        return set()


def _unmatched_pairs(store: Store, sources: Mapping[str, str], pairs: list[Pair], skipped: list[str]) -> list[Pair]:
    """The pairs that no document has; `skipped` receives what could not be searched.

    A row that was copied may have a source of its own, so all sources are searched: first those that pairs name.
    """
    named = {source for source, _ in pairs}
    left = sorted_pair_hashes(pairs)
    for source in sorted(sources, key=lambda name: (name not in named, name)):
        asset = documents_asset(source, sources[source])
        places = list_ledgers(store, ledger_folder(asset)) if len(left) else []
        if len(left) and not places and source in named:
            skipped.append(f"{asset} (never made)")
        for partition in reversed(places):  # most takedowns are of new documents; the search ends when all are found
            try:
                left = _hashes_not_in_indexes(store, partition, left)
            except (DataError, StoreError):
                skipped.append(f"{asset} ({partition.snapshot})")
    lost = set(map(tuple, left.tolist()))
    return [pair for pair in pairs if tuple(sorted_pair_hashes([pair])[0].tolist()) in lost]


def _hashes_not_in_indexes(store: Store, partition: Place, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes that are in none of a partition's id indexes."""
    if len(hashes):
        for _, known in load_indexes(index_reader(store, partition), read_table(store, partition)):
            hashes = hashes_missing_from(hashes, known)
    return hashes
