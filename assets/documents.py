"""Documents: v0 of each source is made from its raw snapshots, and each further version from the one before."""

from dataclasses import replace

from assets.support.arrivals import is_vanished
from assets.support.keys import plain
from assets.support.step_ops import Asked, Output, StepAssets
from gristmill.execution.step import Step
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.mixing.step import revision_step


def document_assets(source: Source) -> list[StepAssets]:
    """The assets of all dataset versions of a source."""
    return [_v0(source), *(_version(source, version) for version in source.versions[1:])]


def _v0(source: Source) -> StepAssets:
    every = ConversionStep(source, "", ())
    (address,) = every.makes

    def step(asked: Asked) -> Step:
        return ConversionStep(
            source,
            asked.snapshot,
            asked.lake.packages,
            asked.lake.lake().options,
            vanished=is_vanished(
                asked.instance, source.name, asked.snapshot
            ),  # only the sensor knows that no data were lost
        )

    output = Output(
        address=address,
        step=every,
        description=f"All documents of the raw snapshot. Licence: {source.licence or 'not declared'}.",
        group=source.name.replace("-", "_"),
        kinds=frozenset({"jsonl", "dolma", "v0"}),
        owners=source.owners,
        metadata={"licence": source.licence or "not declared", "snapshots": source.snapshots},
    )
    return StepAssets(name=plain(address), source=source.name, outputs=[output], step=step, pool="convert")


def _version(source: Source, version: str) -> StepAssets:
    every = revision_step(source, version, "", ())
    revision = every.selection

    def step(asked: Asked) -> Step:
        return replace(every, snapshot=asked.snapshot, shelves=asked.lake.packages)

    rules = "; ".join(f"{name}: {because}" for name, because in revision.reasons.items())
    output = Output(
        address=every.asset,
        step=every,
        description=f"{revision.description or version}. Rules: {rules or 'none'}.",
        group=source.name.replace("-", "_"),
        kinds=frozenset({"jsonl", "dolma", version}),
        owners=source.owners,
        metadata={"rules": dict(revision.reasons)},
    )
    return StepAssets(name=plain(every.asset), source=source.name, outputs=[output], step=step, pool="mix")
