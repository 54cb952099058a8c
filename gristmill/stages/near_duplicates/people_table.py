"""`clusters.parquet`: the clusters of a round for people, a row for each document."""

from collections.abc import Sequence

import numpy as np

from gristmill.lake.identity import Pair
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.near_duplicates.cluster_files import Records
from gristmill.stages.near_duplicates.inputs import Table
from gristmill.stages.near_duplicates.nodes import rank_of, shard_of


def people_table(members: Records, pairs: Sequence[Pair], order: Order, tables: Sequence[Table]) -> bytes:
    """The bytes of the file. Its rows are ordered by cluster, and in it by rank, shard and row.

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
    ranks, shards = rank_of(members["node"]), shard_of(members["node"])
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
