"""Checks a prepared dataset of tars: tars, indexes, counts, splits and `dataset.yaml` must agree.

Every header of every tar is read again. The code of a `sample_loader.py` is never run.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gristmill.energon.formats.dataset_yaml import DATASET_YAML
from gristmill.energon.formats.info import INFO, is_tar
from gristmill.energon.formats.split import SPLIT_YAML, SplitFile, read_split
from gristmill.energon.formats.sqlite_index import absent_indexes, index_rows, sqlite_index_damage
from gristmill.energon.preparing.dataset import INDEX, UUID, DatasetPath, list_files, meta_path
from gristmill.energon.preparing.dataset_file import DatasetFile, first_sample_flaws, part_flaws, read_dataset_file
from gristmill.energon.preparing.files import copy_to_local_file, read_optional, scratch_folder
from gristmill.energon.preparing.flaw import Flaw, flaw_from_error, has_errors
from gristmill.energon.preparing.index_file import as_index_of_dataset, build_index, drop_absent_samples, media_flaws
from gristmill.energon.preparing.jsonl import read_sample_offsets
from gristmill.energon.preparing.prepare import Watch, count_flaws, read_counts
from gristmill.energon.preparing.shards import ShardTask, WalkedShard, flaw_of_non_shard, kept_offsets, walk_shards
from gristmill.energon.preparing.split_file import find_split, sample_flaws, split_file_flaws
from gristmill.errors import DataError
from gristmill.formats.tar.keys import unusable_characters
from gristmill.formats.tar.samples import index_name
from gristmill.lake.store.protocol import Store

_AGAIN = "prepare the dataset again with --force-overwrite"
_INDEX_AGAIN = "run prepare with --tar-index-only"


class LintOptions(NamedTuple):
    """What a check is asked for.

    Attributes:
        splits: names of splits that must have a shard, if the split file names them.
        dataset_config: name of the file that says how samples are made.
        split_config: name of the split file.
        workers: number of processes.
        tmp: a folder of this machine for indexes.
    """

    splits: Sequence[str] = ("train", "val", "test")
    dataset_config: str = DATASET_YAML
    split_config: str = SPLIT_YAML
    workers: int = 1
    tmp: str | None = None


def lint_tars(dataset: DatasetPath, options: LintOptions, watch: Watch) -> tuple[list[WalkedShard], list[Flaw]]:
    """Checks a prepared dataset of tars.

    Args:
        dataset: the folder.
        options: options that say what is asked for.
        watch: function that takes each shard when it was walked over.

    Returns:
        What was found in each shard, and all flaws.

    Raises:
        StoreError: the store does not answer.
    """
    store = dataset.open_dataset_store()
    try:
        counts = read_counts(store)
    except DataError as error:
        return [], [flaw_from_error(error, meta_path(INFO))]
    flaws = [*_shard_name_flaws(dataset, counts), *_unlisted_tar_flaws(store, counts)]
    split, found = _read_split(store, options.split_config)
    flaws += [*found, *(split_file_flaws(split[0], split[1], counts, options.splits) if split else ())]
    typed = _dataset_file_flaws(store, meta_path(options.dataset_config))
    flaws += typed.flaws
    with scratch_folder(options.tmp) as folder:
        tasks = [
            ShardTask(dataset.lake, shard, f"{folder}/{number}.rows", wanted=tuple(typed.places.values()))
            for number, shard in enumerate(counts)
        ]
        walked: list[WalkedShard] = []
        for shard in walk_shards(tasks, options.workers):
            watch(shard)
            walked.append(shard)
            flaws += [*shard.flaws, *count_flaws(shard, counts[shard.shard])]
            flaws += [] if has_errors(shard.flaws) else _tar_offset_flaws(store, shard)
        flaws += part_flaws(meta_path(options.dataset_config), typed.places, walked)
        flaws += first_sample_flaws(store, typed, meta_path(options.dataset_config), walked)
        sound = not any(has_errors(shard.flaws) for shard in walked)
        new = folder / INDEX
        duplicates = build_index(new, walked) if sound else []
        compared = sound and not duplicates
        excluded = list(sample_flaws(split[0], split[1], counts, new)) if split and compared else []
        left_out = split[1].exclude if split else []
        flaws += [*duplicates, *_index_flaws(store, new if compared else None, folder, left_out), *excluded]
    return walked, flaws


def _shard_name_flaws(dataset: DatasetPath, counts: Mapping[str, int]) -> Iterator[Flaw]:
    unusable = "".join(character for character in dict.fromkeys(dataset.lake.url) if character in "#%?")
    if unusable:
        what = f"the dataset's own path has {unusable!r}: samples cannot be read at random, only in order"
        yield Flaw(".", what, "rename the folder", warning=True)
    for shard in counts:
        if unusable_characters(shard):
            what = f"the loader cannot use a path with {unusable_characters(shard)!r}"
            yield Flaw(shard, what, f"rename the shard, then {_AGAIN}")


def _unlisted_tar_flaws(store: Store, counts: Mapping[str, int]) -> Iterator[Flaw]:
    for entry in list_files(store):
        if entry.path in counts:
            continue
        if is_tar(entry.path):
            yield Flaw(entry.path, f"{INFO} does not name this shard", f"remove it, or {_AGAIN}", warning=True)
        elif flaw := flaw_of_non_shard(entry.path):
            yield flaw._replace(warning=True)  # the loader reads what .info.json names, and no other file


def _read_split(store: Store, name: str) -> tuple[tuple[str, SplitFile] | None, list[Flaw]]:
    """The split file and its path, or why it cannot be read."""
    path, data = find_split(store, name)
    if data is None:
        return None, [Flaw(meta_path(name), "there is no split file", _AGAIN)]
    try:
        return (path, read_split(data, path)), []
    except DataError as error:
        return None, [flaw_from_error(error, path)]


def _dataset_file_flaws(store: Store, path: str) -> DatasetFile:
    data = read_optional(store, path)
    if data is None:
        return DatasetFile([Flaw(path, "it is not there, and the loader needs it", _AGAIN)], {}, {})
    found = read_dataset_file(data, path)
    loader = meta_path("sample_loader.py")
    if store.head(loader) and b"sample_loader" not in data:
        found.flaws.append(Flaw(loader, "it is not used; it was not run here", "remove it", warning=True))
    return found


def _tar_offset_flaws(store: Store, shard: WalkedShard) -> Iterator[Flaw]:
    path = index_name(shard.shard)
    offsets = read_sample_offsets(store, path, _INDEX_AGAIN)
    if isinstance(offsets, Flaw):
        yield offsets
        return
    found = np.concatenate(list(kept_offsets(Path(shard.rows))))
    if len(found) != len(offsets):
        what = f"it has {len(offsets) - 1:,} samples, but the tar has {shard.samples:,}"
        yield Flaw(path, what, _INDEX_AGAIN)
    elif (wrong := np.flatnonzero(offsets[1:] != found[1:])).size:  # the loader begins the first sample at byte 0
        what = f"sample {wrong[0]} ends at byte {offsets[wrong[0] + 1]:,}, but in the tar at {found[wrong[0] + 1]:,}"
        yield Flaw(path, what, _INDEX_AGAIN)


def _index_flaws(store: Store, new: Path | None, folder: Path, left_out: Sequence[str]) -> Iterator[Flaw]:
    """Checks `index.sqlite`, and compares it row by row with one that was made of the tars, if there is one.

    It may lack shards and samples that are left out, for random access does not look at `exclude` of `split.yaml`.
    """
    path, old = meta_path(INDEX), folder / "old.sqlite"
    if store.head(path) is None:
        yield Flaw(path, "there is no index: samples can be read in order, not at random", _INDEX_AGAIN, warning=True)
        return
    if store.head(meta_path(UUID)) is None:
        yield Flaw(meta_path(UUID), "it is not there", _INDEX_AGAIN, warning=True)
    if log := store.head(f"{path}-wal"):
        what = f"{log.size:,} bytes of it are in a log beside it, which the loader does not read"
        yield Flaw(path, what, _INDEX_AGAIN)
    copy_to_local_file(store, path, old)
    damage = sqlite_index_damage(old)
    yield from (Flaw(path, f"it is damaged: {each}", _INDEX_AGAIN) for each in damage)
    if damage:
        return
    if absent := absent_indexes(old):
        what = f"it lacks {', '.join(absent)}: reading at random is slow"
        yield Flaw(path, what, _INDEX_AGAIN, warning=True)
    if new:
        try:
            drop_absent_samples(new, old, left_out, list(read_counts(store)))
            yield from _table_flaws(old, new, "samples")
            yield from _table_flaws(old, new, "sample_parts")
            yield from media_flaws(old, new)
        except DataError as error:
            yield flaw_from_error(error, path)


def _table_flaws(old: Path, new: Path, table: str) -> Iterator[Flaw]:
    """The first row of a table that is another one in the index of the tars."""
    with as_index_of_dataset(old):
        for row, (recorded, found) in enumerate(zip_longest(index_rows(old, table), index_rows(new, table))):
            if recorded != found:
                what = f"table {table} has {_row_in_words(recorded)}, but the tars have {_row_in_words(found)}"
                yield Flaw(meta_path(INDEX), what, _INDEX_AGAIN, f"row {row}")
                return


def _row_in_words(row: tuple[str | int, ...] | None) -> str:
    return "no row more" if row is None else repr(row)
