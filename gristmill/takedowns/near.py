"""Documents in one cluster of near duplicates with wanted documents."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gristmill.errors import GristmillError
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import CLUSTERS, DOCUMENTS, FINGERPRINTS, RAW, kind_of, names_of
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.files import list_ledgers, read_ledger
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import part_record
from gristmill.takedowns.places import FoundPlace, Search
from gristmill.tracing.rows import find_partition, row_of

COLUMNS = ("cluster", "source", "snapshot", "shard", "row", "id")

Row = dict[str, Any]


class _ComparedNow(NamedTuple):
    """What a dedupe by MinHash has compared as it is now.

    Attributes:
        name: of the dedupe.
        rounds: its clusters.
        documents: the partitions of documents that it compared, by source and snapshot.
    """

    name: str
    rounds: Sequence[Place]
    documents: Mapping[tuple[str, str], Place]


def near_documents(store: Store, search: Search, wanted: Collection[Pair]) -> set[Pair]:
    """The documents that a cluster of near duplicates has beside wanted documents.

    Clusters of documents that were made again since, and that were not resolved again, tell nothing.

    Args:
        store: the lake.
        search: the places of the wanted documents; is told what was not searched.
        wanted: the documents.
    """
    near: set[Pair] = set()
    reached: dict[Pair, set[tuple[str, str]]] = {}
    dedupes = _dedupes(store)
    if not dedupes:
        search.skip("dedupe", "near documents", "the lake has no clusters of a dedupe by MinHash; make one")
        return near
    for name, rounds in dedupes.items():
        try:
            compared = _ComparedNow(name, rounds, _documents(store, name, rounds))
            places = _places(compared, search)
            for each in places.values():
                reached.setdefault(each.pair, set()).update(compared.documents)
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
                "no dedupe by MinHash has compared it, as it is now, with these documents; make one that has its source"
            )
            search.skip("dedupe", f"near documents in {there.asset} ({there.snapshot})", why)
    return near


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


def _key(documents: Mapping[tuple[str, str], Place], row: Row) -> tuple[str, str, str, int]:
    there = documents.get((row["source"], row["snapshot"]))
    return (there.asset if there else "", row["snapshot"], row["shard"], row["row"])


def _dedupes(store: Store) -> dict[str, list[Place]]:
    """The rounds of clusters of each dedupe."""
    dedupes: dict[str, list[Place]] = {}
    for there in list_ledgers(store, CLUSTERS.top):
        if there.kind is CLUSTERS:
            dedupes.setdefault(names_of(there.asset)["dedupe"], []).append(there)
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


def _documents(store: Store, dedupe: str, rounds: Sequence[Place]) -> dict[tuple[str, str], Place]:
    """The documents that clusters were made from and that have not changed since, by source and snapshot."""
    resolved = {upstream for there in rounds for upstream in read_ledger(store, there)[0].inputs}
    found: dict[tuple[str, str], Place] = {}
    for there in list_ledgers(store, FINGERPRINTS.top):
        if there.kind is not FINGERPRINTS or names_of(there.asset)["dedupe"] != dedupe:
            continue
        head, _ = read_ledger(store, there)
        if Upstream(there.asset, there.snapshot, head.fingerprint) not in resolved:
            continue
        for upstream in head.inputs:
            if kind_of(upstream.asset) is DOCUMENTS:
                documents = place(upstream.asset, upstream.snapshot)
                if read_ledger(store, documents)[0].fingerprint == upstream.fingerprint:
                    found[names_of(there.asset)["source"], there.snapshot] = documents
    return found


def _pair(store: Store, documents: Mapping[tuple[str, str], Place], row: Row) -> Pair | None:
    """The (source, id) of a document: the table has its recipe's source, which may be another.

    None if its snapshot has changed since: near_documents() names it as not searched.
    """
    there = documents.get((row["source"], row["snapshot"]))
    partition = find_partition(store, there) if there else None
    if partition is None or row["shard"] not in partition.shards:
        return None
    return row_of(partition, row["shard"], row["row"]).pair
