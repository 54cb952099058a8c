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

from assets.support.keys import address_of, key_of, plain
from assets.support.lake_identity import check_lake
from assets.support.report import cache_facts, check_result, commit_of_code, failures, ledger_metadata, packages
from gristmill.execution.commit import Assembled
from gristmill.execution.runner import raise_failures
from gristmill.execution.step import Planned, Step, assemble_one, grind, plan, publish_one, resume
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import TOKEN_CACHE, kind_of
from gristmill.lake.store.protocol import Store
from resources.engine import EngineResource
from resources.lake import LakeResource

CLAIMS = {
    "ids_unique": "every id stands once in the snapshot",
    "ids_stable": "every document stands in the version before, under the same id, in the same shard",
    "row_alignment": "the same shards, rows and ids in the same order as the documents",
    "blocklist_respected": "nothing that a blocklist of the stream names stands in the slice",
    "cache_complete": "every document of the slice is a row of exactly one part, and every object of every part is"
    " there",
}
"""What each blocking check claims, for people."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """One asset of a step.

    Attributes:
        address: of the asset.
        step: a step that makes it, of no snapshot: what is said of the asset in every snapshot.
        description: for people.
        kinds: for the UI.
        owners: for the UI.
        group: for the UI.
        metadata: about the definition.
        automated: whether it is made by itself.
    """

    address: str
    step: Step
    description: str
    group: str
    kinds: frozenset[str] = frozenset()
    owners: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    automated: bool = True

    @property
    def code_version(self) -> str:
        """What Dagster compares to see whether the recipe changed."""
        return self.step.code_version(self.address)[:16]

    @property
    def checks(self) -> dict[str, str]:
        """The blocking checks, by name, and what they claim."""
        return {name: CLAIMS[name] for name in self.step.checks(self.address)}


@dataclass(frozen=True)
class Asked:
    """What a run asks of a step.

    Attributes:
        instance: Dagster's.
        lake: the lake.
        snapshot: the partition.
        addresses: the assets that were asked for.
    """

    instance: dg.DagsterInstance
    lake: LakeResource
    snapshot: str
    addresses: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class StepAssets:
    """The assets that one step makes: one graph, which can be asked for some of them.

    Attributes:
        name: of the graph.
        source: whose snapshots are the partitions.
        outputs: what it makes.
        step: the step that a run asks for.
        pool: the concurrency pool of its grind.
    """

    name: str
    source: str
    outputs: Sequence[Output]
    step: Callable[[Asked], Step]
    pool: str

    @property
    def upstream(self) -> tuple[str, ...]:
        """Addresses of what it reads."""
        return self.outputs[0].step.reads

    @property
    def commits(self) -> dict[str, Output]:
        """What is made, by the name of the op that commits it."""
        if len(self.outputs) == 1:
            return {"commit": self.outputs[0]}
        return {f"commit_{plain(output.address.rpartition('/')[2])}": output for output in self.outputs}


def _claim(
    context: dg.OpExecutionContext, lake: LakeResource, assets: StepAssets, wanted: Sequence[str], *, force: bool
) -> Planned:
    """Claims the partitions of these addresses, and says which of their shards are missing."""
    check_lake(context.instance, lake.store())
    token = f"{context.run_id}-{context.retry_number}-{time.time_ns():x}"  # no two attempts have the same
    step = assets.step(Asked(context.instance, lake, context.partition_key, wanted))
    planned = plan(step, lake.lake(), token, force=force)
    for each in planned.partitions:
        context.log.info(f"{each.place.asset}: {each.todo} shards to grind, {each.kept} kept, {len(each.gone)} gone")
    return planned


def _left_by(before: str, context: dg.OpExecutionContext, lake: LakeResource, address: str) -> Planned | None:
    """The plan that the op before has left in this run; None: plan anew.

    It is planned anew where this op is tried again, and where a run re-executes another from the step that failed:
    what made it fail was mended, most often in the very inputs that the plan was made from. So it is after an upgrade.
    """
    steps = context.run.step_keys_to_execute
    if context.retry_number > 0 or (steps is not None and f"{context.op_handle.parent}.{before}" not in steps):
        return None
    planned = resume(lake.store(), place(address, context.partition_key), context.run_id)
    if planned is None:
        context.log.info(f"{address}: another version of gristmill planned this run; it is planned anew")
    return planned


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
            assets, wanted = self._chosen(context)
            with failures(lake):
                _claim(context, lake, assets, wanted, force=engine.force)

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
            assets, wanted = self._chosen(context)
            with failures(lake):
                planned = _left_by("plan", context, lake, wanted[0])
                planned = planned or _claim(context, lake, assets, wanted, force=engine.force)
                tally = grind(planned, engine.engine(), context.log.info)
                again = [each for each in tally.failed if each.error == "StoreError"]
                if len(planned.partitions) == 1 or again:
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
            assets, _ = self._chosen(context)
            output = assets.commits[context.op_handle.name]
            with failures(lake, f"{output.address} ({context.partition_key})"):
                planned = _left_by("grind", context, lake, output.address)
                if planned is None:
                    planned = _claim(context, lake, assets, [output.address], force=False)
                    grind(planned, engine.engine(), context.log.info)
                assembled = assemble_one(output.step, planned, output.address, _about(context))
            for verdict in assembled.verdicts:
                yield check_result(verdict, key_of(output.address))
            with failures(lake):
                ledger = publish_one(planned, output.address, assembled)
            yield _published(_metadata(lake.store(), assembled, planned, output.address), ledger.fingerprint)

        return commit_partition


def _published(metadata: dict[str, Any], fingerprint: str) -> dg.Output[None]:
    with warnings.catch_warnings():  # Dagster is pinned, and this is how a graph-backed asset has a data version
        warnings.filterwarnings("ignore", message="Parameter `data_version`", category=dg.BetaWarning)
        return dg.Output(None, "result", metadata=metadata, data_version=dg.DataVersion(fingerprint))


def _metadata(store: Store, assembled: Assembled, planned: Planned, address: str) -> dict[str, Any]:
    found = ledger_metadata(store, assembled.ledger, assembled.shards, planned.partition(address), {})
    return found | cache_facts(assembled.shards) if kind_of(address) is TOKEN_CACHE else found


def _about(context: dg.OpExecutionContext) -> dict[str, Any]:
    return {
        "run": context.run_id,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": commit_of_code(),
        "packages": packages(),
    }
