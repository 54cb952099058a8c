"""Finds the step that makes a partition, among the recipes of the shelves."""

from collections.abc import Iterator
from dataclasses import replace

from gristmill.execution.step import Step
from gristmill.lake.asset_kinds import kind_of, names_in_asset_address
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.steps import cache_steps, export_steps, has_vanished, mix_steps, source_steps
from gristmill.recipes.catalogue import Catalogue
from gristmill.stages.adoption.step import AdoptionStep
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.kind import behaviour_of_kind
from gristmill.stages.tagging.step import TaggingStep

FLAGS = frozenset({"reconvert", "retag", "remix"})
"""The options of `verify` that do so."""


def step_making_partition(
    lake: Lake, catalogue: Catalogue, shelves: tuple[str, ...], asset: str, snapshot: str
) -> Step | None:
    """The step that makes a partition; None if no recipe does. Of tagging, sets without models have one together.

    Args:
        lake: the lake.
        catalogue: the recipes.
        shelves: the packages that hold them.
        asset: address of an asset with partitions.
        snapshot: key of the partition.
    """
    store = lake.store()
    for step in _steps_of_asset(lake, store, catalogue, shelves, asset, snapshot):
        for each in step.split_by_inputs() if isinstance(step, TaggingStep) else (step,):
            if asset in each.makes and each.snapshot == snapshot:
                return each
    return None


def _steps_of_asset(
    lake: Lake, store: Store, catalogue: Catalogue, shelves: tuple[str, ...], asset: str, snapshot: str
) -> Iterator[Step]:
    kind, names = kind_of(asset), names_in_asset_address(asset)
    steps = behaviour_of_kind(kind).steps(store, catalogue, shelves, names) if kind else None
    if steps is not None:
        yield from steps
    elif "stream" in names:
        mix, stream = catalogue.mixes.get(names["mix"]), names["stream"]
        if mix and stream in {each.key for each in mix.streams}:
            yield from mix_steps(mix, stream, snapshot, shelves)
            yield from cache_steps(catalogue.tokenizers_of_mix(mix), mix, stream, snapshot, shelves)
            yield from export_steps(catalogue.exports_of_mix(mix), mix, stream, snapshot, shelves)
    elif names["source"] in catalogue.sources:
        source = catalogue.sources[names["source"]]
        vanished = has_vanished(store, source, snapshot)
        yield from source_steps(catalogue, source, snapshot, shelves, lake.options, vanished=vanished)


def verify_flag_of_step(step: Step) -> str:
    """The option of `verify` that proves what a step makes; empty for adopted files, which nothing of ours made."""
    if isinstance(step, AdoptionStep):
        return ""
    return "reconvert" if isinstance(step, ConversionStep) else "retag" if isinstance(step, TaggingStep) else "remix"


def restrict_step_to_assets(step: Step, assets: frozenset[str]) -> Step:
    """A step that makes only some of its assets, if it can make them one by one.

    Args:
        step: the step.
        assets: addresses.
    """
    if not isinstance(step, TaggingStep):
        return step
    pairs = zip(step.taggers, step.makes, strict=True)
    return replace(step, taggers=tuple(tagger for tagger, asset in pairs if asset in assets))
