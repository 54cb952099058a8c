"""Documents in one cluster of near duplicates with wanted documents."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gristmill.errors import GristmillError
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import CLUSTERS, DOCUMENTS, FINGERPRINTS, MARKS, RAW, RESOLUTION, kind_of, names_of
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.files import find_ledger, list_ledgers, read_ledger
from gristmill.lake.store.protocol import Store
from gristmill.stages.dedupe.resolution import read_order
from gristmill.stages.fingerprints.binary_part import part_record
from gristmill.stages.fingerprints.compared import families_of
from gristmill.stages.fingerprints.order import Order, round_key
from gristmill.takedowns.places import FoundPlace, Search
from gristmill.tracing.rows import find_partition, row_of

COLUMNS = ("cluster", "source", "snapshot", "shard", "row", "id")

Row = dict[str, Any]
Key = tuple[str, str]
"""Source and snapshot, as a recipe names them."""


class _ComparedNow(NamedTuple):
    """What a dedupe by MinHash has compared as it is now.

    Attributes:
        name: of the dedupe.
        rounds: its clusters.
        documents: the partitions of documents that it compared, by source and snapshot.
        order: the order of its snapshots.
        scope: of its recipe.
    """

    name: str
    rounds: Sequence[Place]
    documents: Mapping[Key, Place]
    order: Order
    scope: str

    def partners(self, key: Key) -> set[Key]:
        """The snapshots that a snapshot was compared with, itself among them."""
        keys = [(entry.source, entry.snapshot) for entry in self.order.entries]
        rank = keys.index(key)
        found = {rank}
        for number in range(self.order.entries[rank].round, self.order.rounds + 1):
            new = set(self.order.of_round(number))
            for family in families_of(self.order, number, self.scope):
                at = next((at for at, member in enumerate(family) if member.rank == rank), len(family))
                if rank in new:
                    found |= {member.rank for member in family[:at] if member.keeps}
                if at < len(family) and family[at].keeps:
                    found |= new & {member.rank for member in family[at:]}
        return {keys[each] for each in found} & self.documents.keys()


def near_documents(store: Store, search: Search, wanted: Collection[Pair]) -> set[Pair]:
    """The documents that a cluster of near duplicates has beside wanted documents.

    Clusters of documents that were made again since, and that were not resolved again, tell nothing.

    Args:
        store: the lake.
        search: the places of the wanted documents; is told what was not searched.
        wanted: the documents.
    """
    near: set[Pair] = set()
    reached: dict[Pair, set[Key]] = {}
    dedupes = _dedupes(store)
    if not dedupes:
        search.skip("dedupe", "near documents", "the lake has no clusters of a dedupe by MinHash; make one")
        return near
    for name, rounds in dedupes.items():
        try:
            compared = _compared_now(store, name, rounds, search)
            places = _places(compared, search)
            partners = {key: compared.partners(key) for key in {_source(each) for each in places.values()}}
            for each in places.values():
                reached.setdefault(each.pair, set()).update(partners[_source(each)])
            near |= _of_dedupe(store, compared, places)
        except GristmillError as error:
            search.skip("dedupe", f"dedupe {name}", error)
    for source, id_ in sorted(set(wanted) - reached.keys()):
        why = "no dedupe by MinHash has compared it as it is now; name what is near it by --ids"
        search.skip("dedupe", f"near {id_!r} of {source!r}", why)
    everywhere = set.intersection(*reached.values()) if reached else set()
    for there in _first_versions(store) if reached else ():
        if (names_of(there.asset)["source"], there.snapshot) not in everywhere:
            why = (
                "no dedupe by MinHash has compared it, as it is now, with these documents; make one that compares them,"
                " or name what is near there by --ids"
            )
            search.skip("dedupe", f"near documents in {there.asset} ({there.snapshot})", why)
    return near


def _source(found: FoundPlace) -> Key:
    return names_of(found.asset)["source"], found.snapshot


def _places(compared: _ComparedNow, search: Search) -> dict[tuple[str, str, str, int], FoundPlace]:
    """The wanted documents that a dedupe has compared, by asset, snapshot, shard and row."""
    partitions = {(each.asset, each.snapshot) for each in compared.documents.values()}
    return {
        (each.asset, each.snapshot, each.shard, each.row): each
        for each in search.found
        if (each.asset, each.snapshot) in partitions
    }


def _of_dedupe(
    store: Store, compared: _ComparedNow, wanted: Mapping[tuple[str, str, str, int], FoundPlace]
) -> set[Pair]:
    documents, ids = compared.documents, {each.id for each in wanted.values()}
    named = [row for there in compared.rounds for row in _printed(store, there, "id", ids)]
    clusters = {row["cluster"] for row in named if _key(documents, row) in wanted}
    rows = [row for there in compared.rounds for row in _printed(store, there, "cluster", clusters)]
    return {
        pair for row in rows if _key(documents, row) not in wanted if (pair := _pair(store, documents, row)) is not None
    }


def _key(documents: Mapping[Key, Place], row: Row) -> tuple[str, str, str, int]:
    there = documents.get((row["source"], row["snapshot"]))
    return (there.asset if there else "", row["snapshot"], row["shard"], row["row"])


def _dedupes(store: Store) -> dict[str, list[Place]]:
    """The rounds of clusters of each dedupe. Marks tell of a dedupe whose clusters have no ledger any more."""
    dedupes: dict[str, list[Place]] = {}
    for there in list_ledgers(store, CLUSTERS.top):
        if there.kind is CLUSTERS:
            dedupes.setdefault(names_of(there.asset)["dedupe"], []).append(there)
        elif there.kind is MARKS and any(
            kind_of(each.asset) is CLUSTERS for each in read_ledger(store, there)[0].inputs
        ):
            dedupes.setdefault(names_of(there.asset)["dedupe"], [])
    return dedupes


def _first_versions(store: Store) -> Iterator[Place]:
    """The partitions of documents that were made from raw data and have rows."""
    for there in list_ledgers(store, DOCUMENTS.top):
        if there.kind is DOCUMENTS:
            head, shards = read_ledger(store, there)
            if any(kind_of(each.asset) is RAW for each in head.inputs) and any(shard.rows for shard in shards):
                yield there


def _printed(store: Store, there: Place, column: str, values: Collection[str | int]) -> Iterator[Row]:
    """The rows of the table for people whose column has one of some values."""
    if not values:
        return
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - the same

    for shard in read_ledger(store, there)[1]:
        for path in part_record(shard, there.table).objects:
            if path.endswith(".parquet"):
                chosen = [(column, "in", list(values))]
                file = pa.BufferReader(store.read(path))
                yield from pq.read_table(file, columns=list(COLUMNS), filters=chosen).to_pylist()


def _compared_now(store: Store, dedupe: str, rounds: Sequence[Place], search: Search) -> _ComparedNow:
    """What a dedupe has compared and what has not changed since. A round without clusters is named as not searched."""
    order, _ = read_order(store, dedupe)
    made = {there.snapshot: read_ledger(store, there)[0] for there in rounds}
    for key in map(round_key, range(1, order.rounds + 1)):
        if key not in made:
            why = f"it has no clusters; run {RESOLUTION.at(dedupe=dedupe)} again"
            search.skip("dedupe", f"dedupe {dedupe} ({key})", why)
    documents: dict[Key, Place] = {}
    for entry in order.entries:
        there = place(FINGERPRINTS.at(dedupe=dedupe, source=entry.source), entry.snapshot)
        prints, round_ = find_ledger(store, there), made.get(round_key(entry.round))
        if prints and round_ and prints[0].upstream in round_.inputs:
            for upstream in prints[0].inputs:
                if kind_of(upstream.asset) is DOCUMENTS:
                    read = place(upstream.asset, upstream.snapshot)
                    if read_ledger(store, read)[0].fingerprint == upstream.fingerprint:
                        documents[entry.source, entry.snapshot] = read
    scopes = [str(head.recipe.parameters.get("scope")) for head in made.values()]
    return _ComparedNow(dedupe, rounds, documents, order, "".join(scopes[:1]))


def _pair(store: Store, documents: Mapping[Key, Place], row: Row) -> Pair | None:
    """The (source, id) of a document: the table has its recipe's source, which may be another.

    None if its snapshot has changed since: near_documents() names it as not searched.
    """
    there = documents.get((row["source"], row["snapshot"]))
    partition = find_partition(store, there) if there else None
    if partition is None or row["shard"] not in partition.shards:
        return None
    return row_of(partition, row["shard"], row["row"]).pair
