"""Adds media metadata to a prepared dataset of tars, or to a folder of files: the tables in `index.sqlite`.

Metadata of an earlier run stay, so that there are metadata for all that any of the filters selected.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gristmill.errors import DataError, RecipeError
from gristmill.formats.energon.media import HEAD, MediaFilter, MediaRow
from gristmill.formats.energon.sqlite_index import SELECTED, add_media, index_digest
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Entry, Store
from gristmill.preparing.dataset import INDEX, DatasetPath, kind_of, listed, meta_path
from gristmill.preparing.files import fetch, write_file
from gristmill.preparing.flaw import Flaw, refuses
from gristmill.preparing.index_file import as_index_of_dataset, has_samples, shard_media
from gristmill.preparing.metadataset.view import ViewedFolder
from gristmill.preparing.prepare import Prepared, count_flaws, read_counts
from gristmill.preparing.shards import ShardTask, read_media, walk_shards

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
        media: which members are media.
        workers: number of processes.
        tmp: a folder of this machine for the index while it is built.

    Raises:
        DataError: the dataset is not prepared, or its index cannot be read.
        StoreError: the store does not answer, or the index cannot be written.
    """
    store = dataset.store()
    counts = read_counts(store)
    with TemporaryDirectory(dir=tmp, prefix="gristmill-energon-") as folder:
        index = Path(folder) / INDEX
        fetch(store, meta_path(INDEX), index)
        if not has_samples(index):
            raise DataError(f"{meta_path(INDEX)}: it has no samples; run prepare with --tar-index-only first")
        tasks = [ShardTask(dataset.lake, shard, f"{folder}/{n}.rows", media) for n, shard in enumerate(counts)]
        walked = list(walk_shards(tasks, workers))
        flaws = [flaw for shard in walked for flaw in [*shard.flaws, *count_flaws(shard, counts[shard.shard])]]
        if refuses(flaws):
            return Prepared(walked, flaws)
        _add(store, index, shard_media(walked), media, known=True)
    media_flaws = [flaw for shard in walked for flaw in shard.media_flaws]
    return Prepared(walked, flaws, True, sum(shard.media for shard in walked), media_flaws)  # noqa: FBT003 - a field


def add_file_media(dataset: DatasetPath, media: MediaFilter, workers: int, tmp: str | None) -> Prepared:
    """Adds the metadata of the media files in a folder. Its index has no samples.

    Args:
        dataset: the folder.
        media: which files are media.
        workers: number of processes.
        tmp: as `add_tar_media`.

    Raises:
        RecipeError: the folder has tars but is not prepared; or no file is selected.
        DataError: its index cannot be read.
        StoreError: the store does not answer, or the index cannot be written.
    """
    store = dataset.store()
    if kind_of(dataset, store) == "tars":
        raise RecipeError(f"{dataset.url}: it has tars that are not prepared; run prepare with a --media option")
    entries = [entry for entry in listed(store) if media.may_be_media(entry.path)]
    if not entries:
        raise RecipeError(
            f"{dataset.url}: no file is selected; give another --media option, or the folder of the media"
        )
    tasks = [_FilesTask(dataset.lake, entries[n : n + _FILES], media) for n in range(0, len(entries), _FILES)]
    flaws: list[Flaw] = []
    number = 0

    def rows() -> Iterator[MediaRow]:
        nonlocal number
        for found, wrong in _read_all(tasks, workers):
            flaws.extend(wrong)
            number += len(found)
            yield from found

    with TemporaryDirectory(dir=tmp, prefix="gristmill-energon-") as folder:
        index = Path(folder) / INDEX
        known = store.head(meta_path(INDEX)) is not None
        if known:
            fetch(store, meta_path(INDEX), index)
        _add(store, index, rows(), media, known=known)
    return Prepared([], [], True, number, flaws)  # noqa: FBT003 - a field


def _add(store: Store, index: Path, rows: Iterator[MediaRow], media: MediaFilter, *, known: bool) -> None:
    with as_index_of_dataset(index):
        before = index_digest(index) if known else ""
        add_media(index, rows, [media], SELECTED)
        changed = index_digest(index) != before
    store.sweep()
    if changed:
        write_file(store, meta_path(INDEX), index)
    store.sweep()


def _read_all(tasks: Sequence[_FilesTask], workers: int) -> Iterator[tuple[list[MediaRow], list[Flaw]]]:
    if min(workers, len(tasks)) < 2:
        yield from map(_read_files, tasks)
        return
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(_read_files, tasks)


def _read_files(task: _FilesTask) -> tuple[list[MediaRow], list[Flaw]]:
    store = task.lake.store()
    rows: list[MediaRow] = []
    flaws: list[Flaw] = []
    for entry in task.entries:
        head = store.read_range(entry.path, 0, min(entry.size, HEAD)) if entry.size else b""
        kind = task.media.kind(entry.path, head)
        if kind is None:
            continue
        row, flaw = read_media(entry.path, entry.path, kind, store.read(entry.path))
        rows += [row] if row else []
        flaws += [flaw] if flaw else []
    return rows, flaws
