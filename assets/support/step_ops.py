"""A step of the mill as Dagster sees it: plan, grind, and a commit per asset.

assets/support/step_graphs.py makes them one graph.

Ops hand nothing to each other: what they need lies in the lake, beside the receipts, under the claim's token.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import dagster as dg

from assets.support.arrivals import is_vanished
from assets.support.keys import address_of, key_of, plain
from assets.support.lake_identity import check_lake
from assets.support.report import cache_facts, check_result, commit_of_code, failures, ledger_metadata, packages
from gristmill.execution.checks import Verdict
from gristmill.execution.commit import Folded
from gristmill.execution.runner import raise_failures
from gristmill.execution.step import Planned, Step, fold_one, grind, plan, publish_one, resume
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import TOKEN_CACHE, kind_of
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.conversion.step import ConversionStep
from resources.engine import EngineResource
from resources.lake import LakeResource

Check = Callable[[Store, str, Sequence[Shard]], Verdict]
"""Looks at an asset's shards of one snapshot before they are published."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """One asset of a step.

    Attributes:
        address: of the asset.
        description: for people.
        code_version: digest of the recipe.
        kinds: for the UI.
        owners: for the UI.
        group: for the UI.
        metadata: about the definition.
        checks: blocking checks by name: (description, function).
        automated: whether it is made by itself.
    """

    address: str
    description: str
    code_version: str
    group: str
    kinds: frozenset[str] = frozenset()
    owners: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, tuple[str, Check]] = field(default_factory=dict)
    automated: bool = True


MakeStep = Callable[[LakeResource, str, Sequence[str]], Step]
"""The step for a snapshot and the addresses that were asked for."""


@dataclass(frozen=True, kw_only=True)
class StepAssets:
    """The assets that one step makes: one graph, which can be asked for some of them.

    Attributes:
        name: of the graph.
        source: whose snapshots are the partitions.
        upstream: addresses of what it reads.
        outputs: what it makes.
        step: makes the step.
        pool: the concurrency pool of its grind.
    """

    name: str
    source: str
    upstream: Sequence[str]
    outputs: Sequence[Output]
    step: MakeStep
    pool: str

    @property
    def commits(self) -> dict[str, Output]:
        """What is made, by the name of the op that commits it."""
        if len(self.outputs) == 1:
            return {"commit": self.outputs[0]}
        return {f"commit_{plain(output.address.rpartition('/')[2])}": output for output in self.outputs}


def _claim(
    context: dg.OpExecutionContext, lake: LakeResource, step: MakeStep, wanted: Sequence[str], *, force: bool
) -> Planned:
    """Claims the partitions of these addresses, and says which of their shards are missing."""
    check_lake(context.instance, lake.store())
    token = f"{context.run_id}-{context.retry_number}-{time.time_ns():x}"  # no two attempts have the same
    made = step(lake, context.partition_key, wanted)
    if isinstance(made, ConversionStep):  # only the sensor can tell a vanished snapshot from a lost folder
        made.empty_ok = is_vanished(context.instance, made.source.name, context.partition_key)
    planned = plan(made, lake.lake(), token, force=force)
    for making in planned.makings:
        context.log.info(
            f"{making.place.asset}: {making.todo} shards to grind, {making.kept} kept, {len(making.gone)} gone"
        )
    return planned


def _outdated(context: dg.OpExecutionContext, before: str) -> bool:
    """Whether to plan anew instead of going on with what the op before has left.

    So it is where this op is tried again, and where a run re-executes another from the step that failed: what made
    it fail was mended, most often in the very inputs that the plan was made from.
    """
    steps = context.run.step_keys_to_execute
    return context.retry_number > 0 or (steps is not None and f"{context.op_handle.parent}.{before}" not in steps)


def _planned(context: dg.OpExecutionContext, lake: LakeResource, address: str) -> Planned:
    """The plan that this run has left."""
    return resume(lake.store(), place(address, context.partition_key), context.run_id)


class Ops:
    """The ops of all steps: what they work on is found by the assets that they are asked for."""

    def __init__(self, steps: Mapping[str, StepAssets]) -> None:
        self._steps = steps
        self.plan = cache(self._plan_op)
        self.grind = cache(self._grind_op)
        self.commit = cache(self._commit_op)

    def _chosen(self, context: dg.OpExecutionContext) -> tuple[StepAssets, list[str]]:
        """The step that an op belongs to, and which of its assets are asked for."""
        chosen = {address_of(key) for key in context.selected_asset_keys}
        step = self._steps[min(chosen)]
        return step, [output.address for output in step.outputs if output.address in chosen]

    def _plan_op(self, inputs: int) -> dg.OpDefinition:
        @dg.op(
            name=f"plan_from_{inputs}",
            ins={f"in_{number}": dg.In(dg.Nothing) for number in range(inputs)},
            out=dg.Out(dg.Nothing),
            description="Claims the partition, and finds out which shards are missing.",
        )
        def plan_partition(context: dg.OpExecutionContext, lake: LakeResource, engine: EngineResource) -> None:
            step, wanted = self._chosen(context)
            with failures(lake):
                _claim(context, lake, step.step, wanted, force=engine.force)

        return plan_partition

    def _grind_op(self, pool: str) -> dg.OpDefinition:
        @dg.op(
            name=f"grind_in_{pool}",
            ins={"plan": dg.In(dg.Nothing)},
            out=dg.Out(dg.Nothing),
            pool=pool,
            description="Grinds the missing shards on the engine; each leaves a receipt.",
        )
        def grind_partition(context: dg.OpExecutionContext, lake: LakeResource, engine: EngineResource) -> None:
            step, wanted = self._chosen(context)
            with failures(lake):
                if _outdated(context, "plan"):
                    planned = _claim(context, lake, step.step, wanted, force=engine.force)
                else:
                    planned = _planned(context, lake, wanted[0])
                tally = grind(planned, engine.engine(), context.log.info)
                again = [each for each in tally.failed if each.error == "StoreError"]
                if len(planned.makings) == 1 or again:
                    raise_failures(again or tally.failed, planned.items)
            for each in tally.failed:  # its own commit fails; the other sets are published
                context.log.error(each.message)
            context.add_output_metadata(
                {"cpu seconds": round(tally.cpu, 2), "wall seconds": round(tally.seconds, 2), **tally.facts}
            )

        return grind_partition

    def _commit_op(self, checks: tuple[str, ...]) -> dg.OpDefinition:
        """For outputs with these checks; its name in the graph says which output it is to commit."""

        @dg.op(
            name="__".join(["commit", *checks]),
            ins={"ground": dg.In(dg.Nothing)},
            # Not required: automation asks for assets of a subset without their checks.
            out={"result": dg.Out(dg.Nothing), **{check: dg.Out(is_required=False) for check in checks}},
            description="Folds the receipts into the ledger, checks it, and publishes it.",
        )
        def commit_partition(
            context: dg.OpExecutionContext, lake: LakeResource, engine: EngineResource
        ) -> Iterator[Any]:
            step, _ = self._chosen(context)
            output = step.commits[context.op_handle.name]
            snapshot = context.partition_key
            key = key_of(output.address)
            store = lake.store()
            with failures(lake, f"{output.address} ({snapshot})"):
                if _outdated(context, "grind"):
                    planned = _claim(context, lake, step.step, [output.address], force=False)
                    grind(planned, engine.engine(), context.log.info)
                else:
                    planned = _planned(context, lake, output.address)
                folded = fold_one(planned, output.address, _about(context))
                verdicts = [check(store, snapshot, folded.shards) for _, check in output.checks.values()]
            for verdict in verdicts:
                yield check_result(verdict, key)
            _stop_at_failures(verdicts, output.address)
            with failures(lake):
                ledger = publish_one(planned, output.address, folded)
            yield _published(_metadata(store, folded, planned, output.address), ledger.fingerprint)

        return commit_partition


def _published(metadata: dict[str, Any], fingerprint: str) -> dg.Output[None]:
    with warnings.catch_warnings():  # Dagster is pinned, and this is how a graph-backed asset has a data version
        warnings.filterwarnings("ignore", message="Parameter `data_version`", category=dg.BetaWarning)
        return dg.Output(None, "result", metadata=metadata, data_version=dg.DataVersion(fingerprint))


def _metadata(store: Store, folded: Folded, planned: Planned, address: str) -> dict[str, Any]:
    found = ledger_metadata(store, folded.ledger, folded.shards, planned.making(address), {})
    return found | cache_facts(folded.shards) if kind_of(address) is TOKEN_CACHE else found


def _stop_at_failures(verdicts: Sequence[Verdict], address: str) -> None:
    """Nothing wrong counts as materialized: the old ledger, if any, stays the truth."""
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if failed:
        said = "; ".join(f"{verdict.name}: {verdict.description}" for verdict in failed)
        raise dg.Failure(description=f"{address}: not published: {said}", allow_retries=False)


def _about(context: dg.OpExecutionContext) -> dict[str, Any]:
    return {
        "run": context.run_id,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": commit_of_code(),
        "packages": packages(),
    }
