"""A step of the mill as Dagster sees it: plan, grind, and a commit an asset, in one graph.

Ops hand nothing to each other: what they need lies in the lake, beside the receipts, under the claim's token.
"""

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from assets.automation import when_needed
from assets.checks import audit_checks
from assets.keys import address_of, key_of, plain
from assets.partitions import snapshots_of
from assets.report import check_result, commit_of_code, failures, ledger_metadata, packages
from gristmill.lake.address import place
from gristmill.lake.ledger import Shard
from gristmill.lake.making import Folded
from gristmill.lake.store import Store
from gristmill.stages.checks import Verdict
from gristmill.stages.grinding import raise_failures
from gristmill.stages.step import Planned, Step, fold_one, grind, plan, publish_one, resume
from resources.engine import EngineResource
from resources.lake import LakeResource

Check = Callable[[Store, str, Sequence[Shard]], Verdict]
"""Looks at an asset's shards of one snapshot before they are published."""

RETRIES = dg.RetryPolicy(max_retries=2, delay=5, backoff=dg.Backoff.EXPONENTIAL)  # jitter could make it 0
"""For a lake that did not answer. What must not be tried again is a Failure that says so."""


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


StepAssets = list[dg.AssetsDefinition | dg.AssetChecksDefinition]
"""The graph of a step, and the audits of what it makes."""

MakeStep = Callable[[LakeResource, str, Sequence[str]], Step]
"""The step for a snapshot and the addresses that were asked for."""


def step_assets(
    *, name: str, source: str, upstream: Sequence[str], outputs: Sequence[Output], step: MakeStep, pool: str
) -> StepAssets:
    """The assets that one step makes, as one graph that can be asked for some of them; and their audits.

    Args:
        name: of the graph.
        source: whose snapshots are the partitions.
        upstream: addresses of what it reads.
        outputs: what it makes.
        step: makes the step.
        pool: the concurrency pool of its grind.
    """
    several = len(outputs) > 1
    plan_op = _plan_op(name, outputs, step, len(upstream))
    grind_op = _grind_op(name, outputs, step, pool)
    commits = {f"commit_{plain(o.address.rpartition('/')[2])}" if several else "commit": o for o in outputs}
    commit_op = _commit_op(name, commits, step)

    def compose(**above: Any) -> dict[str, Any]:
        ground = grind_op.alias("grind")(plan_op.alias("plan")(**above))
        found: dict[str, Any] = {}
        for alias, output in commits.items():
            done = commit_op.alias(alias)(ground)
            if output.checks:
                found[plain(output.address)] = done.result
                for check in output.checks:
                    found[f"{'__'.join(key_of(output.address).path)}_{check}".replace("-", "_")] = getattr(done, check)
            else:
                found[plain(output.address)] = done
        return found

    definition = dg.graph_multi_asset(
        name=name,
        outs={plain(output.address): _asset_out(output) for output in outputs},
        ins={f"in_{n}": dg.AssetIn(key=key_of(address), dagster_type=dg.Nothing) for n, address in enumerate(upstream)},
        partitions_def=snapshots_of(source),
        check_specs=[
            dg.AssetCheckSpec(
                name=check,
                asset=key_of(output.address),
                description=words,
                blocking=True,
                partitions_def=snapshots_of(source),
            )
            for output in outputs
            for check, (words, _) in output.checks.items()
        ],
        can_subset=several,
        group_name=outputs[0].group,  # of an AssetOut alone, Dagster 1.13 loses it
    )
    claims = {o.address: {check: words for check, (words, _) in o.checks.items()} for o in outputs}
    return [definition(_with_inputs(compose, len(upstream))), audit_checks(name, source, claims)]


def _with_inputs(compose: Callable[..., dict[str, Any]], count: int) -> Callable[..., dict[str, Any]]:
    """Dagster reads the graph's inputs off the function's signature."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [inspect.Parameter(f"in_{number}", kind) for number in range(count)]
    compose.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]  # functions take attributes
    return compose


def _asset_out(output: Output) -> dg.AssetOut:
    return dg.AssetOut(
        key=key_of(output.address),
        dagster_type=dg.Nothing,
        description=output.description,
        code_version=output.code_version,
        kinds=set(output.kinds),
        owners=list(output.owners) or None,
        metadata=dict(output.metadata),
        automation_condition=when_needed() if output.automated else None,
    )


def _claim(
    context: dg.OpExecutionContext, lake: LakeResource, step: MakeStep, wanted: Sequence[str], *, force: bool
) -> Planned:
    """Claims the partitions of these addresses, and says which of their shards are missing."""
    token = f"{context.run_id}-{context.retry_number}-{time.time_ns():x}"  # no two attempts have the same
    planned = plan(step(lake, context.partition_key, wanted), lake.lake(), token, force=force)
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


def _plan_op(name: str, outputs: Sequence[Output], step: MakeStep, inputs: int) -> dg.OpDefinition:
    @dg.op(
        name=f"{name}__plan",
        ins={f"in_{number}": dg.In(dg.Nothing) for number in range(inputs)},
        out=dg.Out(dg.Nothing),
        retry_policy=RETRIES,
        description="Claims the partition, and finds out which shards are missing.",
    )
    def plan_partition(context: dg.OpExecutionContext, lake: LakeResource, engine: EngineResource) -> None:
        chosen = {address_of(key) for key in context.selected_asset_keys}
        wanted = [output.address for output in outputs if output.address in chosen]
        with failures():
            _claim(context, lake, step, wanted, force=engine.force)

    return plan_partition


def _grind_op(name: str, outputs: Sequence[Output], step: MakeStep, pool: str) -> dg.OpDefinition:
    @dg.op(
        name=f"{name}__grind",
        ins={"plan": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
        retry_policy=RETRIES,
        pool=pool,
        description="Grinds the missing shards on the engine; each leaves a receipt.",
    )
    def grind_partition(context: dg.OpExecutionContext, lake: LakeResource, engine: EngineResource) -> None:
        chosen = {address_of(key) for key in context.selected_asset_keys}
        wanted = [output.address for output in outputs if output.address in chosen]
        with failures():
            if _outdated(context, "plan"):
                planned = _claim(context, lake, step, wanted, force=engine.force)
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


def _commit_op(name: str, outputs: Mapping[str, Output], step: MakeStep) -> dg.OpDefinition:
    """One definition for all outputs of a step, which have the same checks; its alias says which it is to commit."""
    # Not required: automation asks for assets of a subset without their checks.
    checks = {check: dg.Out(is_required=False) for output in outputs.values() for check in output.checks}

    @dg.op(
        name=f"{name}__commit",
        ins={"ground": dg.In(dg.Nothing)},
        out={"result": dg.Out(dg.Nothing), **checks},
        retry_policy=RETRIES,
        description="Folds the receipts into the ledger, checks it, and publishes it.",
    )
    def commit_partition(context: dg.OpExecutionContext, lake: LakeResource, engine: EngineResource) -> Iterator[Any]:
        output = outputs[context.op_handle.name]
        snapshot = context.partition_key
        key = key_of(output.address)
        store = lake.store()
        with failures(f"{output.address} ({snapshot})"):
            if _outdated(context, "grind"):
                planned = _claim(context, lake, step, [output.address], force=False)
                grind(planned, engine.engine(), context.log.info)
            else:
                planned = _planned(context, lake, output.address)
            folded = fold_one(planned, output.address, _about(context))
            verdicts = [check(store, snapshot, folded.shards) for _, check in output.checks.values()]
        for verdict in verdicts:
            yield check_result(verdict, key)
        _stop_at_failures(verdicts, output.address)
        with failures():
            ledger = publish_one(planned, output.address, folded)
        yield _published(_metadata(store, folded, planned, output.address), ledger.fingerprint)

    return commit_partition


def _published(metadata: dict[str, Any], fingerprint: str) -> dg.Output[None]:
    with warnings.catch_warnings():  # Dagster is pinned, and this is how a graph-backed asset has a data version
        warnings.filterwarnings("ignore", message="Parameter `data_version`", category=dg.BetaWarning)
        return dg.Output(None, "result", metadata=metadata, data_version=dg.DataVersion(fingerprint))


def _metadata(store: Store, folded: Folded, planned: Planned, address: str) -> dict[str, Any]:
    return ledger_metadata(store, folded.ledger, folded.shards, planned.making(address), {})


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
