"""The grinder of the marks of near duplicates: it cuts the records of one shard out of the clusters of its round."""

import msgspec
import numpy as np

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Outcome
from gristmill.lake.ledger.model import Input, Shard
from gristmill.stages.fingerprints.binary_part import BinaryPart, file_of_part
from gristmill.stages.near_duplicates.cluster_files import MEMBER, decode_cluster_records, digest_of_records
from gristmill.stages.near_duplicates.mark_records import NEAR_MARK


class NearMarksSpec(OneAssetSpec, frozen=True):
    """What all shards share.

    Attributes:
        rank: rank of the snapshot.
        table: path of the table of the clusters.
        clusters: the part of the clusters.
    """

    rank: int
    table: str
    clusters: Shard


class NearMarksItem(msgspec.Struct, frozen=True):
    """One shard.

    Attributes:
        inputs: sources of its content.
        first: number of its first record in the clusters' file.
        count: number of its records.
        digest: XXH3-128 of their bytes (hex).
    """

    inputs: tuple[Input, ...]
    first: int
    count: int
    digest: str


class NearMarksGrinder(ShardGrinder[NearMarksSpec, NearMarksItem]):
    """Grinds the shards of one snapshot."""

    def grind(self, item: Item, body: NearMarksItem) -> Outcome:
        spec = self._spec
        output = BinaryPart(self._store, spec, item.name, body.inputs)
        return self.grind_shard(output, lambda: self._write_near_marks(output, body))

    def _write_near_marks(self, output: BinaryPart, body: NearMarksItem) -> None:
        path, _ = file_of_part(self._spec.clusters, self._spec.table, str(self._spec.rank))
        data = b""
        if body.count:
            first, last = body.first * MEMBER.itemsize, (body.first + body.count) * MEMBER.itemsize
            data = self._store.read_range(path, first, last)
        members = decode_cluster_records(data, MEMBER, path)
        if digest_of_records(members).decode() != body.digest:
            raise DataError(f"{path}: is not the file that its index describes; make its partition again")
        marks = np.zeros(len(members), NEAR_MARK)
        for name in NEAR_MARK.names or ():
            marks[name] = members[name]
        output.file("marks").write(marks.tobytes())
        output.rows = int(marks["duplicate"].sum())
        output.counts = {"in clusters": len(marks)}


grinder = NearMarksGrinder
