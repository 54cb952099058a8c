"""The files of a round of clusters.

- `<rank>` for each snapshot of the round: a MEMBER record for each document in a cluster, by ascending document.
- `<rank>.index`: a BLOCK record for each shard of that snapshot, which finds its members in `<rank>`.
- `clusters`: a CLUSTER record for each cluster that the round made or added to, by ascending first document.
- `clusters.parquet`: the same for people.
"""

from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import BinaryPart, read_part_file
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.near_duplicates.inputs import Table
from gristmill.stages.near_duplicates.nodes import Nodes, rank_of_nodes, shard_of_nodes

MEMBER = np.dtype([
    ("node", "<u8"), ("row", "<u4"), ("first", "<u8"), ("kept", "<u8"), ("cluster", "<u8"), ("size", "<u4"),
    ("similarity", "<f4"), ("duplicate", "u1"),
])  # fmt: skip
"""`first`: the first document of the cluster, as a node. `kept`: the one that is kept. The rest: see NEAR_MARK."""

CLUSTER = np.dtype([("first", "<u8"), ("kept", "<u8"), ("cluster", "<u8"), ("size", "<u4")])
"""`size`: number of documents after the round."""

BLOCK = np.dtype([("first", "<u8"), ("count", "<u8"), ("digest", "S32")])
"""`first`, `count`: records of the shard in `<rank>`. `digest`: XXH3-128 of their bytes (hex)."""

Records = NDArray[np.void]


def write_members(part: BinaryPart, rank: int, members: Records, shards: int) -> None:
    """Writes the members of one snapshot, and their index.

    Args:
        part: the part.
        rank: rank of the snapshot.
        members: MEMBER records, one for each document, ascending (n).
        shards: number of shards of the snapshot.
    """
    edges = np.searchsorted(shard_of_nodes(members["node"]), np.arange(shards + 1))
    index = np.zeros(shards, BLOCK)
    index["first"], index["count"] = edges[:-1], np.diff(edges)
    for number in range(shards):
        index["digest"][number] = digest_of_records(members[edges[number] : edges[number + 1]])
    part.file(str(rank)).write(members.tobytes())
    part.file(f"{rank}.index").write(index.tobytes())


def digest_of_records(records: Records) -> bytes:
    """The XXH3-128 of records (hex, as ASCII)."""
    return xxhash.xxh3_128_hexdigest(records.tobytes()).encode()


def decode_cluster_records(data: bytes, kind: np.dtype[np.void], where: str) -> Records:
    """The records in the bytes of a file (n).

    Raises:
        DataError: the file is cut.
    """
    if len(data) % kind.itemsize:
        raise DataError(f"{where}: is cut; make its partition again")
    return np.frombuffer(data, kind)


def read_members(store: Store, part: Shard, table: str, rank: int, shards: int) -> Records:
    """The MEMBER records of one snapshot (n), compared with their index.

    Args:
        store: the lake.
        part: row of the table of clusters.
        table: path of that table.
        rank: rank of the snapshot.
        shards: number of shards of the snapshot.

    Raises:
        DataError: a file is lost or damaged, or the records are not those of the index.
    """
    where = f"{table}: file {rank}"
    members = decode_cluster_records(read_part_file(store, part, table, str(rank)), MEMBER, where)
    blocks = decode_cluster_records(read_part_file(store, part, table, f"{rank}.index"), BLOCK, f"{where}.index")
    edges = np.searchsorted(shard_of_nodes(members["node"]), np.arange(shards + 1))
    digests = [digest_of_records(members[edges[at] : edges[at + 1]]) for at in range(shards)]
    if blocks["digest"].tolist() != digests or blocks["first"].tolist() != edges[:-1].tolist():
        raise DataError(f"{where}: its records are not those of {rank}.index; make the clusters of this round again")
    return members


def find_member_nodes(records: Records, nodes: Nodes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The index of each document's record, and whether the document has one; shape (n,) each.

    Args:
        records: MEMBER records, one for each document, ascending (n).
        nodes: documents (n).
    """
    at = np.searchsorted(records["node"], nodes)
    at[at == len(records)] = 0
    known = records["node"][at] == nodes if len(records) else np.zeros(len(nodes), np.bool_)
    return at, known


def encode_clusters_parquet(members: Records, pairs: Sequence[Pair], order: Order, tables: Sequence[Table]) -> bytes:
    """The bytes of `clusters.parquet`. Its rows are ordered by cluster, and in it by rank, shard and row.

    Args:
        members: MEMBER records of the round's documents, and of what the clusters keep (n).
        pairs: their (source, id) (n).
        order: the order of snapshots.
        tables: the fingerprints of each rank.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import, and every command imports this module
    import pyarrow.parquet as pq  # noqa: PLC0415 - the same

    by = np.lexsort((members["node"], members["first"]))
    members = members[by]
    ranks, shards = rank_of_nodes(members["node"]), shard_of_nodes(members["node"])
    entries = [order.entries[rank] for rank in ranks.tolist()]
    names = [table.names for table in tables]
    columns = {
        "cluster": pa.array(members["cluster"].astype(np.int64)),
        "rank": pa.array(ranks.astype(np.int32)),
        "source": pa.array([entry.source for entry in entries], pa.string()),
        "snapshot": pa.array([entry.snapshot for entry in entries], pa.string()),
        "shard": pa.array([names[r][s] for r, s in zip(ranks.tolist(), shards.tolist(), strict=True)], pa.string()),
        "row": pa.array(members["row"].astype(np.int64)),
        "id": pa.array([pairs[number][1] for number in by.tolist()], pa.string()),
        "size": pa.array(members["size"].astype(np.int64)),
        "similarity": pa.array(members["similarity"].astype(np.float32)),
        "kept": pa.array(members["duplicate"] == 0),
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="zstd", row_group_size=1 << 16)
    return bytes(sink.getvalue())
