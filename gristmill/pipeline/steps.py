"""The pipeline: the steps from raw to tokens that a catalogue and its snapshots imply, in an order that works."""

from collections.abc import Iterator, Mapping

from gristmill.execution.step import Step
from gristmill.lake.address import documents_asset, place
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.mixing.step import revision_step, stream_step
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.token_cache.step import TokenCacheStep


def source_steps(
    catalogue: Catalogue,
    source: Source,
    snapshot: str,
    shelves: tuple[str, ...],
    options: Mapping[str, str] | None = None,
    *,
    vanished: bool = False,
) -> Iterator[Step]:
    """One snapshot of a source, from raw to its newest version and attribute sets.

    Args:
        catalogue: all recipes.
        source: the source.
        snapshot: the key.
        shelves: packages of the recipes.
        options: how the bucket of a source with raw data elsewhere is reached.
        vanished: whether the snapshot may be without raw data: see ConversionStep.
    """
    for version in source.versions:
        if version == "v0":
            yield ConversionStep(source, snapshot, shelves, options or {}, vanished)
        else:
            yield revision_step(source, version, snapshot, shelves)
        taggers = catalogue.taggers_of(source, version)
        if taggers:
            yield TaggingStep(source.name, version, snapshot, tuple(taggers), shelves)


def mix_steps(mix: Mix, stream: str, snapshot: str, shelves: tuple[str, ...]) -> Iterator[Step]:
    """One snapshot of a mix's stream: its documents."""
    yield stream_step(mix, stream, snapshot, shelves)


def cache_steps(catalogue: Catalogue, mix: Mix, stream: str, snapshot: str, shelves: tuple[str, ...]) -> Iterator[Step]:
    """One snapshot of a mix's stream: its tokens, by every tokenizer that spells the mix."""
    for tokenizer in catalogue.tokenizers_of(mix):
        yield TokenCacheStep(mix, stream, tokenizer, snapshot, shelves)


def has_vanished(store: Store, source: Source, snapshot: str) -> bool:
    """Whether a snapshot was made once more after its raw data vanished: its ledger names no shards."""
    head = read_head(store, place(documents_asset(source.name, "v0"), snapshot))
    return head is not None and not head.totals.get("shards")
