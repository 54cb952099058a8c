"""The kinds of assets that installed packages add: rows that are made from the documents of a dataset version."""

from dataclasses import replace

from assets.support.keys import plain_name
from assets.support.step_ops import Asked, Output, StepAssets
from gristmill.execution.step import Step
from gristmill.lake.asset_kind import AssetKind
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.rows_recipe import RowsRecipe
from gristmill.recipes.source import Source
from gristmill.stages.packaged.step import RowsStep


def rows_assets(catalogue: Catalogue, source: Source, version: str) -> list[StepAssets]:
    """The assets of installed packages that are made from the documents of a dataset version."""
    return [_rows(kind, declared, source) for kind, declared in catalogue.rows_recipes_of_version(source, version)]


def _rows(kind: AssetKind, declared: RowsRecipe, source: Source) -> StepAssets:
    every = RowsStep(kind, declared, source.name, "", ())

    def step(asked: Asked) -> Step:
        return replace(every, snapshot=asked.snapshot, shelves=asked.lake.packages)

    output = Output(
        address=every.asset,
        step=every,
        description=f"{declared.description or declared.name}. Made by the package {kind.package}.",
        kinds=frozenset({"jsonl", kind.name}),
        owners=source.owners,
    )
    return StepAssets(name=plain_name(output.address), source=source.name, outputs=[output], step=step, pool="tag")
