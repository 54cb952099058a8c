"""The pipeline: the steps from raw data to tokens for a catalogue and its snapshots; inputs are made first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gristmill.errors import DataError, RecipeError
from gristmill.execution.step import Step
from gristmill.lake.address import documents_asset, ledger_folder, place
from gristmill.lake.ledger.files import list_ledgers, read_head
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.adoption.step import AdoptionStep
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.dedupe.labels.step import DedupeLabelsStep
from gristmill.stages.export.step import ExportStep
from gristmill.stages.fingerprints.step import FingerprintStep
from gristmill.stages.mixing.carrying.step import CarryingStep
from gristmill.stages.mixing.step import revision_step, stream_step
from gristmill.stages.packaged.step import RowsStep
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
    """The steps of one snapshot of a source: its documents, in all versions, and their attribute sets.

    The set of a dedupe recipe needs the resolution of that recipe, which is no step.

    Args:
        catalogue: all recipes.
        source: the source.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipes.
        options: connection options of the bucket, for a source whose raw data is not in the lake.
        vanished: whether the snapshot may have no raw data: see ConversionStep.
    """
    for version in source.versions:
        if version in source.adopts:
            yield AdoptionStep(source, version, snapshot, shelves, "", options or {}, vanished)
        elif source.revision(version) is None:
            yield ConversionStep(source, snapshot, shelves, options or {}, vanished)
        else:
            yield revision_step(source, version, snapshot, shelves)
        yield from carrying_steps(catalogue, source, version, snapshot, shelves)
        for each in source.adopted_sets(version):
            yield AdoptionStep(source, version, snapshot, shelves, each.name, options or {}, vanished)
        taggers = catalogue.taggers_of_version(source, version)
        if taggers:
            yield TaggingStep(source.name, version, snapshot, tuple(taggers), shelves)
        for dedupe in catalogue.dedupes_of_version(source, version):
            yield FingerprintStep(dedupe, source.name, snapshot, shelves)
            yield DedupeLabelsStep(dedupe, source.name, snapshot, shelves)
        for kind, declared in catalogue.rows_recipes_of_version(source, version):
            yield RowsStep(kind, declared, source.name, snapshot, shelves)


def carrying_steps(
    catalogue: Catalogue, source: Source, version: str, snapshot: str, shelves: tuple[str, ...]
) -> Iterator[CarryingStep]:
    """The steps that carry sets to a version from the version before."""
    for name, labels in catalogue.carried_sets_of_version(source, version).items():
        yield CarryingStep(source, version, name, snapshot, labels, shelves)


def mix_steps(mix: Mix, stream: str, snapshot: str, shelves: tuple[str, ...]) -> Iterator[Step]:
    """The steps of one snapshot of a mix's stream that make its documents."""
    yield stream_step(mix, stream, snapshot, shelves)


def cache_steps(
    tokenizers: Iterable[Tokenizer], mix: Mix, stream: str, snapshot: str, shelves: tuple[str, ...]
) -> Iterator[Step]:
    """The steps of one snapshot of a mix's stream that make its tokens, one for each of these tokenizers."""
    for tokenizer in tokenizers:
        yield TokenCacheStep(mix, stream, tokenizer, snapshot, shelves)


def export_steps(
    exports: Iterable[Export], mix: Mix, stream: str, snapshot: str, shelves: tuple[str, ...]
) -> Iterator[Step]:
    """The steps of one snapshot of a mix's stream that write it in the format of each of these exports."""
    for export in exports:
        yield ExportStep(mix, stream, export, snapshot, shelves)


def has_vanished(store: Store, source: Source, snapshot: str) -> bool:
    """Whether a snapshot was made again after its raw data vanished: its ledger names no shards."""
    try:
        head = read_head(store, place(documents_asset(source.name, source.versions[0]), snapshot))
    except DataError:
        return False  # the plan of the snapshot's documents raises it again
    return head is not None and not head.totals.get("shards")


def snapshots_with_ledger(store: Store, source: Source) -> set[str]:
    """The keys of the snapshots of a source that have a ledger."""
    return {
        ledger.snapshot
        for ledger in list_ledgers(store, ledger_folder(documents_asset(source.name, source.versions[0])))
    }


def check_snapshots_exist(snapshots: Iterable[str], there: Mapping[str, Sequence[str]]) -> None:
    """Checks that each snapshot exists in one of some sources: a misspelt key must not pass as one without work.

    Args:
        snapshots: the keys that were asked for.
        there: the keys of each source, by its name.

    Raises:
        RecipeError: no source has a key; the message lists the keys that there are.
    """
    for snapshot in snapshots:
        if not any(snapshot in keys for keys in there.values()):
            shown = "; ".join(f"{source}: {', '.join(keys) or 'none'}" for source, keys in there.items())
            raise RecipeError(f"snapshot {snapshot!r}: no source has raw data or a ledger of it; there are {shown}")
