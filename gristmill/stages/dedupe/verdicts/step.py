"""The step that compares the snapshots of one round with all earlier ones: one part for each bucket.

A round is never compared again when later rounds come: its parts depend on the runs up to that round alone, and of the
earlier rounds on their hashes alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.one_asset import OneAssetStep, ShardPlan, wanted_shards
from gristmill.execution.plan import Target
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import HASH_RUNS, RESOLUTION, VERDICTS
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Ledger, Recipe, Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import FINGERPRINTING, MIB, Dedupe
from gristmill.stages.dedupe.columns import HASHES, POSITIONS, REPEATS, row_bytes
from gristmill.stages.dedupe.runs.grinder import bucket_name
from gristmill.stages.dedupe.verdicts.grinder import NewRun, StoredFile, VerdictsItem, VerdictsSpec
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, file_of_part
from gristmill.stages.fingerprints.compared import Family, compared_families
from gristmill.stages.fingerprints.order import Order, round_partition_key
from gristmill.stages.fingerprints.repeated_unit import LARGEST

_COLUMNS = {"hashes": HASHES, "positions": POSITIONS, "repeats": REPEATS}
"""The columns of the files of a run whose rows its ledger counts."""


@dataclass(frozen=True)
class VerdictsStep(OneAssetStep):
    """The verdicts of one round.

    Attributes:
        dedupe: the recipe.
        order: the order of the snapshots; what comes after the round changes nothing.
        round: its number, from 1.
        shelves: the packages that hold the recipes.
    """

    dedupe: Dedupe
    order: Order
    round: int
    shelves: tuple[str, ...]
    stage: str = "dedupe.verdicts"

    @property
    def snapshot(self) -> str:
        """The partition key of the round."""
        return round_partition_key(self.round)

    @property
    def asset(self) -> str:
        """The address of the verdicts."""
        return VERDICTS.at(dedupe=self.dedupe.name)

    @property
    def reads(self) -> tuple[str, ...]:
        sources = dict.fromkeys(entry.source for entry in self.order.entries if entry.round <= self.round)
        return tuple(HASH_RUNS.at(dedupe=self.dedupe.name, source=source) for source in sources)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the verdicts, for ledgers."""
        parameters = {**self.dedupe.fingerprint_parameters, "scope": self.dedupe.scope, "largest": LARGEST}
        return Recipe(self.dedupe.name, FINGERPRINTING, parameters, self.dedupe.draft)

    def plan(self, store: Store) -> ShardPlan[VerdictsItem]:
        """See Step.

        Raises:
            RecipeError: the order has no such round.
        """
        if not self.order.ranks_of_round(self.round):
            raise RecipeError(f"dedupe {self.dedupe.name!r}: its order has no round {self.round}")
        runs = {
            rank: SnapshotRuns(store, self.dedupe, entry.source, entry.snapshot)
            for rank, entry in enumerate(self.order.entries)
            if entry.round <= self.round
        }
        empty = {rank for rank, each in runs.items() if not each.ledger.totals["rows"]}
        families = compared_families(self.order, self.round, self.dedupe.scope, empty)
        items = [self._bucket_work_item(runs, bucket, families) for bucket in range(self.dedupe.buckets)]
        bodies = {bucket_name(item.bucket): item for item in items}
        upstream = tuple(each.ledger.upstream for each in runs.values())
        target = Target(self.made_place, self.recipe, upstream, wanted_shards(bodies))
        spec = partial(
            VerdictsSpec, buckets=self.dedupe.buckets, memory=self.dedupe.memory * MIB, families=tuple(families)
        )
        return ShardPlan(target, spec, bodies, _item_weight)

    def _bucket_work_item(
        self, runs: Mapping[int, "SnapshotRuns"], bucket: int, families: Sequence[Family]
    ) -> VerdictsItem:
        """The work of a bucket. A hash file stands for all else of an earlier snapshot."""
        new = {rank: runs[rank].new(bucket) for rank in self.order.ranks_of_round(self.round)}
        old = {rank: each.file(bucket, "hashes") for rank, each in runs.items() if rank not in new}
        read: dict[str, list[list[object]]] = {}
        for rank, each in runs.items():
            files = [new[rank].hashes, new[rank].positions, new[rank].counts] if rank in new else [old[rank]]
            read.setdefault(each.place.asset, []).append([rank, each.place.snapshot, *(file.digest for file in files)])
        order = digest_of(msgspec.to_builtins([families, sorted(new)]))
        inputs = (
            Input(RESOLUTION.at(dedupe=self.dedupe.name), "order", order),
            *(Input(asset, bucket_name(bucket), digest_of(files)) for asset, files in sorted(read.items())),
        )
        return VerdictsItem(bucket, inputs, new, old)


class SnapshotRuns:
    """The hash runs of one snapshot.

    Args:
        store: the lake.
        recipe: the dedupe recipe.
        source: name of the source.
        snapshot: key of the snapshot.

    Attributes:
        place: the partition.
        ledger: its ledger.
        rows: its parts by bucket.

    Raises:
        DataError: they are not there, of another recipe, or lack a bucket.
    """

    def __init__(self, store: Store, recipe: Dedupe, source: str, snapshot: str) -> None:
        self.place = place(HASH_RUNS.at(dedupe=recipe.name, source=source), snapshot)
        self.ledger: Ledger
        self.ledger, rows = read_ledger(store, self.place)
        names = [bucket_name(bucket) for bucket in range(recipe.buckets)]
        self.rows: list[Shard] = sorted(rows, key=lambda row: row.name)
        digest = recipe.fingerprint_recipe.digest
        if [row.name for row in self.rows] != names or any(row.recipe != digest for row in self.rows):
            raise DataError(f"{self.place.table}: not the {recipe.buckets} buckets of this recipe; make the runs again")

    def file(self, bucket: int, name: str) -> StoredFile:
        """A file of a bucket.

        Raises:
            DataError: it has not as many rows as the ledger counts.
        """
        row = self.rows[bucket]
        found = stored_file(row, self.place.table, name)
        counted = row.counts.get("repeats" if name == "repeats" else "distinct")
        types = _COLUMNS.get(name)
        if counted is not None and types and found.bytes != counted * row_bytes(types):
            raise DataError(
                f"{found.path}: {counted:,} rows in its ledger, but it has {found.bytes:,} bytes; make the runs again"
            )
        return found

    def new(self, bucket: int) -> NewRun:
        """The files of a bucket that are read when the snapshot is new."""
        return NewRun(self.file(bucket, "hashes"), self.file(bucket, "positions"), self.file(bucket, "counts"))


def stored_file(row: Shard, table: str, name: str) -> StoredFile:
    """A file of a part, by the part's row in a table.

    Raises:
        DataError: the part has no such file.
    """
    path, _ = file_of_part(row, table, name)
    record = BinaryPartRecord.decode_from_row(row, table)
    return StoredFile(path, record.contents[name], record.objects[path][1])


def _item_weight(body: VerdictsItem) -> int:
    new = (run.hashes.bytes + run.positions.bytes + run.counts.bytes for run in body.new.values())
    return sum(new) + sum(file.bytes for file in body.old.values())
