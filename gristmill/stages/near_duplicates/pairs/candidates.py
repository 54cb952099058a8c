"""Candidates: documents that share a band, as groups of which each has a first document.

A hash that occurs n times gives n - 1 members, and not n * n pairs. So a band of ten million documents is linear.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.near_duplicates.inputs import ClusterInputs, Table
from gristmill.stages.near_duplicates.nodes import Nodes, nodes_of_hashes


@dataclass(frozen=True)
class BandMembers:
    """Documents with a band that another document has before them, sorted by first document, band and document.

    Attributes:
        heads: the first document with the same band (n).
        bands: band of each, uint16 (n).
        nodes: the document (n).
    """

    heads: Nodes
    bands: NDArray[np.uint16]
    nodes: Nodes

    @classmethod
    def from_members(cls, heads: Nodes, bands: NDArray[np.uint16], nodes: Nodes) -> "BandMembers":
        """Sorts members, unless they are sorted: those of one heavy band are.

        Returns:
            The members in order.
        """
        columns = (heads, bands, nodes)
        ahead = np.zeros(max(len(nodes) - 1, 0), np.bool_)
        for column in reversed(columns):
            ahead = (column[1:] > column[:-1]) | (column[1:] == column[:-1]) & ahead
        if ahead.all():
            return cls(*columns)
        by = np.lexsort((nodes, bands, heads))
        return cls(heads[by], bands[by], nodes[by])

    def __len__(self) -> int:
        return len(self.nodes)

    def select(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "BandMembers":
        """The chosen members, in their order."""
        return BandMembers(self.heads[chosen], self.bands[chosen], self.nodes[chosen])

    @property
    def group_start_flags(self) -> NDArray[np.bool_]:
        """Whether each is the first member of its group, as flags (n)."""
        starts = np.ones(len(self), np.bool_)
        starts[1:] = (self.heads[1:] != self.heads[:-1]) | (self.bands[1:] != self.bands[:-1])
        return starts


def members_of_buckets(store: Store, inputs: ClusterInputs, ranks: Sequence[int]) -> Iterator[BandMembers]:
    """The members of all groups that have a document of some snapshots, bucket by bucket.

    Args:
        store: the lake.
        inputs: the round.
        ranks: ranks of the snapshots of one layer of the round.

    Raises:
        DataError: a file is damaged.
    """
    for bucket in dict.fromkeys(name for rank in ranks for name in inputs.runs[rank].rows):
        parts = [_snapshot_bucket_members(store, inputs, rank, bucket) for rank in ranks]
        heads, bands, nodes = (np.concatenate([part[column] for part in parts]) for column in range(3))
        members = BandMembers.from_members(heads, bands, nodes)
        yield members.select(members.heads != members.nodes)


def _snapshot_bucket_members(
    store: Store, inputs: ClusterInputs, rank: int, bucket: str
) -> tuple[Nodes, NDArray[np.uint16], Nodes]:
    """The members of one snapshot in one bucket: the first document of each, its band, and the document."""
    firsts, others = _repeated_hash_positions(store, inputs.runs[rank], bucket)
    positions, ranks, keepers = _earlier_hash_positions(store, inputs, bucket, rank)
    at = np.searchsorted(positions, firsts)
    at[at == len(positions)] = 0
    known = positions[at] == firsts if len(positions) else np.zeros(len(firsts), np.bool_)
    head_ranks = np.full(len(firsts) + len(positions), rank, np.int64)
    head_positions = np.concatenate([firsts, keepers])
    head_ranks[: len(firsts)][known] = ranks[at[known]]
    head_positions[: len(firsts)][known] = keepers[at[known]]
    head_ranks[len(firsts) :] = ranks
    bands, where = inputs.unit.bands, f"{inputs.runs[rank].place.table}: part {bucket}"
    heads, head_bands = nodes_of_hashes(head_ranks, head_positions, bands, where)
    nodes, node_bands = nodes_of_hashes(rank, np.concatenate([others, positions]), bands, where)
    if (head_bands != node_bands).any():
        raise _damaged_bucket_error(
            inputs.verdicts.place.table,
            _bucket_shard_row(inputs.verdicts, bucket),
            "it joins hashes of different bands",
        )
    return heads, node_bands, nodes


def _bucket_shard_row(table: Table, bucket: str) -> Shard:
    if bucket not in table.rows:
        raise DataError(f"{table.place.table}: no part {bucket}; make this partition again")
    return table.rows[bucket]


def _repeated_hash_positions(store: Store, run: Table, bucket: str) -> tuple[Nodes, Nodes]:
    """The first position of each repeated hash, and its position, for each repeat."""
    positions, row = _first_hash_positions(store, run, bucket), _bucket_shard_row(run, bucket)
    data = read_part_file(store, row, run.place.table, "repeats")
    count, rest = divmod(len(data), 12)
    indices = np.frombuffer(data, "<u4", count)
    others = np.frombuffer(data, "<u8", count, 4 * count).astype(np.uint64)
    if rest or count != row.counts.get("repeats", count) or (count and int(indices.max()) >= len(positions)):
        raise _damaged_bucket_error(run.place.table, row, "its repeats are not those of its positions")
    return positions[indices], others


def _earlier_hash_positions(
    store: Store, inputs: ClusterInputs, bucket: str, rank: int
) -> tuple[Nodes, NDArray[np.int64], Nodes]:
    """The position of each hash that occurs before, ascending; and the rank and the position of its first occurrence.

    The file has three columns: positions, ranks, and places in the hashes of the run of that rank.
    """
    table = inputs.verdicts.place.table
    row = _bucket_shard_row(inputs.verdicts, bucket)
    data = read_part_file(store, row, table, str(rank))
    count, rest = divmod(len(data), 16)
    positions = np.frombuffer(data, "<u8", count).astype(np.uint64)
    ranks = np.frombuffer(data, "<u4", count, 8 * count).astype(np.int64)
    places = np.frombuffer(data, "<u4", count, 12 * count).astype(np.int64)
    if rest or (count and int(ranks.max()) >= len(inputs.runs)):
        raise _damaged_bucket_error(table, row, f"file {rank} is not of this order")
    keepers = np.zeros(count, np.uint64)
    for other in np.unique(ranks).tolist():
        (mine,) = np.nonzero(ranks == other)
        firsts = _first_hash_positions(store, inputs.runs[other], bucket)
        if int(places[mine].max()) >= len(firsts):
            raise _damaged_bucket_error(
                table, row, f"file {rank} names a hash that the runs of rank {other} do not have"
            )
        keepers[mine] = firsts[places[mine]]
    by = np.argsort(positions)
    positions = positions[by]
    if (positions[1:] == positions[:-1]).any():
        raise _damaged_bucket_error(table, row, f"file {rank} names a position twice")
    return positions, ranks[by], keepers[by]


def _first_hash_positions(store: Store, run: Table, bucket: str) -> Nodes:
    """Where each hash of a run occurs first."""
    row = _bucket_shard_row(run, bucket)
    data = read_part_file(store, row, run.place.table, "positions")
    if len(data) != 8 * row.counts.get("distinct", len(data) // 8):
        raise _damaged_bucket_error(
            run.place.table, row, f"its {len(data):,} bytes of positions are not those of its hashes"
        )
    return np.frombuffer(data, "<u8").astype(np.uint64)


def _damaged_bucket_error(table: str, row: Shard, what: str) -> DataError:
    return DataError(f"{table}: part {row.name}: {what}; make this partition again")
