"""Clusters of near duplicates that have one number, as older versions of gristmill made them."""

import hashlib

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from testkit import Mill

from gristmill.lake.address import place
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table, read_ledger
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, seal_row
from gristmill.stages.near_duplicates.cluster_files import BLOCK, CLUSTER, MEMBER, digest_of_records


def numbered_alike(mill: Mill, number: str) -> None:
    """Gives all clusters of a round one number, as older versions did if their first documents have one id."""
    there = place("dedupe/near-1/clusters", number)
    head, (row,) = read_ledger(mill.store, there)
    record = BinaryPartRecord.decode_from_row(row, there.table)
    objects = dict(record.objects)
    for name in record.contents:
        path = record.folder + name
        data = mill.store.read(path)
        if name.endswith(".parquet"):
            table = pq.read_table(pa.BufferReader(data))
            pq.write_table(table.set_column(0, "cluster", pa.array([7] * len(table))), sink := pa.BufferOutputStream())
            data = bytes(sink.getvalue())
        elif name.endswith(".index"):
            blocks = np.frombuffer(data, BLOCK).copy()
            members = np.frombuffer(mill.store.read(path.removesuffix(".index")), MEMBER).copy()
            members["cluster"] = 7
            for block in blocks:
                block["digest"] = digest_of_records(members[int(block["first"]) :][: int(block["count"])])
            data = blocks.tobytes()
        else:
            records = np.frombuffer(data, CLUSTER if name == "clusters" else MEMBER).copy()
            records["cluster"] = 7
            data = records.tobytes()
        mill.store.put(path, data)
        objects[path] = (hashlib.sha256(data).hexdigest(), len(data))
    rows = [seal_row(row, msgspec.structs.replace(record, objects=objects))]
    mill.store.put(there.table, pack_table(rows))
    mill.store.put(there.ledger, as_json(compose_ledger(there, head.recipe, head.inputs, rows)))
