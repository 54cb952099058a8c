"""Attribute sets: one graph makes all sets of a dataset version, and reads its documents once; and carried sets."""

from dataclasses import replace

from assets.support.keys import plain_name
from assets.support.step_ops import Asked, Output, StepAssets
from gristmill.execution.step import Step
from gristmill.pipeline.steps import carrying_steps
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source
from gristmill.stages.mixing.carrying.step import CarryingStep
from gristmill.stages.tagging.step import TaggingStep


def attribute_assets(catalogue: Catalogue, source: Source, version: str) -> StepAssets | None:
    """The attribute sets of a dataset version; None if no tagger declares one."""
    taggers = catalogue.taggers_of_version(source, version)
    if not taggers:
        return None
    every = TaggingStep(source.name, version, "", tuple(taggers), ())
    by_address = dict(zip(every.makes, taggers, strict=True))

    def step(asked: Asked) -> Step:
        chosen = tuple(by_address[address] for address in asked.addresses)
        return replace(every, snapshot=asked.snapshot, taggers=chosen, shelves=asked.lake.packages)

    return StepAssets(
        name=plain_name(every.makes[0].rpartition("/")[0]),
        source=source.name,
        outputs=[
            Output(
                address=address,
                step=replace(every, taggers=(tagger,)),
                description=tagger.description or tagger.name,
                kinds=frozenset({"jsonl", version}),
                owners=source.owners,
            )
            for address, tagger in by_address.items()
        ],
        step=step,
        pool="tag",
    )


def carried_assets(catalogue: Catalogue, source: Source, version: str) -> list[StepAssets]:
    """The sets that are carried to a dataset version from the version before."""
    return [_carried(every) for every in carrying_steps(catalogue, source, version, "", ())]


def _carried(every: CarryingStep) -> StepAssets:
    def step(asked: Asked) -> Step:
        return replace(every, snapshot=asked.snapshot, shelves=asked.lake.packages)

    output = Output(
        address=every.asset,
        step=every,
        description=f"The spans of {every.name} of {every.version_before}, carried to the texts of {every.version}.",
        kinds=frozenset({"jsonl", every.version}),
        owners=every.source.owners,
    )
    return StepAssets(name=plain_name(every.asset), source=every.source.name, outputs=[output], step=step, pool="tag")
