"""Clusters that have the number of another cluster: sets that older versions made may have some."""

import numpy as np

from gristmill.lake.address import place
from gristmill.lake.asset_kinds import CLUSTERS
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.fingerprints.order import round_partition_key
from gristmill.stages.near_duplicates.cluster_files import CLUSTER, decode_cluster_records
from gristmill.stages.near_duplicates.inputs import WHOLE, Table


def shared_cluster_numbers_line(store: Store, dedupe: str, rounds: int) -> str:
    """A line that says how many clusters have the number of another one, and what to do; empty if none has.

    Args:
        store: the lake.
        dedupe: name of the recipe. One that makes no clusters has none.
        rounds: number of its rounds.

    Raises:
        DataError: a file is damaged.
        StoreError: the lake does not answer.
    """
    found = np.zeros(0, CLUSTER)
    for number in range(1, rounds + 1):
        table = Table.read(store, place(CLUSTERS.at(dedupe=dedupe), round_partition_key(number)), may_lack=True)
        for row in table.rows.values():
            data = read_part_file(store, row, table.place.table, "clusters")
            found = np.concatenate([found, decode_cluster_records(data, CLUSTER, f"{table.place.table}: part {WHOLE}")])
    clusters = np.unique(found[["first", "cluster"]])
    _, times = np.unique(clusters["cluster"], return_counts=True)
    alike = int(times[times > 1].sum())
    if not alike:
        return ""
    return (
        f"{alike:,} clusters have the number of another one, because an older version of gristmill made them: the label"
        " `cluster` does not tell them apart; take the next number for the name of the recipe"
    )
