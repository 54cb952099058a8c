"""Documents in one cluster of near duplicates with wanted documents."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gristmill.errors import GristmillError
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import CLUSTERS, DOCUMENTS, MARKS, RESOLUTION, kind_of, names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.files import find_head_and_table, list_ledgers, read_ledger
from gristmill.lake.ledger.model import Ledger, Shard, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.selection import CHANGED
from gristmill.stages.dedupe.resolution import read_dedupe_order
from gristmill.stages.fingerprints.compared import compared_families
from gristmill.stages.fingerprints.order import Order, round_partition_key
from gristmill.stages.near_duplicates.cluster_files import Records, read_members
from gristmill.stages.near_duplicates.inputs import WHOLE, Table
from gristmill.stages.near_duplicates.nodes import rank_of_nodes, shard_of_nodes
from gristmill.stages.near_duplicates.printed_documents import PrintedDocuments
from gristmill.takedowns.places import FoundPlace, Search
from gristmill.tracing.rows import Partition, find_partition, parent_version, read_located_row

Key = tuple[str, str]
"""Source and snapshot, as a recipe names them."""


class _ComparedNow(NamedTuple):
    """What a dedupe by MinHash has compared as it is now.

    Attributes:
        name: of the dedupe.
        documents: the partitions of documents that it compared, by source and snapshot.
        firsts: the first version of each, and how many of its rows were compared, as they are there. A version is left
            out if its first one was made again since.
        order: the order of its snapshots.
        scope: scope of its recipe, see Dedupe.
    """

    name: str
    documents: Mapping[Key, Place]
    firsts: Mapping[Key, tuple[Upstream, int]]
    order: Order
    scope: str

    @property
    def keys(self) -> list[Key]:
        """Source and snapshot of each rank."""
        return [(entry.source, entry.snapshot) for entry in self.order.entries]

    def compared_first_versions(self, key: Key) -> Counter[Upstream]:
        """The first versions that a snapshot was compared with, its own among them, and how many rows of each."""
        keys = self.keys
        rank = keys.index(key)
        found = {rank}
        for number in range(self.order.entries[rank].round, self.order.round_count + 1):
            new = set(self.order.ranks_of_round(number))
            for family in compared_families(self.order, number, self.scope):
                at = next((at for at, member in enumerate(family) if member.rank == rank), len(family))
                if rank in new:
                    found |= {member.rank for member in family[:at] if member.keeps}
                if at < len(family) and family[at].keeps:
                    found |= new & {member.rank for member in family[at:]}
        return Counter(dict(self.firsts[keys[each]] for each in found if keys[each] in self.firsts))


def near_documents(store: Store, search: Search, wanted: Collection[Pair]) -> set[Pair]:
    """The documents that a cluster of near duplicates has beside wanted documents.

    Clusters of documents that were made again since, and that were not resolved again, tell nothing.

    Args:
        store: the lake.
        search: the places of the wanted documents; is told what was not searched.
        wanted: the documents.
    """
    near: set[Pair] = set()
    reached: dict[Pair, set[tuple[str, Key]]] = defaultdict(set)
    partners: dict[tuple[str, Key], Counter[Upstream]] = {}
    dedupes = _cluster_rounds_by_dedupe(store)
    if not dedupes:
        search.note_skipped("dedupe", "near documents", "the lake has no clusters of a dedupe by MinHash; make one")
        return near
    for name, rounds in dedupes.items():
        try:
            compared = _read_comparison(store, name, rounds, search)
            places, others = _places_in_dedupe(store, compared, search.found)
            partners |= {
                (name, key): compared.compared_first_versions(key) for key in set(map(_source_and_snapshot, places))
            }
            for each in places:
                reached[each.pair].add((name, _source_and_snapshot(each)))
            near |= others
        except GristmillError as error:
            search.note_skipped("dedupe", f"dedupe {name}", error)
    for source, id_ in sorted(set(wanted) - reached.keys()):
        why = "no dedupe by MinHash has compared it as it is now; name what is near it by --ids"
        search.note_skipped("dedupe", f"near {id_!r} of {source!r}", why)
    groups = set(map(frozenset, reached.values()))
    for first in _first_versions(store) if reached else ():
        rows = first.totals["rows"]
        lacking = rows - min(max(partners[each][first.upstream] for each in group) for group in groups)
        if lacking:
            why = (
                f"{lacking:,} of its {rows:,} documents were never compared, as they are now, with these; make a dedupe"
                " by MinHash that compares them, or name what is near there by --ids"
            )
            search.note_skipped("dedupe", f"near documents in {first.asset} ({first.snapshot})", why)
    return near


def _source_and_snapshot(found: FoundPlace) -> Key:
    return names_in_asset_address(found.asset)["source"], found.snapshot


def _places_in_dedupe(
    store: Store, compared: _ComparedNow, found: Iterable[FoundPlace]
) -> tuple[list[FoundPlace], set[Pair]]:
    """The places of wanted documents that have a signature, and the other documents of their clusters.

    Their first documents tell clusters apart. The numbers of older sets do not: two clusters have one number there, if
    their first documents have one source and id.
    """
    documents, keys = compared.documents, compared.keys
    ranks = {(documents[key].asset, documents[key].snapshot): n for n, key in enumerate(keys) if key in documents}
    rows: dict[tuple[int, str], dict[int, FoundPlace]] = defaultdict(dict)
    for each in found:
        rank = ranks.get((each.asset, each.snapshot))
        if rank is not None and each.row >= 0:  # else it is beside the rows, such as in the quarantine
            rows[rank, each.shard][each.row] = each
    if not rows:
        return [], set()
    entries = compared.order.entries
    tables = [Table.read(store, each.fingerprints(compared.name), may_lack=True) for each in entries]
    printed, names = PrintedDocuments(store, tables), [table.names for table in tables]
    signed = {at: printed.nodes_of_rows(*at, list(each)) for at, each in rows.items()}
    nodes = np.concatenate([each for _, each in signed.values()])
    wanted = [rows[at][row] for at, (some, _) in signed.items() for row in some.tolist()]
    rounds = _cluster_tables_by_round(store, compared, ranks.values())

    def members(rank: int) -> Records:
        of_round = rounds[entries[rank].round]
        return read_members(store, of_round.rows[WHOLE], of_round.place.table, rank, len(names[rank]))

    asked = map(members, sorted({rank for rank, _ in rows}))
    firsts = np.concatenate([nodes, *(each["first"][np.isin(each["node"], nodes)] for each in asked)])
    every = map(members, ranks.values())
    near = np.concatenate([firsts, *(each["node"][np.isin(each["first"], firsts)] for each in every)])
    near = np.setdiff1d(near[np.isin(rank_of_nodes(near), list(ranks.values()))], nodes)
    places = zip(rank_of_nodes(near).tolist(), shard_of_nodes(near).tolist(), printed.rows(near).tolist(), strict=True)
    read = {rank: find_partition(store, documents[keys[rank]]) for rank in np.unique(rank_of_nodes(near)).tolist()}
    pairs = (_pair_of_row(read[rank], names[rank][shard], row) for rank, shard, row in places)
    return wanted, {pair for pair in pairs if pair is not None}


def _cluster_tables_by_round(store: Store, compared: _ComparedNow, ranks: Iterable[int]) -> dict[int, Table]:
    """The tables of the clusters of some snapshots, by round."""
    numbers = sorted({compared.order.entries[rank].round for rank in ranks})
    return {
        each: Table.read(store, place(CLUSTERS.at(dedupe=compared.name), round_partition_key(each))) for each in numbers
    }


def _cluster_rounds_by_dedupe(store: Store) -> dict[str, list[Place]]:
    """The rounds of clusters of each dedupe. Marks tell of a dedupe whose clusters have no ledger any more."""
    dedupes: dict[str, list[Place]] = {}
    for there in list_ledgers(store, CLUSTERS.top_folder):
        if there.kind is CLUSTERS:
            dedupes.setdefault(names_in_asset_address(there.asset)["dedupe"], []).append(there)
        elif there.kind is MARKS and any(
            kind_of(each.asset) is CLUSTERS for each in read_ledger(store, there)[0].inputs
        ):
            dedupes.setdefault(names_in_asset_address(there.asset)["dedupe"], [])
    return dedupes


def _first_versions(store: Store) -> Iterator[Ledger]:
    """The heads of the partitions of documents that were made from raw data."""
    for there in list_ledgers(store, DOCUMENTS.top_folder):
        if there.kind is DOCUMENTS:
            head, _ = read_ledger(store, there)
            if parent_version(head) is None:
                yield head


def _first_selected_version(store: Store, head: Ledger, shards: Sequence[Shard]) -> tuple[Upstream, int] | None:
    """The first version that a version was selected from, step by step; None if one is gone or made again.

    And how many of its rows the version has as they are there: what was edited is compared with other words.
    """
    rows = head.totals["rows"]
    while parent := parent_version(head):
        rows -= sum(shard.counts.get(CHANGED, 0) for shard in shards)
        found = find_head_and_table(store, place(parent.asset, parent.snapshot))
        if found is None or found[0].upstream != parent:
            return None
        head, shards = found
    return head.upstream, max(rows, 0)


def _read_comparison(store: Store, dedupe: str, rounds: Sequence[Place], search: Search) -> _ComparedNow:
    """What a dedupe has compared and what has not changed since. A round that tells nothing is told as not searched."""
    order, _ = read_dedupe_order(store, dedupe)
    made = {there.snapshot: read_ledger(store, there)[0] for there in rounds}
    stale: set[str] = set()
    for key in map(round_partition_key, range(1, order.round_count + 1)):
        if key not in made:
            why = f"it has no clusters; run {RESOLUTION.at(dedupe=dedupe)} again"
            search.note_skipped("dedupe", f"dedupe {dedupe} ({key})", why)
        elif any(made[each].upstream not in made[key].inputs for each in made if each < key):
            why = f"its clusters are not of those of the rounds before; run {RESOLUTION.at(dedupe=dedupe)} again"
            search.note_skipped("dedupe", f"dedupe {dedupe} ({key})", why)
            stale.add(key)
    documents: dict[Key, Place] = {}
    firsts: dict[Key, tuple[Upstream, int]] = {}
    for entry in order.entries:
        prints, key = find_head_and_table(store, entry.fingerprints(dedupe)), round_partition_key(entry.round)
        if prints and key in made.keys() - stale and prints[0].upstream in made[key].inputs:
            upstream = parent_version(prints[0])
            made_of = read_ledger(store, place(upstream.asset, upstream.snapshot)) if upstream else None
            if made_of and made_of[0].upstream == upstream:
                documents[entry.source, entry.snapshot] = place(made_of[0].asset, made_of[0].snapshot)
                if first := _first_selected_version(store, *made_of):
                    firsts[entry.source, entry.snapshot] = first
    scopes = [str(head.recipe.parameters.get("scope")) for head in made.values()]
    return _ComparedNow(dedupe, documents, firsts, order, "".join(scopes[:1]))


def _pair_of_row(partition: Partition | None, shard: str, row: int) -> Pair | None:
    """The (source, id) of a document: the fingerprints have its recipe's source, which may be another.

    None if its snapshot has changed since: near_documents() names it as not searched.
    """
    if partition is None or shard not in partition.shards:
        return None
    return read_located_row(partition, shard, row).pair
