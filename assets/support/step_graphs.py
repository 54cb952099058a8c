"""The graphs of all steps: plan -> grind -> one commit for each asset. All graphs share their ops."""

from collections.abc import Sequence

import dagster as dg

from assets.support.automation import when_needed
from assets.support.keys import key_of, plain, snapshots_of
from assets.support.step_ops import Ops, StepAssets


def define_steps(steps: Sequence[StepAssets]) -> list[dg.AssetsDefinition]:
    """The graphs of all steps. They share their ops, as Dagster takes a millisecond to define an op."""
    ops = Ops({output.address: step for step in steps for output in step.outputs})
    return [_define(step, ops) for step in steps]


def _define(step: StepAssets, ops: Ops) -> dg.AssetsDefinition:
    outputs = step.outputs
    snapshots = snapshots_of(step.source)
    return dg.AssetsDefinition.from_graph(
        _graph(step, ops),
        keys_by_input_name={f"in_{number}": key_of(address) for number, address in enumerate(step.upstream)},
        keys_by_output_name={plain(output.address): key_of(output.address) for output in outputs},
        partitions_def=snapshots,
        group_name=outputs[0].group,
        can_subset=len(outputs) > 1,
        check_specs=[
            dg.AssetCheckSpec(
                name=check, asset=key_of(output.address), description=words, blocking=True, partitions_def=snapshots
            )
            for output in outputs
            for check, words in output.checks.items()
        ],
        descriptions_by_output_name={plain(output.address): output.description for output in outputs},
        metadata_by_output_name={plain(output.address): dict(output.metadata) for output in outputs},
        tags_by_output_name={
            plain(output.address): {f"dagster/kind/{kind}": "" for kind in output.kinds} for output in outputs
        },
        owners_by_output_name={plain(output.address): list(output.owners) for output in outputs},
        code_versions_by_output_name={plain(output.address): output.code_version for output in outputs},
        automation_conditions_by_output_name={
            plain(output.address): when_needed() for output in outputs if output.automated
        },
    )


def _graph(step: StepAssets, ops: Ops) -> dg.GraphDefinition:
    """Plan -> grind -> one commit for each asset. Dagster's composition of functions would take twice as long."""
    plan_op, grind_op = ops.plan(len(step.upstream)), ops.grind(step.pool)
    made: list[dg.OutputMapping] = []
    after: dict[dg.NodeInvocation, dict[str, dg.DependencyDefinition]] = {
        dg.NodeInvocation(plan_op.name, alias="plan"): {},
        dg.NodeInvocation(grind_op.name, alias="grind"): {"plan": dg.DependencyDefinition("plan")},
    }
    used: dict[str, dg.OpDefinition] = {plan_op.name: plan_op, grind_op.name: grind_op}
    for alias, output in step.commits.items():
        commit_op = ops.commit(tuple(output.checks))
        used[commit_op.name] = commit_op
        after[dg.NodeInvocation(commit_op.name, alias=alias)] = {"ground": dg.DependencyDefinition("grind")}
        name = plain(output.address)
        made.append(dg.OutputMapping(graph_output_name=name, mapped_node_name=alias, mapped_node_output_name="result"))
        for check in output.checks:
            check_output = f"{'__'.join(key_of(output.address).path)}_{check}".replace("-", "_")
            made.append(
                dg.OutputMapping(graph_output_name=check_output, mapped_node_name=alias, mapped_node_output_name=check)
            )
    inputs = [f"in_{number}" for number in range(len(step.upstream))]
    return dg.GraphDefinition(
        name=step.name,
        node_defs=list(used.values()),
        dependencies=after,
        input_mappings=[
            dg.InputMapping(graph_input_name=name, mapped_node_name="plan", mapped_node_input_name=name)
            for name in inputs
        ],
        output_mappings=made,
    )
