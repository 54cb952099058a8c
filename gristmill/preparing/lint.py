"""Checks a prepared dataset of tars: tars, indexes, counts, splits and `dataset.yaml` must agree.

Every header of every tar is read again. The code of a `sample_loader.py` is never run.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from gristmill.errors import DataError
from gristmill.formats.energon.dataset_yaml import DATASET_YAML
from gristmill.formats.energon.info import INFO
from gristmill.formats.energon.keys import unusable_characters
from gristmill.formats.energon.samples import index_name, read_index
from gristmill.formats.energon.split import SPLIT_JSON, SPLIT_YAML, read_split
from gristmill.formats.energon.sqlite_index import index_rows
from gristmill.formats.energon.yaml_text import read_yaml
from gristmill.lake.store.protocol import Store
from gristmill.preparing.dataset import INDEX, UUID, DatasetPath, is_tar, listed, meta_path
from gristmill.preparing.files import fetch, read_optional
from gristmill.preparing.flaw import Flaw, flaw_of
from gristmill.preparing.index_file import as_index_of_dataset, build_index, has_samples
from gristmill.preparing.prepare import Watch, count_flaws, read_counts
from gristmill.preparing.shards import ShardTask, WalkedShard, kept_offsets, walk_shards
from gristmill.preparing.split_file import split_file_flaws

_AGAIN = "prepare the dataset again with --force-overwrite"
_INDEX_AGAIN = "run prepare with --tar-index-only"


class LintOptions(NamedTuple):
    """What a check is asked for.

    Attributes:
        splits: that must have a shard, if the split file names them.
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
        options: what is asked for.
        watch: takes each shard when it was walked over.

    Returns:
        What was found in each shard, and all flaws.

    Raises:
        StoreError: the store does not answer.
    """
    store = dataset.store()
    try:
        counts = read_counts(store)
    except DataError as error:
        return [], [flaw_of(error, meta_path(INFO))]
    flaws = [*_path_flaws(dataset, store, counts), *_yaml_flaws(store, counts, options)]
    with TemporaryDirectory(dir=options.tmp, prefix="gristmill-energon-") as folder:
        tasks = [
            ShardTask(dataset.lake, shard, f"{folder}/{number}.rows", thorough=True)
            for number, shard in enumerate(counts)
        ]
        walked: list[WalkedShard] = []
        for shard in walk_shards(tasks, options.workers):
            watch(shard)
            walked.append(shard)
            flaws += [*shard.flaws, *count_flaws(shard, counts[shard.shard])]
            if not shard.flaws or all(flaw.warning for flaw in shard.flaws):
                flaws += _offset_flaws(store, shard)
        if not any(not flaw.warning for shard in walked for flaw in shard.flaws):
            flaws += _index_flaws(store, walked, Path(folder))
    return walked, flaws


def _path_flaws(dataset: DatasetPath, store: Store, counts: Mapping[str, int]) -> Iterator[Flaw]:
    unusable = "".join(character for character in dict.fromkeys(dataset.lake.url) if character in "#%?")
    if unusable:
        what = f"the dataset's own path has {unusable!r}: samples cannot be read at random, only in order"
        yield Flaw(".", what, "rename the folder", warning=True)
    for shard in counts:
        if unusable_characters(shard):
            what = f"the loader cannot use a path with {unusable_characters(shard)!r}"
            yield Flaw(shard, what, f"rename the shard, then {_AGAIN}")
    for entry in listed(store):
        if is_tar(entry.path) and entry.path not in counts:
            yield Flaw(entry.path, f"{INFO} does not name this shard", f"remove it, or {_AGAIN}", warning=True)


def _yaml_flaws(store: Store, counts: Mapping[str, int], options: LintOptions) -> Iterator[Flaw]:
    path = meta_path(options.split_config)
    data = read_optional(store, path)
    if data is None and options.split_config == SPLIT_YAML:
        path = meta_path(SPLIT_JSON)
        data = read_optional(store, path)
    try:
        if data is None:
            yield Flaw(meta_path(options.split_config), "there is no split file", _AGAIN)
        else:
            yield from split_file_flaws(path, read_split(data, path), counts, options.splits)
    except DataError as error:
        yield flaw_of(error, path)
    yield from _dataset_flaws(store, meta_path(options.dataset_config))


def _dataset_flaws(store: Store, path: str) -> Iterator[Flaw]:
    data = read_optional(store, path)
    if data is None:
        yield Flaw(path, "it is not there, and the loader needs it", _AGAIN)
        return
    try:
        value = read_yaml(data, path)
    except DataError as error:
        yield flaw_of(error, path)
        return
    kind = value.get("sample_type", value)
    if not isinstance(kind, dict) or not isinstance(kind.get("__class__"), str):
        what = "it names neither a `sample_type` nor a class"
        yield Flaw(path, what, "for crude samples write __module__: megatron.energon and __class__: CrudeWebdataset")
    for name in ("sample_loader", "part_filter"):
        if name in value:
            what = f"its {name} is {value[name]!r}: code that the loader runs, and that was not run here"
            yield Flaw(path, what, "read that file; better: crude samples and a cooker", warning=True)
    loader = meta_path("sample_loader.py")
    if store.head(loader) and "sample_loader" not in value:
        yield Flaw(loader, "it is not used; it was not run here", "remove it", warning=True)


def _offset_flaws(store: Store, shard: WalkedShard) -> Iterator[Flaw]:
    path = index_name(shard.shard)
    data = read_optional(store, path)
    if data is None:
        yield Flaw(path, "there is no index", _INDEX_AGAIN)
        return
    try:
        offsets = read_index(data, path)
    except DataError as error:
        yield flaw_of(error, path)
        return
    found = np.concatenate(list(kept_offsets(Path(shard.rows))))
    if len(found) != len(offsets):
        what = f"it has {len(offsets) - 1:,} samples, but the tar has {shard.samples:,}"
        yield Flaw(path, what, _INDEX_AGAIN)
    elif (wrong := np.flatnonzero(offsets[1:] != found[1:])).size:  # the loader begins the first sample at byte 0
        what = f"sample {wrong[0]} ends at byte {offsets[wrong[0] + 1]:,}, but in the tar at {found[wrong[0] + 1]:,}"
        yield Flaw(path, what, _INDEX_AGAIN)


def _index_flaws(store: Store, walked: Sequence[WalkedShard], folder: Path) -> Iterator[Flaw]:
    """Compares `index.sqlite` with one that is made of the tars, row by row."""
    path, old, new = meta_path(INDEX), folder / "old.sqlite", folder / INDEX
    duplicates = build_index(new, walked)
    yield from duplicates
    if store.head(path) is None:
        yield Flaw(path, "there is no index: samples can be read in order, not at random", _INDEX_AGAIN, warning=True)
        return
    if store.head(meta_path(UUID)) is None:
        yield Flaw(meta_path(UUID), "it is not there", _INDEX_AGAIN, warning=True)
    if duplicates:
        return
    fetch(store, path, old)
    if not has_samples(old):
        yield Flaw(path, "it is no index of samples", _INDEX_AGAIN)
        return
    for table in ("samples", "sample_parts"):
        try:
            yield from _table_flaws(old, new, table)
        except DataError as error:
            yield flaw_of(error, path)


def _table_flaws(old: Path, new: Path, table: str) -> Iterator[Flaw]:
    """The first row of a table that is another one in the index of the tars."""
    with as_index_of_dataset(old):
        for row, (recorded, found) in enumerate(zip_longest(index_rows(old, table), index_rows(new, table))):
            if recorded != found:
                what = f"table {table} has {_shown(recorded)}, but the tars have {_shown(found)}"
                yield Flaw(meta_path(INDEX), what, _INDEX_AGAIN, f"row {row}")
                return


def _shown(row: tuple[str | int, ...] | None) -> str:
    return "no row more" if row is None else repr(row)
