"""The ops of a step: plan, grind, and one commit for each asset. assets/support/step_graphs.py connects them.

Ops pass no values to each other. They store plans and items in the lake, beside the receipts, by the claim's token.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import dagster as dg

from assets.support.facts.partition_facts import partition_facts
from assets.support.facts.tables import warnings_metadata
from assets.support.keys import address_of, key_of, plain_name, snapshots_of
from assets.support.lake_identity import check_lake
from assets.support.last_reading import keep_shown, readings_of
from assets.support.report import check_result, convert_errors, record_check
from assets.support.runs.tags import tag_run
from gristmill.errors import RecipeError, Superseded
from gristmill.execution.added_checks import AddedCheck, added_checks
from gristmill.execution.checks import Check, warning_sentences
from gristmill.execution.claim import Claimant
from gristmill.execution.runner import raise_grind_failures
from gristmill.execution.step import Step, StoredPlan, assemble_one, grind, plan, publish_one, resume
from gristmill.execution.survey import check_accepted
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import kind_of
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.volume import VOLUME, Volume, volume_check_of_address
from gristmill.recipes.catalogue import Catalogue
from gristmill.reports.sizes import number_and_noun
from resources.engine import RunEngine
from resources.lake import LakeResource

CLAIMS = {
    "ids_unique": "each id occurs once in the snapshot",
    "parts_meet": "each part of a raw object begins where the one before it has ended: no record is lost or repeated",
    "checksums_match": "each raw object is there and has the hash that the checksum file beside it names",
    "ids_stable": "each document is in the version before, with the same id, in the same shard",
    "metadata_kept": "each document has the metadata that it has in the version before",
    "rows_proven": "each row is a JSON object, and the counters of its shard follow from the rows",
    "row_alignment": "the same shards, rows and ids in the same order as the documents",
    "blocklist_respected": "no document that a blocklist of the stream names is in the slice",
    "export_complete": "each document of the slice is in exactly one file of its part, or was refused and counted",
    "cache_complete": "each document of the slice is a row of exactly one part, and all objects of all parts exist",
}
"""What each blocking check claims, for people."""

VOLUME_CLAIM = "size, dropped share and scores as before"
"""What the check of all partitions claims. It blocks if the recipe has bounds; else it warns."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """One asset of a step.

    Attributes:
        address: address of the asset.
        step: a step that makes it, without a snapshot: for everything that is the same in all snapshots.
        description: description for people.
        kinds: Dagster's kinds, shown in the UI.
        owners: owners, shown in the UI.
        metadata: metadata of the definition.
        automated: whether the automation sensors request it.
    """

    address: str
    step: Step
    description: str
    kinds: frozenset[str] = frozenset()
    owners: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    automated: bool = True

    @property
    def reads(self) -> tuple[str, ...]:
        """The assets that it depends on in Dagster's graph.

        A resolution is none of them: each of its runs would make all snapshots out of date, though few of them change.
        """
        return tuple(address for address in self.step.reads if not ((kind := kind_of(address)) and kind.ordered))

    @property
    def code_version(self) -> str:
        """The code version: Dagster compares it to see whether the recipe changed."""
        return self.step.code_version(self.address)[:16]

    @property
    def checks(self) -> dict[str, str]:
        """The checks, by name, and what they claim: its own, and those that packages add."""
        claims = {name: CLAIMS[name] for name in self.step.checks(self.address)}
        return claims | {name: check.claim for name, check in self._added.items()}

    @property
    def warnings(self) -> frozenset[str]:
        """The names of the checks that only warn."""
        return frozenset(name for name, check in self._added.items() if not check.blocking)

    @property
    def _added(self) -> Mapping[str, AddedCheck]:
        """The checks that packages add. The commit tells it if one cannot be loaded."""
        try:
            return added_checks(self.address)
        except RecipeError:
            return {}


@dataclass(frozen=True)
class Asked:
    """The request of a run for a step.

    Attributes:
        instance: Dagster's instance.
        lake: the lake.
        snapshot: key of the snapshot.
        addresses: the requested assets.
    """

    instance: dg.DagsterInstance
    lake: LakeResource
    snapshot: str
    addresses: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class StepAssets:
    """The assets that one step makes. They are one graph, and a run may request some of them.

    Attributes:
        name: name of the graph.
        source: the source whose snapshots are the partitions.
        outputs: the assets.
        step: function that returns the step for the request of a run.
        pool: the concurrency pool of its grind.
    """

    name: str
    source: str
    outputs: Sequence[Output]
    step: Callable[[Asked], Step]
    pool: str

    @property
    def upstream(self) -> tuple[str, ...]:
        """The addresses of the assets that it reads."""
        return tuple(dict.fromkeys(address for output in self.outputs for address in output.reads))

    def split_by_inputs(self) -> list["StepAssets"]:
        """The same assets as steps of which each makes those that read the same."""
        together: dict[tuple[str, ...], list[Output]] = {}
        for output in self.outputs:
            together.setdefault(output.reads, []).append(output)
        return [replace(self, name=plain_name(each[0].address), outputs=each) for each in together.values()]

    @property
    def commits(self) -> dict[str, Output]:
        """The outputs, by the name of the op that commits each of them."""
        if len(self.outputs) == 1:
            return {"commit": self.outputs[0]}
        return {f"commit_{plain_name(output.address.rpartition('/')[2])}": output for output in self.outputs}


_IN_PROCESS = frozenset({dg.in_process_executor.name, "execute_in_process_executor"})
"""The names of the executors that run all steps in the process of the run; the second is that of execute_in_process."""


def _claim(
    context: dg.OpExecutionContext, lake: LakeResource, assets: StepAssets, addresses: Sequence[str], *, force: bool
) -> StoredPlan:
    """Claims the partitions of these addresses, and plans them."""
    if not context.has_partition_key:  # Dagster launches a job with partitions also without one
        raise RecipeError(
            "the run names no snapshot; launch it with one: in the dialog of Materialize, by `--partition SNAPSHOT`, or"
            " by the tag dagster/partition"
        )
    check_lake(context.instance, lake.store())
    token = f"{context.run_id}-{context.retry_number}-{time.time_ns():x}"  # no two attempts have the same token
    step = assets.step(Asked(context.instance, lake, context.partition_key, addresses))
    by = Claimant.of_dagster(in_process=context.job_def.executor_def.name in _IN_PROCESS)
    planned = plan(step, lake.lake(), token, force=force, by=by)
    for partition in planned.partitions:
        counts = (
            f"{number_and_noun(partition.todo, 'shard')} to grind, {partition.kept} kept, {len(partition.gone)} gone"
        )
        context.log.info(f"{partition.place.asset}: {counts}")
    for refused in planned.refused:  # the commit of this set fails; the other sets are published
        context.log.error(refused.message)
    return planned


def _left_by(
    before: str, context: dg.OpExecutionContext, lake: LakeResource, addresses: Sequence[str]
) -> StoredPlan | None:
    """The plan that the previous op of this run has stored; None if the step must be planned again.

    It is planned again if this op is tried again, and if a run re-executes another from its failed op: the cause was
    probably mended in the inputs of the plan. It is also planned again after an upgrade.
    """
    steps = context.run.step_keys_to_execute
    if context.retry_number > 0 or (steps is not None and f"{context.op_handle.parent}.{before}" not in steps):
        return None
    first, *others = (place(address, context.partition_key) for address in addresses)
    planned = resume(lake.lake(), lake.packages, first, context.run_id, others)
    if planned is None:
        context.log.info(f"{first.asset}: another version of gristmill planned this run; it is planned again")
    return planned


class Ops:
    """The ops of all steps. An op finds its step by the assets that the run requests."""

    def __init__(self, steps: Mapping[str, StepAssets], catalogue: Catalogue) -> None:
        self._steps, self._catalogue = steps, catalogue
        self._sources = {address: step.source for address, step in steps.items()}
        self.plan = cache(self._plan_op)
        self.grind = cache(self._grind_op)
        self.commit = cache(self._commit_op)

    def _chosen(self, context: dg.OpExecutionContext) -> tuple[StepAssets, list[str]]:
        """The step that an op belongs to, and its requested assets."""
        chosen = {address_of(key) for key in context.selected_asset_keys}
        step = self._steps[min(chosen)]
        return step, [output.address for output in step.outputs if output.address in chosen]

    def _volume(self, context: dg.OpExecutionContext, assets: StepAssets, address: str) -> Volume:
        """The check that compares a partition with those of earlier snapshots that Dagster knows."""
        known = context.instance.get_dynamic_partitions(snapshots_of(assets.source).name or "")
        return volume_check_of_address(self._catalogue, address, known, describes=True)

    def _plan_op(self, inputs: int) -> dg.OpDefinition:
        @dg.op(
            name=f"plan_from_{inputs}",
            ins={f"in_{number}": dg.In(dg.Nothing) for number in range(inputs)},
            out=dg.Out(dg.Nothing),
            description="Claims the partition, and finds the missing shards.",
        )
        def plan_partition(
            context: dg.OpExecutionContext, lake: LakeResource, engine: dg.ResourceParam[RunEngine]
        ) -> None:
            assets, addresses = self._chosen(context)
            tag_run(context, self._sources)
            with convert_errors(lake):
                _claim(context, lake, assets, addresses, force=engine.force)

        return plan_partition

    def _grind_op(self, pool: str) -> dg.OpDefinition:
        @dg.op(
            name=f"grind_in_{pool}",
            ins={"plan": dg.In(dg.Nothing)},
            out=dg.Out(dg.Nothing),
            pool=pool,
            description="Grinds the missing shards on the engine; each leaves a receipt.",
        )
        def grind_partition(
            context: dg.OpExecutionContext, lake: LakeResource, engine: dg.ResourceParam[RunEngine]
        ) -> None:
            assets, addresses = self._chosen(context)
            with convert_errors(lake):
                planned = _left_by("plan", context, lake, addresses)
                planned = planned or _claim(context, lake, assets, addresses, force=engine.force)
                tally = grind(planned, engine.engine(), context.log.info)
                again = [failure for failure in tally.failed if failure.error == "StoreError"]
                if len(addresses) == 1 or again:
                    raise_grind_failures(again or tally.failed, planned.items)
            for failure in tally.failed:  # the commit of this set fails; the other sets are published
                context.log.error(failure.message)
            for warning in tally.warnings:
                context.log.warning(warning)
            seconds = {"cpu seconds": round(tally.cpu, 2), "wall seconds": round(tally.seconds, 2)}
            context.add_output_metadata({**seconds, **tally.facts, **warnings_metadata(tally.warnings)})

        return grind_partition

    def _commit_op(self, checks: tuple[str, ...]) -> dg.OpDefinition:
        """The op that commits an output with these checks. Its alias in the graph names the output."""

        @dg.op(
            name="__".join(["commit", *checks]),
            ins={"ground": dg.In(dg.Nothing)},
            # Not required: automation requests a subset of assets without their checks.
            out={"result": dg.Out(dg.Nothing), **{check: dg.Out(is_required=False) for check in (*checks, VOLUME)}},
            description="Assembles the ledger from the receipts, checks it, and publishes it.",
        )
        def commit_partition(
            context: dg.OpExecutionContext, lake: LakeResource, engine: dg.ResourceParam[RunEngine]
        ) -> Iterator[Any]:
            assets, _ = self._chosen(context)
            output = assets.commits[context.op_handle.name]
            with convert_errors(lake, f"{output.address} ({context.partition_key})"):
                try:
                    planned = _left_by("grind", context, lake, [output.address])
                except Superseded:  # a set that plan has refused has no claim of this run either
                    asked = Asked(context.instance, lake, context.partition_key, [output.address])
                    check_accepted(assets.step(asked), lake.store())
                    raise
                if planned is None:
                    planned = _claim(context, lake, assets, [output.address], force=False)
                    grind(planned, engine.engine(), context.log.info)
                volume = self._volume(context, assets, output.address)
                added = added_checks(output.address, output.step.checks(output.address))
                more: dict[str, Check] = {VOLUME: volume, **added}
                assembled = assemble_one(output.step, planned, output.address, _about(context), more)
            for warning in warning_sentences(assembled.verdicts):
                context.log.warning(f"{output.address}: {warning}")
            for verdict in assembled.verdicts:
                blocking = verdict.name not in output.warnings and (verdict.name != VOLUME or volume.is_blocking)
                yield from record_check(context, check_result(verdict, key_of(output.address)), blocking=blocking)
            with convert_errors(lake):
                ledger = publish_one(planned, output.address, assembled)
            partition = planned.partition(output.address)
            counts = {
                "shards ground": partition.todo,
                "shards kept": partition.kept,
                "shards gone": len(partition.gone),
            }
            written, shards = assembled.ledger, assembled.shards
            metadata = partition_facts(lake.store(), output.step, partition.place, written, shards, counts)
            yield _published(metadata, ledger.fingerprint)
            # Dagster has recorded the output now.
            keep_shown(context.instance, readings_of(output.address, checks), context.log.warning)

        return commit_partition


def _published(metadata: dict[str, Any], fingerprint: str) -> dg.Output[None]:
    with warnings.catch_warnings():  # beta in the pinned Dagster; a graph-backed asset needs it for its data version
        warnings.filterwarnings("ignore", message="Parameter `data_version`", category=dg.BetaWarning)
        return dg.Output(None, "result", metadata=metadata, data_version=dg.DataVersion(fingerprint))


def _about(context: dg.OpExecutionContext) -> dict[str, Any]:
    return {"run": context.run_id, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def was_run(store: Store, place: Place, head: Ledger, check: str) -> bool:
    """Whether a check had run when a ledger was published: the recipe may ask for it since then only.

    `checksums` is such an option, and so is `same_metadata` of adopted versions. A package may be installed since.
    """
    if "adopted" in head.recipe.parameters and check in {"ids_stable", "metadata_kept"}:
        return "before" in head.recipe.parameters
    if check in CLAIMS and check != "checksums_match":
        return True
    note = read_run_note(store, place)
    return check in note.checks or (check == "checksums_match" and bool(note.checked))
