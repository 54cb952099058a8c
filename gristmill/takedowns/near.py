"""Documents in one cluster of near duplicates with wanted documents."""

from collections.abc import Collection, Iterator
from typing import Any

from gristmill.errors import GristmillError
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import CLUSTERS, DOCUMENTS, FINGERPRINTS, kind_of, names_of
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.files import list_ledgers, read_ledger
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import part_record
from gristmill.takedowns.places import Search
from gristmill.tracing.rows import find_partition, row_of

COLUMNS = ("cluster", "source", "snapshot", "shard", "row", "id")

Row = dict[str, Any]


def near_documents(store: Store, search: Search) -> set[Pair]:
    """The documents that a cluster of near duplicates has beside wanted documents.

    Args:
        store: the lake.
        search: the places of the wanted documents; is told what was not searched.
    """
    near: set[Pair] = set()
    dedupes = _dedupes(store)
    if not dedupes:
        search.skip("dedupe", "near documents", "the lake has no clusters of a dedupe by MinHash; make one")
    for name, rounds in dedupes.items():
        try:
            near |= _of_dedupe(store, name, rounds, search)
        except GristmillError as error:
            search.skip("dedupe", f"dedupe {name}", error)
    return near


def _of_dedupe(store: Store, name: str, rounds: list[Place], search: Search) -> set[Pair]:
    documents = _documents(store, name)
    compared = {(each.asset, each.snapshot) for each in documents.values()}
    wanted = {(each.asset, each.snapshot, each.shard, each.row): each
              for each in search.found if (each.asset, each.snapshot) in compared}  # fmt: skip
    for each in search.found:
        if each.area == "raw" and not any(pair.pair == each.pair for pair in wanted.values()):
            search.skip("dedupe", f"near {each.id!r} of {each.source!r}", f"the dedupe {name} has not compared it")
    named = [row for there in rounds for row in _printed(store, there, "id", {each.id for each in wanted.values()})]
    clusters = {row["cluster"] for row in named if _key(documents, row) in wanted}
    rows = [row for there in rounds for row in _printed(store, there, "cluster", clusters)]
    return {_pair(store, documents, row) for row in rows if _key(documents, row) not in wanted}


def _key(documents: dict[tuple[str, str], Place], row: Row) -> tuple[str, str, str, int]:
    there = documents.get((row["source"], row["snapshot"]))
    return (there.asset if there else "", row["snapshot"], row["shard"], row["row"])


def _dedupes(store: Store) -> dict[str, list[Place]]:
    """The rounds of clusters of each dedupe."""
    dedupes: dict[str, list[Place]] = {}
    for there in list_ledgers(store, CLUSTERS.top):
        if there.kind is CLUSTERS:
            dedupes.setdefault(names_of(there.asset)["dedupe"], []).append(there)
    return dedupes


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


def _documents(store: Store, dedupe: str) -> dict[tuple[str, str], Place]:
    """The documents that a dedupe compared, by source and snapshot."""
    found: dict[tuple[str, str], Place] = {}
    for there in list_ledgers(store, FINGERPRINTS.top):
        if there.kind is FINGERPRINTS and names_of(there.asset)["dedupe"] == dedupe:
            head, _ = read_ledger(store, there)
            for upstream in head.inputs:
                if kind_of(upstream.asset) is DOCUMENTS:
                    found[names_of(there.asset)["source"], there.snapshot] = place(upstream.asset, upstream.snapshot)
    return found


def _pair(store: Store, documents: dict[tuple[str, str], Place], row: Row) -> Pair:
    """The (source, id) of a document: the table has its recipe's source, which may be another."""
    there = documents.get((row["source"], row["snapshot"]))
    partition = find_partition(store, there) if there else None
    if partition is not None and row["shard"] in partition.shards:
        return row_of(partition, row["shard"], row["row"]).pair
    return row["source"], row["id"]
