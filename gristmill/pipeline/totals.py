"""What a lake holds, in totals: from the heads of its ledgers alone."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from gristmill.errors import DataError, escape_controls
from gristmill.lake.address import Place, cache_index
from gristmill.lake.asset_kinds import DOCUMENTS, TOKEN_CACHE, names_in_asset_address
from gristmill.lake.ledger.files import list_ledgers, read_head
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.expected_tokens import index_over_finished_slices
from gristmill.recipes.catalogue import Catalogue
from gristmill.stages.mixing.index import Index, index_path, read_index
from gristmill.text.natural_order import newest_snapshot
from gristmill.threads import thread_pool

READERS = 16
"""Number of heads that are read at once: a bucket answers each after some milliseconds."""


@dataclass
class Totals:
    """The sum of some partitions.

    Attributes:
        snapshots: the names of the snapshots that have rows; of a source also those of its older editions.
        rows: number of rows.
        tokens: number of tokens.
        bytes: size of the shards.
    """

    snapshots: set[str] = field(default_factory=set)
    rows: int = 0
    tokens: int = 0
    bytes: int = 0

    def add(self, snapshot: str, ledger: Ledger) -> None:
        """Adds a partition."""
        if ledger.totals.get("shards"):
            self.snapshots.add(snapshot)
        self.rows += ledger.totals.get("rows", 0)
        self.tokens += ledger.totals.get("tokens", 0)
        self.bytes += ledger.totals.get("bytes", 0)


@dataclass
class LakeTotals:
    """What a lake holds.

    Attributes:
        sources: the documents of each source in its newest version, by its name. If its snapshots replace each other,
            they are those of the newest edition.
        tokens: the tokens of each token cache, by mix and tokenizer: those that its index names. Without an index,
            those that it would name now; of a mix that is on no shelf, those of all slices.
        all: everything that has a ledger.
        unread: reasons why the heads of some ledgers cannot be read, by their paths.
    """

    sources: dict[str, Totals]
    tokens: dict[tuple[str, str], Totals] = field(default_factory=dict)
    all: Totals = field(default_factory=Totals)
    unread: dict[str, str] = field(default_factory=dict)


def lake_totals(store: Store, catalogue: Catalogue) -> LakeTotals:
    """Reads the head of each ledger of a lake, and the indexes of its token caches.

    Args:
        store: the lake.
        catalogue: recipes of the lake.

    Returns:
        The numbers of the lake.

    Raises:
        StoreError: the lake did not answer.
    """
    sources = catalogue.sources
    found = LakeTotals({name: Totals() for name in sources})
    documents: dict[str, dict[str, Ledger]] = {name: {} for name in sources}
    for place, ledger in _readable_heads(store, found.unread):
        names = names_in_asset_address(place.asset)
        found.all.add(place.snapshot, ledger)
        if place.kind is DOCUMENTS and names["source"] in sources:
            if sources[names["source"]].current == names["version"]:
                documents[names["source"]][place.snapshot] = ledger
        elif place.kind is TOKEN_CACHE:
            cache = found.tokens.setdefault((names["mix"], names["tokenizer"]), Totals())
            cache.add(place.snapshot, ledger)
    for name, ledgers in documents.items():
        filled = [key for key, each in ledgers.items() if each.totals.get("shards")]
        for key in [newest_snapshot(filled)] if filled and sources[name].snapshots == "replace" else filled:
            found.sources[name].add(key, ledgers[key])
        found.sources[name].snapshots |= set(filled)
    for (mix, tokenizer), cache in found.tokens.items():
        try:
            index = _current_or_future_index(store, catalogue, mix, tokenizer)
        except DataError as error:
            found.unread[index_path(cache_index(mix, tokenizer))] = escape_controls(str(error))
            continue
        if index is not None:
            cache.rows, cache.tokens = index.totals.get("rows", 0), index.totals.get("tokens", 0)
    return found


def _current_or_future_index(store: Store, catalogue: Catalogue, mix: str, tokenizer: str) -> Index | None:
    """The index of a token cache, or as it would be closed now; None if it has none, and its mix is on no shelf."""
    asset = cache_index(mix, tokenizer)
    index = read_index(store, asset)
    if index is None and mix in catalogue.mixes:
        return index_over_finished_slices(store, catalogue.sources, catalogue.mixes[mix], asset).content
    return index


def _readable_heads(store: Store, unread: dict[str, str]) -> Iterator[tuple[Place, Ledger]]:
    """The heads in the order of their paths. One that cannot be read is told, and does not hide the others."""

    def read(place: Place) -> tuple[Place, Ledger | None]:
        try:
            return place, read_head(store, place)
        except DataError as error:
            unread[place.ledger] = escape_controls(str(error))
            return place, None

    with thread_pool(READERS) as pool:
        for place, ledger in pool.map(read, list_ledgers(store)):
            if ledger is not None:
                yield place, ledger
