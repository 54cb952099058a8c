"""The journey: every step from raw to tokens that a catalogue and its snapshots imply, in an order that works."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from gristmill.errors import DataError, StoreError
from gristmill.execution.step import Step, Survey, survey
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
) -> Iterator[Step]:
    """One snapshot of a source, from raw to its newest version and attribute sets.

    Args:
        catalogue: all recipes.
        source: the source.
        snapshot: the key.
        shelves: packages of the recipes.
        options: how the bucket of a source with raw data elsewhere is reached.
    """
    for version in source.versions:
        if version == "v0":
            yield ConversionStep(source, snapshot, shelves, options or {})
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


class Pending(msgspec.Struct, frozen=True):
    """What a dry run found of some steps.

    Attributes:
        finished: partitions whose ledgers say already what they should.
        missing: shards that would be ground, in partitions that can be looked at.
        why: the first reason for work, for people; empty if there is none.
    """

    finished: int
    missing: int
    why: str

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self.why


def pending(steps: Sequence[Step] | Iterator[Step], store: Store) -> Pending:
    """Whether there is work, decided from the ledgers alone, without claiming anything."""
    finished = missing = 0
    why = ""
    for step in steps:
        try:
            found = survey(step, store)
        except (DataError, StoreError) as error:
            return Pending(finished, missing, why or str(error))
        for each in found:
            finished += each.finished
            missing += len(each.missing)
            why = why or _why(each)
    return Pending(finished, missing, why)


def _why(found: Survey) -> str:
    return "" if found.finished else f"{found.asset} ({found.snapshot}): {work(found)}"


def work(found: Survey) -> str:
    """What would be done, for people."""
    if found.missing:
        return f"{len(found.missing)} shards to grind"
    return f"{len(found.gone)} shards to go" if found.gone else "an input's ledger changed"


def snapshots_by_stream(mix: Mix, known: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The snapshots of each stream, from those of each source."""
    return {stream.key: list(known.get(stream.source, ())) for stream in mix.streams}
