"""Documents: v0 of each source is made from its raw snapshots, and each further version from the one before."""

from dataclasses import replace

import dagster as dg

from assets.support.about import description_of, facts_about, selection_in_words
from assets.support.arrivals import is_vanished
from assets.support.keys import plain_name
from assets.support.step_ops import Asked, Output, StepAssets
from gristmill.execution.step import Step
from gristmill.raw_data.roots import raw_address
from gristmill.recipes.adopted.dataset import adopted_folder
from gristmill.recipes.source import Source
from gristmill.stages.adoption.step import AdoptionStep
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.mixing.step import revision_step


def document_assets(source: Source) -> list[StepAssets]:
    """The assets of all dataset versions of a source."""
    adopted = [adoption_assets(source, version) for version in source.adopts]
    revised = [_version(source, revision.version) for revision in source.revisions]
    return [*(adopted or [_v0(source)]), *revised]


def adoption_assets(source: Source, version: str, name: str = "") -> StepAssets:
    """The asset of adopted documents, or of an adopted attribute set.

    Args:
        source: the recipe.
        version: the version.
        name: name of the set; empty: the documents.
    """
    every = AdoptionStep(source, version, "", (), name)
    (address,) = every.makes

    def step(asked: Asked) -> Step:
        vanished = is_vanished(asked.instance, source.name, asked.snapshot)
        options = asked.lake.lake().options
        return AdoptionStep(source, version, asked.snapshot, asked.lake.packages, name, options, vanished)

    folder = adopted_folder(source, version, name)
    what = f"The attribute set {name}" if name else "Documents"
    output = Output(
        address=address,
        step=every,
        description=description_of(source, f"{what}, adopted: the files are others' and only read."),
        kinds=frozenset({"jsonl", version}),
        owners=source.owners,
        metadata={**facts_about(source), "folder": dg.MetadataValue.path(raw_address(folder.files))},
    )
    return StepAssets(name=plain_name(address), source=source.name, outputs=[output], step=step, pool="convert")


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
        description=description_of(source, "All documents of the raw snapshot."),
        kinds=frozenset({"jsonl", "v0"}),
        owners=source.owners,
        metadata=facts_about(source),
    )
    return StepAssets(name=plain_name(address), source=source.name, outputs=[output], step=step, pool="convert")


def _version(source: Source, version: str) -> StepAssets:
    every = revision_step(source, version, "", ())
    revision = every.selection

    def step(asked: Asked) -> Step:
        return replace(every, snapshot=asked.snapshot, shelves=asked.lake.packages)

    about = f"{revision.description or version}\n\n{selection_in_words(revision)}"
    output = Output(
        address=every.asset,
        step=every,
        description=description_of(source, about),
        kinds=frozenset({"jsonl", version}),
        owners=source.owners,
        metadata=facts_about(source) | {"rules": dict(revision.reasons_by_rule)},
    )
    return StepAssets(name=plain_name(every.asset), source=source.name, outputs=[output], step=step, pool="mix")
