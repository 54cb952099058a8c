"""Labelled sets and models: made by hand only. A model that is made anew makes the sets of its taggers out of date."""

from collections.abc import Sequence

import dagster as dg

from assets.support.facts.folder_facts import folder_facts
from assets.support.keys import group_of, key_of
from assets.support.lake_identity import check_lake
from assets.support.report import convert_errors
from assets.support.runs.tags import asset_tags, tag_run
from gristmill.pipeline.models import inputs_of_folder
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import Model
from gristmill.stages.models.ledger import model_address
from gristmill.stages.models.training import make_model_or_labels
from resources.lake import LakeResource


def folder_asset_of(recipe: LabelledSet | Model, owners: Sequence[str]) -> dg.AssetsDefinition:
    """The asset of a labelled set or a model. It has no automation: it is made by hand.

    Args:
        recipe: the recipe.
        owners: people who answer for all sources, which share it.
    """
    address = model_address(recipe)

    @dg.asset(
        key=key_of(address),
        deps=[key_of(each) for each in dict.fromkeys(above for above, _ in inputs_of_folder(recipe))],
        group_name=group_of(address),
        description=recipe.description or recipe.name,
        kinds={"model" if isinstance(recipe, Model) else "jsonl"},
        owners=list(owners),
        tags=asset_tags(address),
        pool="train",
    )
    def make(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
        store = lake.store()
        tag_run(context.op_execution_context, {})
        with convert_errors(lake):
            check_lake(context.instance, store)
            ledger, made = make_model_or_labels(store, recipe, context.log.info)
            facts = folder_facts(store, ledger)
        said = {"this run": "made it" if made else "kept the one that was in the lake"}
        return dg.MaterializeResult(metadata={**facts, **said}, data_version=dg.DataVersion(ledger.fingerprint))

    return make
