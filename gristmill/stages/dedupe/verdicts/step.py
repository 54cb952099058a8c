"""The step that compares the snapshots of one round with all earlier ones: one part for each bucket.

A round is never compared again when later rounds come: its parts depend on the runs up to that round alone, and of the
earlier rounds on their hashes alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.checks import Check
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import HASH_RUNS, RESOLUTION, VERDICTS
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Ledger, Recipe, Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import FINGERPRINTING, MIB, Dedupe
from gristmill.stages.dedupe.columns import HASHES, POSITIONS, REPEATS, row_bytes
from gristmill.stages.dedupe.runs.grinder import bucket_name
from gristmill.stages.dedupe.verdicts.grinder import NewRun, StoredFile, VerdictsItem, VerdictsSpec
from gristmill.stages.fingerprints.binary_part import file_of_part, part_record
from gristmill.stages.fingerprints.compared import Family, families_of
from gristmill.stages.fingerprints.order import Order, round_key
from gristmill.stages.fingerprints.repeated_unit import LARGEST

_COLUMNS = {"hashes": HASHES, "positions": POSITIONS, "repeats": REPEATS}
"""The columns of the files of a run whose rows its ledger counts."""


@dataclass(frozen=True)
class VerdictsStep:
    """The verdicts of one round.

    Attributes:
        recipe: the dedupe recipe.
        order: the order of the snapshots; what comes after the round changes nothing.
        round: its number, from 1.
        shelves: the packages that hold the recipes.
    """

    recipe: Dedupe
    order: Order
    round: int
    shelves: tuple[str, ...]
    stage: str = "dedupe.verdicts"

    @property
    def snapshot(self) -> str:
        """See Step: the partition key of the round."""
        return round_key(self.round)

    @property
    def place(self) -> Place:
        """The partition that is made."""
        return place(VERDICTS.at(dedupe=self.recipe.name), self.snapshot)

    @property
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return (self.place.asset,)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step."""
        sources = dict.fromkeys(entry.source for entry in self.order.entries if entry.round <= self.round)
        return tuple(HASH_RUNS.at(dedupe=self.recipe.name, source=source) for source in sources)

    @property
    def made_by(self) -> Recipe:
        """The recipe of the verdicts, for ledgers."""
        parameters = {**self.recipe.fingerprint_parameters, "scope": self.recipe.scope, "largest": LARGEST}
        return Recipe(self.recipe.name, FINGERPRINTING, parameters, self.recipe.draft)

    def code_version(self, asset: str) -> str:  # noqa: ARG002 - makes one asset
        """See Step."""
        return self.made_by.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - what is read is checked as it is read
        """See Step."""
        return {}

    def plan(self, store: Store) -> "VerdictsPlan":
        """See Step.

        Raises:
            RecipeError: the order has no such round.
        """
        if not self.order.of_round(self.round):
            raise RecipeError(f"dedupe {self.recipe.name!r}: its order has no round {self.round}")
        runs = {
            rank: SnapshotRuns(store, self.recipe, entry.source, entry.snapshot)
            for rank, entry in enumerate(self.order.entries)
            if entry.round <= self.round
        }
        empty = {rank for rank, each in runs.items() if not each.ledger.totals["rows"]}
        families = families_of(self.order, self.round, self.recipe.scope, empty)
        items = [self._item(runs, bucket, families) for bucket in range(self.recipe.buckets)]
        wants = tuple(Want(bucket_name(item.bucket), item.inputs) for item in items)
        upstream = tuple(each.ledger.upstream for each in runs.values())
        return VerdictsPlan(self, Target(self.place, self.made_by, upstream, wants), families, tuple(items))

    def _item(self, runs: Mapping[int, "SnapshotRuns"], bucket: int, families: Sequence[Family]) -> VerdictsItem:
        """The work of a bucket. A hash file stands for all else of an earlier snapshot."""
        new = {rank: runs[rank].new(bucket) for rank in self.order.of_round(self.round)}
        old = {rank: each.file(bucket, "hashes") for rank, each in runs.items() if rank not in new}
        read: dict[str, list[list[object]]] = {}
        for rank, each in runs.items():
            files = [new[rank].hashes, new[rank].positions, new[rank].counts] if rank in new else [old[rank]]
            read.setdefault(each.place.asset, []).append([rank, each.place.snapshot, *(file.digest for file in files)])
        order = digest_of(msgspec.to_builtins([families, sorted(new)]))
        inputs = (
            Input(RESOLUTION.at(dedupe=self.recipe.name), "order", order),
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
    record = part_record(row, table)
    return StoredFile(path, record.contents[name], record.objects[path][1])


@dataclass(frozen=True)
class VerdictsPlan:
    """The plan of one round.

    Attributes:
        step: the step that was planned.
        target: the partition as it should be.
        families: which snapshots are compared.
        bodies: the work of each bucket.
    """

    step: VerdictsStep
    target: Target
    families: tuple[Family, ...]
    bodies: tuple[VerdictsItem, ...]

    @property
    def targets(self) -> tuple[Target, ...]:
        """See StepPlan."""
        return (self.target,)

    def spec(self, token: str) -> VerdictsSpec:
        """See StepPlan."""
        recipe = self.step.recipe
        return VerdictsSpec(
            place=self.target.place,
            token=token,
            recipe=self.target.recipe.digest,
            buckets=recipe.buckets,
            memory=recipe.memory * MIB,
            families=self.families,
        )

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:  # noqa: ARG002
        """See StepPlan."""
        bodies = (self.bodies[int(want.name)] for want in todo[self.target.place.asset])
        return [Item(bucket_name(body.bucket), _weight(body), raw(body)) for body in bodies]


def _weight(body: VerdictsItem) -> int:
    new = (run.hashes.bytes + run.positions.bytes + run.counts.bytes for run in body.new.values())
    return sum(new) + sum(file.bytes for file in body.old.values())
