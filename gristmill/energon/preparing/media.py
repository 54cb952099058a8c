"""Adds media metadata to a prepared dataset of tars, or to a folder of files: the tables in `index.sqlite`.

Metadata of an earlier run stay, so that there are metadata for all that any of the filters selected.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from gristmill.energon.formats.media import HEAD, MediaFilter, MediaRow
from gristmill.energon.formats.sqlite_index import SELECTED, add_media_rows, index_digest, sqlite_index_damage
from gristmill.energon.preparing.dataset import INDEX, DatasetPath, kind_of, list_files, meta_path
from gristmill.energon.preparing.files import copy_to_local_file, lock_folder, scratch_folder, write_file
from gristmill.energon.preparing.flaw import Flaw, has_errors
from gristmill.energon.preparing.index_file import as_index_of_dataset, media_rows_of_shards
from gristmill.energon.preparing.metadataset.view import ViewedFolder
from gristmill.energon.preparing.prepare import Prepared, count_flaws, read_counts
from gristmill.energon.preparing.shards import ShardTask, check_media, walk_shards
from gristmill.errors import DataError, RecipeError
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Entry, Store
from gristmill.pool import run_in_processes

_MEND = "give another --media option, or the folder of the media"
_FILES = 64
"""Files of one task of a worker."""


class _FilesTask(NamedTuple):
    lake: Lake | ViewedFolder
    entries: list[Entry]
    media: MediaFilter


def add_tar_media(dataset: DatasetPath, media: MediaFilter, workers: int, tmp: str | None) -> Prepared:
    """Adds the metadata of the media in the tars of a prepared dataset.

    Args:
        dataset: the folder.
        media: filter that says which members are media.
        workers: number of processes.
        tmp: a folder of this machine for the index while it is built.

    Returns:
        The walked shards, the flaws, and the number of media.

    Raises:
        DataError: the dataset is not prepared, or its index cannot be read.
        RecipeError: no member is selected.
        StoreError: the store does not answer, or the index cannot be written.
    """
    store = dataset.open_dataset_store()
    counts = read_counts(store)
    with lock_folder(store), scratch_folder(tmp) as folder:
        index = folder / INDEX
        copy_to_local_file(store, meta_path(INDEX), index)
        if damage := sqlite_index_damage(index):
            raise DataError(f"{meta_path(INDEX)}: it is damaged: {damage[0]}; run prepare with --tar-index-only first")
        known = index_digest(index)
        tasks = [ShardTask(dataset.lake, shard, f"{folder}/{n}.rows", media) for n, shard in enumerate(counts)]
        walked = list(walk_shards(tasks, workers))
        flaws = [flaw for shard in walked for flaw in [*shard.flaws, *count_flaws(shard, counts[shard.shard])]]
        if has_errors(flaws):
            return Prepared(walked, flaws)
        media_flaws = [flaw for shard in walked for flaw in shard.media_flaws]
        if not media_flaws and not any(shard.media for shard in walked):
            raise nothing_selected_error(dataset, media)
        _add_media_rows(index, media_rows_of_shards(walked), media)
        _write_changed_index(store, index, known)
    return Prepared(walked, flaws, True, sum(shard.media for shard in walked), media_flaws)  # noqa: FBT003 - a field


def add_file_media(dataset: DatasetPath, media: MediaFilter, workers: int, tmp: str | None) -> Prepared:
    """Adds the metadata of the media files in a folder. Its index has no samples.

    Args:
        dataset: the folder.
        media: filter that says which files are media.
        workers: number of processes.
        tmp: folder for scratch files, as for `add_tar_media`.

    Returns:
        The flaws, and the number of media.

    Raises:
        RecipeError: no file is selected, for example because the folder has only tars that are not prepared.
        DataError: its index cannot be read.
        StoreError: the store does not answer, or the index cannot be written.
    """
    store = dataset.open_dataset_store()
    tars = kind_of(dataset, store) == "tars"
    entries = [entry for entry in list_files(store) if media.may_be_media(entry.path)]
    tasks = [_FilesTask(dataset.lake, entries[n : n + _FILES], media) for n in range(0, len(entries), _FILES)]
    flaws: list[Flaw] = []
    number = 0

    def rows() -> Iterator[MediaRow]:
        nonlocal number
        for found, wrong in run_in_processes([partial(_read_media_files, task) for task in tasks], workers):
            flaws.extend(wrong)
            number += len(found)
            yield from found

    with lock_folder(store), scratch_folder(tmp) as folder:
        index = folder / INDEX
        known = ""
        if store.head(meta_path(INDEX)):
            copy_to_local_file(store, meta_path(INDEX), index)
            with as_index_of_dataset(index):
                known = index_digest(index)
        _add_media_rows(index, rows(), media)
        if not number and not flaws:
            raise nothing_selected_error(dataset, media, tars=tars)
        _write_changed_index(store, index, known)
    if tars:
        what = "it has tars that are not prepared: media in them have no metadata"
        flaws.append(Flaw(".", what, "put the media files into a folder of their own", warning=True))
    return Prepared([], [], True, number, flaws)  # noqa: FBT003 - a field


def nothing_selected_error(dataset: DatasetPath, media: MediaFilter, *, tars: bool = False) -> RecipeError:
    """The error that no file is media.

    Args:
        dataset: the folder.
        media: the filter that was asked for.
        tars: whether the folder has tars that are not prepared.
    """
    what = f"{media.strategy} {media.patterns}".strip()
    mend = "it has tars that are not prepared; run prepare with a --media option" if tars else _MEND
    return RecipeError(f"{dataset.url}: no file is media by {what}, so nothing was written; {mend}")


def _add_media_rows(index: Path, rows: Iterator[MediaRow], media: MediaFilter) -> None:
    with as_index_of_dataset(index):
        add_media_rows(index, rows, [media], SELECTED)


def _write_changed_index(store: Store, index: Path, known: str) -> None:
    """Writes the index, if its rows have another digest than the known one."""
    store.sweep()
    if index_digest(index) != known:
        write_file(store, meta_path(INDEX), index)
    store.sweep()


def _read_media_files(task: _FilesTask) -> tuple[list[MediaRow], list[Flaw]]:
    store = task.lake.store()
    rows: list[MediaRow] = []
    flaws: list[Flaw] = []
    for entry in task.entries:
        head = store.read_range(entry.path, 0, min(entry.size, HEAD)) if entry.size else b""
        kind = task.media.kind(entry.path, head)
        if kind is None:
            continue
        row, flaw = check_media(entry.path, entry.path, kind, store.read(entry.path))
        rows += [row] if row else []
        flaws += [flaw] if flaw else []
    return rows, flaws
