"""Makes Dagster assets from steps. Each step is one graph of ops: plan -> grind -> one commit for each asset.

A step may make several assets in one pass over its input, such as the attribute sets of a dataset version. So a step is
one graph with several outputs, and a run may select some of them. The ops are in step_ops.py.
"""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import dagster as dg

from assets.support.automation import when_needed
from assets.support.keys import group_of, key_of, plain_name, snapshots_of
from assets.support.runs.tags import asset_tags
from assets.support.step_ops import VOLUME_CLAIM, Ops, StepAssets
from gristmill.pipeline.models import inputs_of_folder, model_recipes
from gristmill.pipeline.volume import VOLUME, volume_check_of_address
from gristmill.recipes.catalogue import Catalogue
from gristmill.stages.models.ledger import model_address


def untangle_steps(steps: Sequence[StepAssets], catalogue: Catalogue) -> list[StepAssets]:
    """The steps, changed so that none waits for itself: a step is taken apart if one of its assets is made from
    another.

    Such assets are the sets of one version of which a model reads one and makes another. Dagster would split their
    graph by itself, but its audits then name outputs of the wrong part, and no run starts.

    Args:
        steps: steps that make the assets.
        catalogue: the recipes.
    """
    reads = {
        model_address(recipe): {above for above, _ in inputs_of_folder(recipe)} for recipe in model_recipes(catalogue)
    }
    maker = {output.address: step.name for step in steps for output in step.outputs}
    every = reads | {step.name: set(step.upstream) for step in steps}
    try:
        TopologicalSorter({name: {maker.get(each, each) for each in above} for name, above in every.items()}).prepare()
    except CycleError as error:
        circle = error.args[1]
        parts = [part for step in steps for part in (step.split_by_inputs() if step.name in circle else [step])]
        return untangle_steps(parts, catalogue) if len(parts) > len(steps) else parts
    return list(steps)


def define_steps(steps: Sequence[StepAssets], catalogue: Catalogue) -> list[dg.AssetsDefinition]:
    """The assets of all steps, one definition for each step.

    The graphs share their ops, because Dagster takes a millisecond to define an op. An op finds its step by the assets
    that the run has selected.

    Args:
        steps: steps that make the assets.
        catalogue: the recipes; those with bounds have a check `volume` that blocks.
    """
    ops = Ops({output.address: step for step in steps for output in step.outputs}, catalogue)
    return [_define(step, ops, catalogue) for step in steps]


def _define(step: StepAssets, ops: Ops, catalogue: Catalogue) -> dg.AssetsDefinition:
    outputs = step.outputs
    snapshots = snapshots_of(step.source)
    return dg.AssetsDefinition.from_graph(
        _graph(step, ops),
        keys_by_input_name={f"in_{number}": key_of(address) for number, address in enumerate(step.upstream)},
        keys_by_output_name={plain_name(output.address): key_of(output.address) for output in outputs},
        internal_asset_deps={plain_name(output.address): {key_of(each) for each in output.reads} for output in outputs},
        partitions_def=snapshots,
        group_name=group_of(outputs[0].address),
        can_subset=len(outputs) > 1,
        check_specs=[
            dg.AssetCheckSpec(
                name=check,
                asset=key_of(output.address),
                description=statement,
                blocking=check not in output.warnings
                and (check != VOLUME or volume_check_of_address(catalogue, output.address, ()).is_blocking),
                partitions_def=snapshots,
            )
            for output in outputs
            for check, statement in (*output.checks.items(), (VOLUME, VOLUME_CLAIM))
        ],
        descriptions_by_output_name={plain_name(output.address): output.description for output in outputs},
        metadata_by_output_name={plain_name(output.address): dict(output.metadata) for output in outputs},
        tags_by_output_name={
            plain_name(output.address): {
                **{f"dagster/kind/{kind}": "" for kind in output.kinds},
                **asset_tags(output.address, step.source),
            }
            for output in outputs
        },
        owners_by_output_name={plain_name(output.address): list(output.owners) for output in outputs},
        code_versions_by_output_name={plain_name(output.address): output.code_version for output in outputs},
        automation_conditions_by_output_name={
            plain_name(output.address): when_needed(output.address, step.source, output.reads)
            for output in outputs
            if output.automated
        },
    )


def _graph(step: StepAssets, ops: Ops) -> dg.GraphDefinition:
    """The graph of a step.

    All inputs and outputs between ops are of the type Nothing: they give the order; the data are in the lake. The graph
    is written as data, because building it with Dagster's `@graph` decorator would take twice as long.
    """
    plan_op, grind_op = ops.plan(len(step.upstream)), ops.grind(step.pool)
    graph_outputs: list[dg.OutputMapping] = []
    dependencies: dict[dg.NodeInvocation, dict[str, dg.DependencyDefinition]] = {
        dg.NodeInvocation(plan_op.name, alias="plan"): {},
        dg.NodeInvocation(grind_op.name, alias="grind"): {"plan": dg.DependencyDefinition("plan")},
    }
    op_defs: dict[str, dg.OpDefinition] = {plan_op.name: plan_op, grind_op.name: grind_op}
    for alias, output in step.commits.items():
        commit_op = ops.commit(tuple(output.checks))
        op_defs[commit_op.name] = commit_op
        dependencies[dg.NodeInvocation(commit_op.name, alias=alias)] = {"ground": dg.DependencyDefinition("grind")}
        name = plain_name(output.address)
        graph_outputs.append(
            dg.OutputMapping(graph_output_name=name, mapped_node_name=alias, mapped_node_output_name="result")
        )
        for check in (*output.checks, VOLUME):
            # Dagster expects this name for the output of a check.
            check_output = f"{'__'.join(key_of(output.address).path)}_{check}".replace("-", "_")
            graph_outputs.append(
                dg.OutputMapping(graph_output_name=check_output, mapped_node_name=alias, mapped_node_output_name=check)
            )
    inputs = [f"in_{number}" for number in range(len(step.upstream))]
    return dg.GraphDefinition(
        name=step.name,
        node_defs=list(op_defs.values()),
        dependencies=dependencies,
        input_mappings=[
            dg.InputMapping(graph_input_name=name, mapped_node_name="plan", mapped_node_input_name=name)
            for name in inputs
        ],
        output_mappings=graph_outputs,
    )
