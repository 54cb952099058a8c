"""Named jobs for people: the journey of a source, the refresh of a mix's stream, the closing of its indexes."""

from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from assets.checks import checks_of
from assets.keys import key_of, plain
from gristmill.catalogue import Catalogue
from gristmill.lake.address import (
    attributes_asset,
    cache_asset,
    cache_index,
    documents_asset,
    mix_asset,
    mix_index,
    tokenizer_asset,
)
from gristmill.stages.conversion import Source


def journey_name(source: str) -> str:
    """The job that takes one snapshot of a source from raw to its newest version and attribute sets."""
    return f"{plain(source)}_journey"


def refresh_name(mix: str, stream: str) -> str:
    """The job that makes one snapshot of a mix's stream, and spells it by every tokenizer."""
    return f"{plain(mix)}_{plain(stream)}_refresh"


def documents_name(mix: str, stream: str) -> str:
    """The job that makes one snapshot of a mix's stream without its tokens: for streams that a tokenizer trains on."""
    return f"{plain(mix)}_{plain(stream)}_documents"


def index_name(mix: str) -> str:
    """The job that closes a mix and its token caches over what there is."""
    return f"{plain(mix)}_index"


def jobs(catalogue: Catalogue) -> Iterator[Any]:
    """All named jobs (Dagster keeps the type of an unresolved job to itself)."""
    for source in catalogue.sources.values():
        yield _journey(catalogue, source)
    for mix, stream in catalogue.streams():
        spelled = [cache_asset(mix.name, t.name, stream.key) for t in catalogue.tokenizers_of(mix)]
        yield dg.define_asset_job(
            refresh_name(mix.name, stream.key),
            selection=_made([mix_asset(mix.name, stream.key), *spelled]),
            description=f"One snapshot of {mix.name}/{stream.key}: its documents and its tokens",
        )
        if _trains(catalogue, mix.name, stream.key):
            yield dg.define_asset_job(
                documents_name(mix.name, stream.key),
                selection=_made([mix_asset(mix.name, stream.key)]),
                description=f"One snapshot of {mix.name}/{stream.key}: documents alone, for a tokenizer to train on",
            )
    for mix in catalogue.mixes.values():
        indexes = [mix_index(mix.name), *(cache_index(mix.name, t.name) for t in catalogue.tokenizers_of(mix))]
        yield dg.define_asset_job(
            index_name(mix.name),
            selection=[key_of(address) for address in indexes],
            description=f"Closes {mix.name} and its token caches over the slices that there are",
        )
    for tokenizer in catalogue.tokenizers.values():
        yield dg.define_asset_job(
            f"{plain(tokenizer.name)}_train",
            selection=[key_of(tokenizer_asset(tokenizer.name))],
            description=f"Trains or imports {tokenizer.name}; by hand only",
        )


def _journey(catalogue: Catalogue, source: Source) -> Any:
    addresses: list[str] = []
    for version in source.versions:
        addresses.append(documents_asset(source.name, version))
        addresses += [attributes_asset(source.name, version, t.name) for t in catalogue.taggers_of(source, version)]
    return dg.define_asset_job(
        journey_name(source.name),
        selection=_made(addresses),
        description=f"One snapshot of {source.name}, from raw to {source.current} with its attribute sets",
    )


def _made(addresses: Sequence[str]) -> dg.AssetSelection:
    """Assets with the checks of their own graph; their audits are for people to ask for."""
    assets = dg.AssetSelection.assets(*(key_of(address) for address in addresses))
    checks = [dg.AssetCheckKey(key_of(address), name) for address in addresses for name in checks_of(address)]
    return assets.without_checks() | dg.AssetSelection.checks(*checks)


def _trains(catalogue: Catalogue, mix: str, stream: str) -> bool:
    """Whether a tokenizer is trained on a stream: a job costs 30 ms of every load."""
    trainings = (t.training for t in catalogue.tokenizers.values() if t.training is not None)
    return any(training.mix == mix and stream in training.snapshots for training in trainings)
