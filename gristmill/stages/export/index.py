"""Builds the index of an export from the ledgers in the lake, and its release. Missing partitions are listed."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from uuid import uuid4

from gristmill.errors import DataError, GristmillError, NewerSchema, RecipeError, StoreError
from gristmill.execution.claim import take_over_claim
from gristmill.lake.address import export_index
from gristmill.lake.asset_kind import pattern_as_regex
from gristmill.lake.asset_kinds import EXPORT_INDEX, ledger_of_asset
from gristmill.lake.ledger.files import as_json, change_in_words
from gristmill.lake.ledger.folders.mark import remove_mark
from gristmill.lake.ledger.folders.pinned_upload import upload_unless_pinned
from gristmill.lake.ledger.index_ledger import IndexLedger, IndexWriter, read_index_ledger
from gristmill.lake.ledger.model import Ledger as Head
from gristmill.lake.rows.blocklists.blocklist import read_blocklist
from gristmill.lake.rows.shard_file import verify_pieces
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import Export, format_parameters
from gristmill.recipes.export_formats.codec import ExportedFile, Release
from gristmill.recipes.export_formats.formats import codec_of_format
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.stages.export.epoch import TokensMissing, energon_epoch_reading
from gristmill.stages.export.release import (
    WRITING,
    build_release,
    check_small_files,
    release_document_files,
    small_release_files,
    write_large_files,
)
from gristmill.stages.mixing.index import (
    Closed,
    Index,
    Slice,
    compose_slice_index,
    finished_slice_heads,
    index_path,
    open_index_reasons,
    slices_as_inputs,
)
from gristmill.stages.mixing.sound_mix import check_closed_mix

_RELEASE = re.compile(rf"{pattern_as_regex(EXPORT_INDEX.address)}/(release-[0-9a-f]+/|metadataset-[0-9a-f]+\.yaml$)")


def index_export(
    store: Store, mix: Mix, export: Export, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]
) -> Index:
    """Builds the index and its release. Files that the lake has already are not written again.

    Args:
        store: the lake.
        mix: the mix's recipe.
        export: the export's recipe.
        sources: the source of each stream.
        known: the snapshots of each stream's source.

    Returns:
        The index, as it was written.

    Raises:
        DataError: the mix fails a check of its own index, a ledger is wrong, an object of a part is shorter than it
            says, the format refused every document of the mix or gives a file a name that is taken, or a release of the
            lake names a file of the export's release with other bytes. Or, after all was written: see index_mix; or
            it is due again at once.
        RecipeError: a slice was made with other options of the format.
        StoreError: a slice is being rebuilt, an object of a part is damaged, or the lake does not answer.
        TokensMissing: the format asks for an epoch, and the token cache does not have a slice yet.
        Conflict: another run wrote the index meanwhile.
        AtWork: gc is removing old releases of the index.
    """
    store.sweep()
    asset = export_index(mix.name, export.name)
    writer = IndexWriter(store, asset)
    slices = finished_slice_heads(store, asset, mix, known)
    _check_slices(mix, export, slices)
    index, _ = closed = compose_slice_index(store, asset, slices, known, sources)
    check_closed_mix(store, mix, [(each.stream, each.snapshot) for each in index.slices])
    release = declared_release(store, mix, export, index)
    _check_release(mix, export, release, slices)
    check_small_files(release, export.format)
    writing = f"{index.asset}/{WRITING}"
    mark = as_json({"folder": release.folder, "token": uuid4().hex})
    take_over_claim(store, writing, mark, index.asset)
    try:
        _write_release_index(writer, store, export, index, release)
    except GristmillError:
        with suppress(StoreError):  # the lake does not answer: then it stays, as after a kill
            remove_mark(store, writing, mark)
        raise
    remove_mark(store, writing, mark)
    closed.check()
    _check_settled(store, closed, export, release)
    return index


def _write_release_index(writer: IndexWriter, store: Store, export: Export, index: Index, release: Release) -> None:
    digests = _unchanged_release_hashes(store, index.asset, release)
    if digests is None:
        digests = write_large_files(store, release, export.format)
    for path, sha256 in digests.items():
        writer.add(path, sha256)
    for path, data in small_release_files(release, export.format, digests).items():
        with upload_unless_pinned(store, path, hashlib.sha256(data).hexdigest()):
            _check_unedited(store, release, path, data)
            writer.put(path, data)
    writer.put(index_path(index.asset), as_json(index))
    writer.close(slices_as_inputs(index))


def why_export_open(
    store: Store, mix: Mix, export: Export, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The reasons why the index of an export would be written again; empty if the lake has it. The arguments: as in
    index_export.

    Of the large files of the release, only the sizes are compared; `verify` reads them.

    Raises:
        DataError: a ledger of a slice is wrong, or the format gives a file a name that is taken.
    """
    asset = export_index(mix.name, export.name)
    index, _ = closed = compose_slice_index(
        store, asset, finished_slice_heads(store, asset, mix, known), known, sources
    )
    try:
        release = declared_release(store, mix, export, index)
    except TokensMissing as error:
        return (str(error),)
    killed = ("a run that wrote it was killed",) if store.head(f"{index.asset}/{WRITING}") else ()
    return (*_why_open(store, closed, export, release), *killed)


def _check_settled(store: Store, closed: Closed, export: Export, release: Release) -> None:
    if why := _why_open(store, closed, export, release):
        raise DataError(
            f"{closed.content.asset}: it was written, but is due again at once: {'; '.join(why)}; if another run is at"
            f" work, run again; if not, methods of the format {export.format.type!r} do not always give the same: mend"
            " its codec"
        )


def _why_open(store: Store, closed: Closed, export: Export, release: Release) -> tuple[str, ...]:
    digests = _unchanged_release_hashes(store, closed.content.asset, release)
    files: dict[str, bytes | None] = dict.fromkeys(release.sizes)
    if digests is not None:
        files |= small_release_files(release, export.format, digests)
    return open_index_reasons(store, closed, files, large=release.sizes)


def declared_release(store: Store, mix: Mix, export: Export, index: Index) -> Release:
    """The release that the recipes make of the slices of an index, not yet written.

    Args:
        store: the lake.
        mix: the mix's recipe.
        export: the export's recipe.
        index: the index of the export: its slices.

    Raises:
        TokensMissing: the format asks for an epoch, and the token cache does not have a slice yet.
        RecipeError: the lake lacks a blocklist, or the mix has no budget for the epoch.
        DataError: a ledger or a blocklist is wrong, or the budget cannot be met.
        StoreError: a slice is being rebuilt.
    """
    excluded = samples_to_exclude(store, mix, export, index.slices)
    reading = energon_epoch_reading(store, mix, export, index.slices)
    repeated = {each.stream: each.epochs for each in reading.streams if each.epochs} if reading else {}
    weights = reading.shares if reading and mix.by_tokens else mix.weights
    return build_release(store, index.asset, export.format, index.slices, weights, excluded, repeated)


def samples_to_exclude(store: Store, mix: Mix, export: Export, slices: Sequence[Slice]) -> list[str]:
    """The samples that a release must exclude, because a blocklist of the mix or the recipe names them.

    So a takedown reaches a release before the parts are made again. The parts are asked, not the mix: so it does not
    matter whether the mix was made again already. A part that was made again has no such document, and nothing of it is
    excluded.

    Args:
        store: the lake.
        mix: the mix's recipe, which names the blocklists of each stream.
        export: the export's recipe.
        slices: the slices of the export in the release.

    Returns:
        Paths of samples, as `path/key`; no samples if the format cannot exclude any.

    Raises:
        DataError: a blocklist or a ledger is wrong, or the recipe excludes a sample that no part has.
        RecipeError: the lake has no such blocklist.
        StoreError: a part is damaged, or its slice is being rebuilt.
    """
    codec = codec_of_format(export.format)
    if not codec.can_exclude:
        return []
    lists = {name: read_blocklist(store, name) for stream in mix.streams for name in stream.blocklists}
    blocked = {s.key: {pair for name in s.blocklists for pair in lists[name].reasons} for s in mix.streams}

    def read(file: ExportedFile) -> Iterator[bytes]:
        return verify_pieces(store.stream(file.path), file.path, file.sha256)

    return codec.excluded(release_document_files(store, export_index(mix.name, export.name), slices), blocked, read)


def release_folder(path: str) -> str:
    """The folder of the release that an object is in, with its closing slash; empty if it is in no release.

    The metadataset of a release of Energon is a file beside the folder. Then it is the path of this file.

    >>> release_folder("exports/blend/oscar/index/release-1f/en/en.jsonl.gz")
    'exports/blend/oscar/index/release-1f/'
    """
    found = _RELEASE.match(path)
    return found[0] if found else ""


def is_old_release(ledger: IndexLedger, path: str) -> bool:
    """Whether an object below an index belongs to a release that its ledger does not name, or says that one is written.

    Such objects stay until gc removes them, because someone may read them.
    """
    folder = release_folder(path)
    return path == f"{ledger.asset}/{WRITING}" or bool(
        folder and not any(each.startswith(folder) for each in ledger.files)
    )


def _check_slices(mix: Mix, export: Export, slices: Mapping[str, Mapping[str, Head]]) -> None:
    """Checks that all slices were made with the options that the release would name.

    Raises:
        RecipeError: one was not.
    """
    declared = format_parameters(export.format)
    for stream, heads in slices.items():
        for snapshot, head in heads.items():
            made = head.recipe.parameters.get("format")
            if head.totals.get("shards") and made != declared:
                raise RecipeError(
                    f"{export_index(mix.name, export.name)}: the slice {stream}/{snapshot} was made with other"
                    f" options than the recipe has now: {change_in_words('format', made, declared)}; give the export"
                    " another name, or make the slice again, which only a draft can"
                )


def _check_release(mix: Mix, export: Export, release: Release, slices: Mapping[str, Mapping[str, Head]]) -> None:
    """Checks that a release has documents, if the mix has some.

    Raises:
        DataError: the format refused all of them.
    """
    refused: Counter[str] = Counter()
    for heads in slices.values():
        for head in heads.values():
            refused.update(head.dropped)
    if refused and not release.files and not release.named:
        reasons = ", ".join(f"{reason}: {number:,}" for reason, number in refused.most_common(5))
        raise DataError(
            f"{export_index(mix.name, export.name)}: the release would be empty, because the format refused every"
            f" document ({reasons}); correct the format of export {export.name!r}"
        )


def _check_unedited(store: Store, release: Release, path: str, data: bytes) -> None:
    """Checks that nobody has edited a file of a release that people may want to edit.

    Raises:
        DataError: the file in the lake would become another one, though its folder is never changed.
    """
    people_edit = path.startswith(release.folder) and path.endswith(".yaml")
    tagged = store.read_tagged(path) if people_edit else None
    if tagged is not None and tagged[0] != data:
        raise DataError(
            f"{path}: it was edited, or is damaged; write what you want into the recipe of the export, then delete"
            " this file and make the index again"
        )


def _unchanged_release_hashes(store: Store, asset: str, release: Release) -> dict[str, str] | None:
    """The sha256 of each large file of a release, if the index in the lake has this release; else None."""
    try:
        ledger = read_index_ledger(store, ledger_of_asset(asset))
    except NewerSchema:
        raise
    except DataError:
        return None
    if ledger is None or not release.sizes.keys() <= ledger.files.keys():
        return None
    for path, size in release.sizes.items():
        entry = store.head(path)
        if entry is None or size not in {None, entry.size}:
            return None
    return {path: ledger.files[path] for path in release.sizes}
