"""A step: the partitions that one grind makes. It is planned, ground and committed, with or without Dagster.

planned = plan(step, lake, token)                      claims the partitions and finds the missing shards
tally = grind(planned, engine, say)                    grinds the missing shards; each leaves a receipt
assembled = assemble_one(step, planned, asset, {})     the whole partition, with the verdicts of its checks
publish_one(planned, asset, assembled)                 writes the ledger, unless a check failed
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from gristmill.errors import DataError, StoreError
from gristmill.execution.checks import Check
from gristmill.execution.claim import Claimant, claim_token, raise_error_or_superseded, superseded_error
from gristmill.execution.commit import (
    Assembled,
    PartitionPlan,
    assemble_partition,
    claim_each_partition,
    publish_partition,
)
from gristmill.execution.in_flight import items_to_grind
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.runner import GrindResult, grind_all_items, lost_shard_failures, raise_grind_failures
from gristmill.execution.work import Engine, Failed, Item, Job, Say
from gristmill.installation import code_version, maker_versions
from gristmill.lake.address import Place, place_of_ledger
from gristmill.lake.ledger.files import as_json, unpack_rows
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.rows.shard_file import gzip_bytes, unpack_pieces
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store

PLAN_VERSION = 5
"""Version of the plans, jobs and items that are stored between plan and commit.

A step whose stored plan has another version is planned again.
"""


class StepPlan(Protocol):
    """What a step must do in a lake. Immutable; its methods may be called in any order, or not at all."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """The partitions as they should be."""

    def spec(self, token: str) -> Any:
        """A struct with what all shards share, for a run whose claim has this token."""

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:
        """The items of work.

        Args:
            todo: the missing shards of each asset.
            states: the recorded state of each asset.
        """


class Step(Protocol):
    """What every stage must implement: one step of the pipeline. Immutable; made from recipes and a snapshot."""

    @property
    def stage(self) -> str:
        """The name of the package below gristmill.stages whose module `grinder` grinds the items."""

    @property
    def shelves(self) -> tuple[str, ...]:
        """The packages whose shelves hold the recipes."""

    @property
    def snapshot(self) -> str:
        """The snapshot of all its partitions."""

    @property
    def makes(self) -> tuple[str, ...]:
        """The addresses of the assets that it makes."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The addresses of the assets that it reads."""

    def code_version(self, asset: str) -> str:
        """A digest of the recipe of an asset. When it changes, the asset must be made again."""

    def checks(self, asset: str) -> Mapping[str, Check]:
        """The blocking checks of an asset, by name. They are the same for every snapshot.

        A partition is published only if all of them pass.
        """

    def plan(self, store: Store) -> StepPlan:
        """Reads what the step depends on. Claims nothing and changes nothing.

        Returns:
            The plan: targets and what their shards are made from.

        Raises:
            RecipeError: a declaration is wrong.
            DataError: an input is missing or not valid.
        """


class StoredPlan(msgspec.Struct, frozen=True):
    """A planned step: small JSON that any process can resume. The items are stored beside the receipts.

    Attributes:
        partitions: the plan of each partition.
        job: job of all items.
        items: number of items.
        weight: sum of their weights, in bytes.
        version: PLAN_VERSION of the process that planned.
        refused: failures of partitions that were not planned, such as a recipe that changed under its name.
    """

    partitions: tuple[PartitionPlan, ...]
    job: Job
    items: int
    weight: int
    version: int = PLAN_VERSION
    refused: tuple[Failed, ...] = ()

    def partition(self, asset: str) -> PartitionPlan:
        """The partition of one asset. Raises why it was refused, if it was."""
        refused = [failure for failure in self.refused if failure.asset == asset]
        if refused:
            raise_grind_failures(refused, 1)
        return next(partition for partition in self.partitions if partition.place.asset == asset)


class _Versioned(msgspec.Struct):
    """The part of a stored plan that every version can read."""

    version: int = 0


def plan(step: Step, lake: Lake, token: str, *, force: bool = False, by: Claimant | None = None) -> StoredPlan:
    """Claims the step's partitions and finds the missing shards.

    Args:
        step: the step.
        lake: the lake.
        token: names this run; no two runs use the same token.
        force: grind every shard again.
        by: the process of a run that asks before it takes a claim.

    Returns:
        The planned step, which is also stored in the lake for resume().

    Raises:
        AtWork: another process is making one of the partitions. Superseded: another run took its claims meanwhile.
        RecipeError: each partition was made by another recipe of the same name.
        DataError: an input is missing or not valid.
    """
    store, claimed = lake.store(), list[Place]()
    try:
        step_plan = step.plan(store)
        partitions, todo, states, refused = claim_each_partition(
            store, step_plan.targets, token, claimed, force=force, by=by
        )
        spec = msgspec.Raw(msgspec.json.encode(step_plan.spec(token)))
        items = step_plan.items(todo, states) if any(todo.values()) else []
        job = Job(stage=step.stage, lake=lake, shelves=step.shelves, spec=spec)
        weight = sum(item.weight for item in items)
        planned = StoredPlan(tuple(partitions), job, len(items), weight, refused=tuple(refused))
        if items:
            lines = b"\n".join(msgspec.json.encode(item) for item in items)
            store.put(_run_file_path(partitions[0], "items.gz"), gzip_bytes(lines))
        for partition in partitions:  # so that another process can resume any of them
            store.put(_plan_folder(partition.place, token), msgspec.json.encode(planned))
    except StoreError as error:
        raise_error_or_superseded(store, claimed, token, error)
    return planned


def resume(
    lake: Lake, shelves: tuple[str, ...], place: Place, run: str, others: Sequence[Place] = ()
) -> StoredPlan | None:
    """Reads the planned step that holds a claim, for a process that did not plan it.

    The stored plan may have been changed by whoever may write to the lake. So it names neither the lake nor the
    packages whose code runs: both are those of this process.

    Args:
        lake: the lake.
        shelves: the packages whose shelves hold the recipes.
        place: a partition of the step.
        run: the beginning of the plan's token: the name of the run.
        others: further partitions of the step: the plan is beside them if the first was refused.

    Returns:
        The plan; None if another version of gristmill stored it, so that the step must be planned again.

    Raises:
        Superseded: a newer run has claimed the partition.
        DataError: the plan is not about this partition.
    """
    store = lake.store()
    for where in (place, *others):
        token = claim_token(store, where) or ""
        stored = store.read_tagged(_plan_folder(where, token)) if token.startswith(run) else None
        if stored is not None:
            break
    else:
        raise superseded_error(place)
    if msgspec.json.decode(stored[0], type=_Versioned).version != PLAN_VERSION:
        return None
    planned = msgspec.json.decode(stored[0], type=StoredPlan)
    _check_partitions(planned, where, token)
    return msgspec.structs.replace(planned, job=msgspec.structs.replace(planned.job, lake=lake, shelves=shelves))


def _check_partitions(planned: StoredPlan, place: Place, token: str) -> None:
    """Checks that a stored plan is about this partition: a run writes and deletes only where its plan says."""
    places = [partition.place for partition in planned.partitions]
    alike = all(place_of_ledger(p.ledger) == p and (p.kind, p.snapshot) == (place.kind, place.snapshot) for p in places)
    if place not in places or not alike or any(partition.token != token for partition in planned.partitions):
        raise DataError(f"{_plan_folder(place, token)}: the plan of another step; run {place.asset} again")


def _plan_folder(place: Place, token: str) -> str:
    return f"{place.receipts_folder}.planned-{token}.json"


def _run_file_path(partition: PartitionPlan, name: str) -> str:
    """The path of a file of this run, such as `items.gz`, beside the receipts."""
    kind, _, ending = name.partition(".")
    return f"{partition.place.receipts_folder}.{kind}-{partition.token}.{ending}"


def grind(planned: StoredPlan, engine: Engine, say: Say) -> GrindResult:
    """Grinds the missing shards.

    Args:
        planned: the planned step.
        engine: engine that grinds the items.
        say: function that takes lines of progress.

    Returns:
        The result. Failures are part of it and are not raised; each shard that was made has its receipt.

    Raises:
        Superseded: a newer run has claimed a partition.
    """
    if not planned.items:
        return grind_all_items(engine, planned.job, [], say)
    store = planned.job.lake.store()
    places = [partition.place for partition in planned.partitions]
    try:
        path = _run_file_path(planned.partitions[0], "items.gz")
        lines = unpack_rows(b"".join(unpack_pieces([store.read(path)], path)))
        items = [msgspec.json.decode(line, type=Item) for line in lines]
        items = items_to_grind(store, places, planned.partitions[0].token, items)
        tally = grind_all_items(engine, planned.job, items, say)
        for partition in planned.partitions if tally.failed else ():
            tally.failed = lost_shard_failures(store, partition.place, partition.token, tally.failed)
        lost = any(failure.error == "Superseded" for failure in tally.failed)
        for partition in planned.partitions:
            asset = partition.place.asset
            if lost and claim_token(store, partition.place) != partition.token:
                continue  # another run has removed or replaced the files of this one
            made = tally.ground.get(asset)
            effort = tally.effort(asset, items, len(planned.partitions))
            store.put(_run_file_path(partition, "spent.json"), msgspec.json.encode(effort))
            if made:
                found = gzip_bytes(b"\n".join(as_json(receipt) for receipt in made.values()))
                store.put(_run_file_path(partition, "ground.gz"), found)
            failed = [failure for failure in tally.failed if failure.asset in {"", asset}]
            if failed:
                store.put(_run_file_path(partition, "failed.json"), msgspec.json.encode(failed))
            else:
                store.delete([_run_file_path(partition, "failed.json")])
    except StoreError as error:
        raise_error_or_superseded(store, places, planned.partitions[0].token, error)
    return tally


def assemble_one(
    step: Step, planned: StoredPlan, asset: str, about: Mapping[str, Any], more: Mapping[str, Check] | None = None
) -> Assembled:
    """Assembles the partition of one asset, and runs its checks. Publishes nothing.

    Args:
        step: the step that was planned; it names the checks.
        planned: its plan.
        asset: one of the assets that it makes.
        about: facts about the run, for its note besides version and packages.
        more: further checks, by name: those that need more than the step knows (gristmill/pipeline/volume.py).

    Returns:
        The assembled partition, with the verdicts of its checks.

    Raises:
        GristmillError: a shard could not be ground; the class is that of the failure.
    """
    store, partition = planned.job.lake.store(), planned.partition(asset)
    about = {"commit": code_version(), "packages": maker_versions(), **about}
    made: dict[str, Receipt] = {}
    try:
        if partition.todo:
            failed = store.read_tagged(_run_file_path(partition, "failed.json"))
            if failed:
                raise_grind_failures(msgspec.json.decode(failed[0], type=list[Failed]), partition.todo)
            path = _run_file_path(partition, "ground.gz")
            stored = store.read_tagged(path)
            for line in unpack_rows(b"".join(unpack_pieces([stored[0]], path))) if stored else ():
                receipt = msgspec.json.decode(line, type=Receipt)
                made[receipt.row.name] = receipt
            effort = store.read_tagged(_run_file_path(partition, "spent.json"))
            if effort:
                about = {**about, "grind": msgspec.json.decode(effort[0])}
        return assemble_partition(store, partition, step.checks, about, made, more)
    except StoreError as error:
        raise_error_or_superseded(store, [partition.place], partition.token, error)


def publish_one(planned: StoredPlan, asset: str, assembled: Assembled) -> Ledger:
    """Publishes the partition of one asset.

    Returns:
        The published ledger.

    Raises:
        DataError: a blocking check did not pass. The old ledger, if any, stays.
        Superseded: a newer run has claimed the partition.
        Conflict: another run published first.
    """
    store, partition = planned.job.lake.store(), planned.partition(asset)
    try:
        return publish_partition(store, partition, assembled)
    except StoreError as error:
        raise_error_or_superseded(store, [partition.place], partition.token, error)


def make(
    step: Step, lake: Lake, engine: Engine, token: str, say: Say, *, force: bool = False, by: Claimant | None = None
) -> dict[str, Ledger]:
    """Plans, grinds and commits a whole step in plain Python, without an orchestrator.

    Args:
        step: the step.
        lake: the lake.
        engine: engine that grinds the items.
        token: names this run; no two runs use the same token.
        say: function that takes lines of progress.
        force: grind every shard again.
        by: the process of a run that asks before it takes a claim.

    Returns:
        The published ledger of each asset.

    Raises:
        AtWork: another process is making one of the partitions. Superseded: another run has taken one over.
        GristmillError: a shard or a check failed. The next run keeps the shards that were made.
    """
    planned = plan(step, lake, token, force=force, by=by)
    tally = grind(planned, engine, say)
    raise_grind_failures([*planned.refused, *tally.failed], planned.items)
    return {
        asset: publish_one(planned, asset, assemble_one(step, planned, asset, {}))
        for asset in (partition.place.asset for partition in planned.partitions)
    }
