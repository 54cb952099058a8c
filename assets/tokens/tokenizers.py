"""Tokenizers: trained from named snapshots of a mix, or imported, by hand only. New data never changes one."""

import dagster as dg
from pydantic import Field

from assets.support.facts.folder_facts import tokenizer_facts
from assets.support.keys import group_of, key_of
from assets.support.lake_identity import check_lake
from assets.support.report import convert_errors
from assets.support.runs.tags import asset_tags, tag_run
from gristmill.lake.address import mix_asset, tokenizer_asset
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.tokenization.files import training_job
from gristmill.stages.tokenization.training import make_tokenizer
from resources.lake import LakeResource
from resources.plain_config import plain_schema, read_config


class TrainingRequest(dg.Config):
    """Run configuration: other snapshots to train on than those of the recipe."""

    snapshots: dict[str, list[str]] = Field(
        default={}, description="Snapshots by stream, as in {packages: ['2025-12']}; empty: the recipe's."
    )


def tokenizer_asset_of(catalogue: Catalogue, tokenizer: Tokenizer) -> dg.AssetsDefinition:
    """The asset of a tokenizer. It has no automation: it is made by hand."""
    training = tokenizer.training
    inputs = [mix_asset(training.mix, stream) for stream in training.snapshots] if training else []

    @dg.asset(
        key=key_of(tokenizer_asset(tokenizer.name)),
        deps=[key_of(address) for address in inputs],
        group_name=group_of(tokenizer_asset(tokenizer.name)),
        description=_described(tokenizer),
        kinds={"huggingface"},
        owners=_owners(catalogue, tokenizer),
        tags=asset_tags(tokenizer_asset(tokenizer.name)),
        pool="train",
        config_schema=plain_schema(TrainingRequest),
    )
    def train(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
        store = lake.store()
        tag_run(context.op_execution_context, {})
        with convert_errors(lake):
            config = read_config(TrainingRequest, context.op_execution_context.op_config)
            check_lake(context.instance, store)
            ledger, made = make_tokenizer(store, tokenizer, context.log.info, config.snapshots or None)
        made_here = {"this run": "made it" if made else "kept the one that was in the lake"}
        metadata = {**tokenizer_facts(store, ledger), **made_here}
        return dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion(ledger.fingerprint))

    return train


def _described(tokenizer: Tokenizer) -> str:
    """The description, and who makes it: an asset without a materialization does not say so."""
    made = "trains" if tokenizer.training else "imports"
    job = f"The job `{training_job(tokenizer.name)}` {made} it, by hand only. Until then, its token caches wait."
    return f"{tokenizer.description or tokenizer.name}\n\n{job}"


def _owners(catalogue: Catalogue, tokenizer: Tokenizer) -> list[str]:
    """The owners of the mixes that a tokenizer is trained on or used by, each once."""
    mixes = [mix for mix in catalogue.mixes.values() if tokenizer in catalogue.tokenizers_of_mix(mix)]
    if tokenizer.training and tokenizer.training.mix in catalogue.mixes:
        mixes.insert(0, catalogue.mixes[tokenizer.training.mix])
    return list(dict.fromkeys(owner for mix in mixes for owner in mix.owners))
