"""Named jobs for people: the journey of a source, the indexes of a mix, the training of a tokenizer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster._core.definitions.assets.graph.asset_graph import AssetGraph

from assets.support.keys import address_of, key_of, plain_name
from assets.support.runs.tags import run_tags
from gristmill.lake.address import (
    attributes_asset,
    cache_asset,
    cache_index,
    documents_asset,
    export_asset,
    export_index,
    mix_asset,
    mix_index,
    tokenizer_asset,
)
from gristmill.lake.asset_kinds import FINGERPRINTS
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source
from gristmill.stages.tokenization.files import training_job

Asset = dg.AssetsDefinition | dg.AssetSpec

ENGINE = "engine"
"""The name of the resource that a person configures."""


def journey_name(source: str) -> str:
    """The name of the job that makes all versions and attribute sets of one snapshot of a source."""
    return f"{plain_name(source)}_journey"


def index_name(mix: str) -> str:
    """The name of the job that writes the indexes of a mix, of its token caches and of its exports."""
    return f"{plain_name(mix)}_index"


def jobs(
    catalogue: Catalogue, assets: Sequence[Asset], common: Mapping[str, Any], *, more: bool = False
) -> Iterator[dg.JobDefinition]:
    """All named jobs.

    A job is resolved over its assets and their inputs only. Over the whole deployment, the time that Dagster takes for
    each job would grow with the number of assets. Audits belong to no job: people run them by
    themselves.

    Args:
        catalogue: the recipes.
        assets: all assets of the deployment.
        common: further definitions of the deployment: resources, executor, loggers.
        more: whether the streams of mixes have jobs, too.
    """
    by_address = {address_of(key): asset for asset in assets for key in _keys(asset)}
    for source in catalogue.sources.values():
        specs = {journey_name(source.name): _journey(catalogue, source)}
        if more:
            specs |= _of_streams(catalogue, source)
        yield from _resolved(specs, by_address, common, source.name)
    for mix in catalogue.mixes.values():
        indexes = [mix_index(mix.name), *(cache_index(mix.name, t.name) for t in catalogue.tokenizers_of_mix(mix))]
        indexes += [export_index(mix.name, export.name) for export in catalogue.exports_of_mix(mix)]
        words = f"Writes the indexes of {mix.name}, its token caches and its exports over the finished slices"
        yield from _resolved({index_name(mix.name): (words, indexes)}, by_address, common)
    for tokenizer in catalogue.tokenizers.values():
        words = f"Trains or imports {tokenizer.name}; by hand only"
        training = {training_job(tokenizer.name): (words, [tokenizer_asset(tokenizer.name)])}
        yield from _resolved(training, by_address, common)


def _journey(catalogue: Catalogue, source: Source) -> tuple[str, list[str]]:
    """The job of a source: its description and addresses."""
    journey: list[str] = []
    for version in source.versions:
        journey.append(documents_asset(source.name, version))
        by_dedupe = {each.name for each in catalogue.dedupes_of_version(source, version)}  # they follow a resolution
        journey += [FINGERPRINTS.at(dedupe=name, source=source.name) for name in sorted(by_dedupe)]
        sets = (name for name in catalogue.attribute_sets_of_version(source, version) if name not in by_dedupe)
        journey += [attributes_asset(source.name, version, name) for name in sets]
        journey += [
            kind.at(recipe=each.name, source=source.name)
            for kind, each in catalogue.rows_recipes_of_version(source, version)
        ]
    return f"One snapshot of {source.name}, from raw to {source.current} with its attribute sets", journey


def _of_streams(catalogue: Catalogue, source: Source) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """The jobs of the streams that read a source: name, description, addresses."""
    for mix, stream in catalogue.streams():
        if stream.source != source.name:
            continue
        documents = mix_asset(mix.name, stream.key)
        tokens = [cache_asset(mix.name, t.name, stream.key) for t in catalogue.tokenizers_of_mix(mix)]
        exports = [export_asset(mix.name, export.name, stream.key) for export in catalogue.exports_of_mix(mix)]
        words = f"One snapshot of {mix.name}/{stream.key}: its documents, its tokens and its exports"
        yield f"{plain_name(mix.name)}_{plain_name(stream.key)}_refresh", (words, [documents, *tokens, *exports])
        if _trains(catalogue, mix.name, stream.key):
            words = (
                f"One snapshot of {mix.name}/{stream.key}: its documents without tokens, for a tokenizer to train on"
            )
            yield f"{plain_name(mix.name)}_{plain_name(stream.key)}_documents", (words, [documents])


def _resolved(
    specs: Mapping[str, tuple[str, Sequence[str]]],
    by_address: Mapping[str, Asset],
    common: Mapping[str, Any],
    source: str = "",
) -> Iterator[dg.JobDefinition]:
    """Jobs by name, each with its description and the addresses of its assets, over these assets and their inputs."""
    named = (by_address[address] for _, addresses in specs.values() for address in addresses)
    made = {id(each): each for each in named if isinstance(each, dg.AssetsDefinition)}.values()
    read = {key for each in made for key in each.dependency_keys} - {key for each in made for key in each.keys}
    inputs = [dg.AssetsDefinition(specs=[_spec(by_address[address_of(key)], key)]) for key in sorted(read)]
    graph = AssetGraph.from_assets([*made, *inputs])
    used = {key for each in made for key in each.required_resource_keys}
    # The launchpad shows all that a job is given: an engine would do nothing in a job of indexes.
    resources = {name: each for name, each in common["resources"].items() if name != ENGINE or name in used}
    for name, job in specs.items():
        yield _job(name, *job, source).resolve(graph, common["executor"], resources)


def _job(name: str, words: str, addresses: Sequence[str], source: str = "") -> Any:
    return dg.define_asset_job(
        name,
        selection=[key_of(address) for address in addresses],
        description=words,
        tags=run_tags(addresses, dict.fromkeys(addresses, source)),
    )


def _spec(asset: Asset, key: dg.AssetKey) -> dg.AssetSpec:
    """An asset that a job reads and does not make."""
    return asset.get_asset_spec(key) if isinstance(asset, dg.AssetsDefinition) else asset


def _keys(asset: Asset) -> list[dg.AssetKey]:
    return sorted(asset.keys) if isinstance(asset, dg.AssetsDefinition) else [asset.key]


def _trains(catalogue: Catalogue, mix: str, stream: str) -> bool:
    """Whether a tokenizer is trained on a stream. Other streams never had such a job."""
    trainings = (t.training for t in catalogue.tokenizers.values() if t.training is not None)
    return any(training.mix == mix and stream in training.snapshots for training in trainings)
