"""Prepares a folder of tars: indexes beside the tars, and the dataset's own files in `.nv-meta`.

The tars are never changed. If anything is wrong with them, nothing is written. `.info.json` is written last: without it
the loader takes the folder for no dataset. So a run that was killed is completed by the next one.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gristmill.energon.formats.dataset_yaml import DATASET_YAML
from gristmill.energon.formats.info import INFO, info_bytes, read_info
from gristmill.energon.formats.media import MediaFilter
from gristmill.energon.formats.split import SPLIT_YAML, read_split, split_bytes
from gristmill.energon.formats.sqlite_index import SELECTED, add_media_rows, index_digest, index_uuid
from gristmill.energon.preparing.changes import changed_shards, check_edits
from gristmill.energon.preparing.dataset import INDEX, LEGACY_INFO, UUID, DatasetPath, is_prepared, meta_path
from gristmill.energon.preparing.dataset_file import (
    DatasetFile,
    Places,
    first_sample_flaws,
    part_flaws,
    read_dataset_file,
)
from gristmill.energon.preparing.files import (
    copy_to_local_file,
    lock_folder,
    read_optional,
    scratch_folder,
    write_file,
    write_pieces,
)
from gristmill.energon.preparing.flaw import Flaw, flaw_from_error, has_errors
from gristmill.energon.preparing.index_file import build_index, copy_older_media_rows, media_rows_of_shards
from gristmill.energon.preparing.metadataset.view import check_name
from gristmill.energon.preparing.shards import ShardTask, WalkedShard, find_shards, kept_offsets, walk_shards
from gristmill.energon.preparing.split_file import sample_flaws, split_file_flaws
from gristmill.energon.preparing.splits import make_splits
from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.formats.tar.samples import index_bytes, index_name
from gristmill.formats.yaml_text import read_yaml
from gristmill.lake.store.protocol import Store


class PrepareOptions(NamedTuple):
    """What a preparation is asked for.

    Attributes:
        ratio: ratio of each split; empty without one.
        patterns: regular expressions of the splits; empty without one.
        exclude: a regular expression of tars to leave out.
        shuffle: whether the tars are shuffled before they are split by ratio.
        media: filter that says which members get media metadata.
        workers: number of processes.
        overwrite: whether files that are there already are replaced.
        renew: whether a prepared folder is prepared again. Its `split.yaml` is replaced only if it says what these
            options make of the shards that it names: then nobody has edited it.
        dataset_yaml: content of `dataset.yaml`; None: an existing one is kept, else it becomes that of crude samples.
        dataset_yaml_name: name of that file; empty: none is written.
        tmp: a folder of this machine for the index while it is built.
    """

    ratio: Mapping[str, float] = {}
    patterns: Sequence[tuple[str, str]] = ()
    exclude: str | None = None
    shuffle: bool = False
    media: MediaFilter | None = None
    workers: int = 1
    overwrite: bool = False
    renew: bool = False
    dataset_yaml: bytes | None = None
    dataset_yaml_name: str = DATASET_YAML
    tmp: str | None = None

    def split(self, shards: Sequence[str]) -> tuple[bytes, list[Flaw]]:
        """The split file of some shards, and what is wrong with it; see make_splits()."""
        splits, flaws = make_splits(shards, self.ratio, self.patterns, shuffle=self.shuffle)
        return split_bytes(splits), flaws


class Prepared(NamedTuple):
    """The result of a preparation.

    Attributes:
        shards: walked shards in the order of their ids.
        flaws: flaws that were found.
        written: whether files were written; False if a flaw is more than a warning.
        media: number of media files with metadata.
        media_flaws: media files that cannot be read. They have no metadata; all else was written.
    """

    shards: list[WalkedShard]
    flaws: list[Flaw]
    written: bool = False
    media: int = 0
    media_flaws: Sequence[Flaw] = ()


_LOST = "it could not be read, so it was made anew without media metadata"

Watch = Callable[[WalkedShard], None]
"""Takes each shard when it was walked over."""


def prepare_tars(dataset: DatasetPath, options: PrepareOptions, crude: bytes, watch: Watch) -> Prepared:
    """Prepares a folder of tars.

    Args:
        dataset: the folder.
        options: options that say what is asked for.
        crude: content of the `dataset.yaml` of crude samples.
        watch: function that takes each shard when it was walked over.

    Returns:
        The walked shards and the flaws, and whether it was written.

    Raises:
        RecipeError: it is prepared already, files that a person may have edited would be replaced, or an option is not
            valid.
        StoreError: the store does not answer, a file cannot be written, or another process prepares the folder.
    """
    with lock_folder(dataset.open_dataset_store()):
        return _prepare_tars(dataset, options, crude, watch)


def _prepare_tars(dataset: DatasetPath, options: PrepareOptions, crude: bytes, watch: Watch) -> Prepared:
    store = dataset.open_dataset_store()
    if is_prepared(store) and not options.overwrite and not options.renew:
        raise RecipeError(
            f"{dataset.url}: it is prepared already; give --force-overwrite to do it again, or --tar-index-only to make"
            " the indexes alone"
        )
    shards, flaws = find_shards(store, options.exclude)
    if not shards and not has_errors(flaws):
        passed = f" ({flaws[0]})" if flaws else ""
        left_out = f" that --exclude {options.exclude!r} does not leave out" if options.exclude else ""
        raise RecipeError(f"{dataset.url}: no tar is there{left_out}{passed}; give the folder that holds the shards")
    texts: dict[str, bytes] = {}
    kept = read_optional(store, meta_path(SPLIT_YAML))
    if options.patterns or options.ratio:
        texts[meta_path(SPLIT_YAML)], found = options.split(shards)
        flaws += [*found, *_dropped_excludes(kept)]
    elif kept is None:
        raise RecipeError("give the splits: --split-ratio 8,1,1 or --split-parts 'train:shards/train_.*'")
    if options.dataset_yaml_name:
        _add_dataset_yaml(store, options, crude, texts)
    if not options.overwrite:
        check_edits(store, texts, options.split if options.renew else None)
    typed = _dataset_file_to_write(store, options, texts)
    with scratch_folder(options.tmp) as folder:
        walked = _walk_shards(dataset, shards, options, folder, watch, typed.places)
        flaws += [flaw for shard in walked for flaw in shard.flaws]
        flaws += [*typed.flaws, *part_flaws(meta_path(options.dataset_yaml_name), typed.places, walked)]
        flaws += first_sample_flaws(store, typed, meta_path(options.dataset_yaml_name), walked)
        counts = {shard.shard: shard.samples for shard in walked}
        flaws += _build_sqlite_index(store, walked, flaws, folder)
        if meta_path(SPLIT_YAML) not in texts and kept is not None:
            flaws += _kept_flaws(kept, counts, None if has_errors(flaws) else folder / INDEX)
        return _write_prepared_files(
            store, walked, flaws, texts | {meta_path(INFO): info_bytes(counts)}, options, folder
        )


def prepare_indexes(dataset: DatasetPath, options: PrepareOptions, watch: Watch) -> Prepared:
    """Makes the indexes of a prepared dataset again: those beside the tars, and `index.sqlite`.

    Args:
        dataset: the folder.
        options: only workers and tmp are used.
        watch: function that takes each shard when it was walked over.

    Returns:
        The walked shards and the flaws, and whether it was written.

    Raises:
        DataError: it is not prepared, or its `.info.json` is wrong.
        StoreError: the store does not answer, or a file cannot be written.
    """
    store = dataset.open_dataset_store()
    counts = read_counts(store)
    with lock_folder(store), scratch_folder(options.tmp) as folder:
        walked = _walk_shards(dataset, list(counts), options, folder, watch)
        flaws = [flaw for shard in walked for flaw in shard.flaws]
        flaws += [flaw for shard in walked for flaw in count_flaws(shard, counts[shard.shard])]
        flaws += _build_sqlite_index(store, walked, flaws, folder)
        return _write_prepared_files(store, walked, flaws, {meta_path(INFO): info_bytes(counts)}, options, folder)


def count_flaws(shard: WalkedShard, count: int) -> list[Flaw]:
    """The flaw of a shard that has another number of samples than `.info.json` says; none for a damaged one."""
    if has_errors(shard.flaws) or shard.samples == count:
        return []
    what = f"it has {shard.samples:,} samples, but {INFO} says {count:,}"
    return [Flaw(shard.shard, what, "the tar was changed; prepare the dataset again with --force-overwrite")]


def read_counts(store: Store) -> dict[str, int]:
    """The samples of each shard as `.info.json` says, or its older form `.info.yaml`.

    Raises:
        DataError: neither is there, it is wrong, it names no shard, or one outside of the dataset.
    """
    data = read_optional(store, meta_path(INFO))
    if data is None:
        legacy = read_optional(store, meta_path(LEGACY_INFO))
        if legacy is None:
            raise DataError(f"{meta_path(INFO)}: the file is missing, so the dataset is not prepared; run prepare")
        counts = read_yaml(legacy, meta_path(LEGACY_INFO)).get("shard_counts")
        if not isinstance(counts, dict) or not all(isinstance(count, int) for count in counts.values()):
            raise DataError(f"{meta_path(LEGACY_INFO)}: it has no counts of shards; prepare the dataset again")
        data = info_bytes(counts)
    counts = read_info(data, meta_path(INFO))
    if not counts:
        raise DataError(f"{meta_path(INFO)}: it names no shard; prepare the dataset again with --force-overwrite")
    for shard in counts:
        try:
            check_name(store, shard)
        except StoreError as error:
            raise DataError(
                f"{meta_path(INFO)}: it names {shard!r:.200}, which is no path of a shard below this folder, so it is"
                " not read. Give the folder that holds all shards as --root"
            ) from error
    return counts


def _add_dataset_yaml(store: Store, options: PrepareOptions, crude: bytes, texts: dict[str, bytes]) -> None:
    path = meta_path(options.dataset_yaml_name)
    if options.dataset_yaml is not None:
        texts[path] = options.dataset_yaml
    elif store.head(path) is None:
        texts[path] = crude


def _dataset_file_to_write(store: Store, options: PrepareOptions, texts: Mapping[str, bytes]) -> DatasetFile:
    """The `dataset.yaml` that is written or kept."""
    path = meta_path(options.dataset_yaml_name)
    data = (texts.get(path) or read_optional(store, path)) if options.dataset_yaml_name else None
    return DatasetFile([], {}, {}) if data is None else read_dataset_file(data, path)


def _dropped_excludes(kept: bytes | None) -> list[Flaw]:
    """A warning if the split file that is replaced excludes something."""
    with suppress(DataError):
        excluded = read_split(kept, meta_path(SPLIT_YAML)).exclude if kept else []
        if excluded:
            what = f"the file that was there excluded {len(excluded):,} shards and samples, such as {excluded[0]!r}"
            return [
                Flaw(meta_path(SPLIT_YAML), f"{what}; the new one excludes nothing", "add them again", warning=True)
            ]
    return []


def _kept_flaws(data: bytes, counts: Mapping[str, int], index: Path | None) -> list[Flaw]:
    """The flaws of a split file that was there, and is kept; those of single samples only with an index."""
    path = meta_path(SPLIT_YAML)
    try:
        split = read_split(data, path)
    except DataError as error:
        return [flaw_from_error(error, path)]
    flaws = list(split_file_flaws(path, split, counts, ("train",)))
    return [*flaws, *sample_flaws(path, split, counts, index)] if index else flaws


def _walk_shards(
    dataset: DatasetPath,
    shards: Sequence[str],
    options: PrepareOptions,
    folder: Path,
    watch: Watch,
    places: Places | None = None,
) -> list[WalkedShard]:
    tasks = [
        ShardTask(dataset.lake, shard, str(folder / f"{number}.rows"), options.media, tuple((places or {}).values()))
        for number, shard in enumerate(shards)
    ]
    walked: list[WalkedShard] = []
    for shard in walk_shards(tasks, options.workers):
        watch(shard)
        walked.append(shard)
    return walked


def _build_sqlite_index(store: Store, walked: Sequence[WalkedShard], flaws: Sequence[Flaw], folder: Path) -> list[Flaw]:
    """Builds `index.sqlite` in a folder of this machine, unless a flaw is more than a warning."""
    if has_errors(flaws):
        return []
    return changed_shards(store, walked) or build_index(folder / INDEX, walked)


def _write_prepared_files(
    store: Store,
    walked: list[WalkedShard],
    flaws: list[Flaw],
    texts: Mapping[str, bytes],
    options: PrepareOptions,
    folder: Path,
) -> Prepared:
    """Writes all files, unless a flaw is more than a warning.

    Args:
        store: of the dataset.
        walked: its shards.
        flaws: found so far.
        texts: the small files of `.nv-meta`, `.info.json` last.
        options: what was asked for.
        folder: on this machine, with the new index.
    """
    new, old = folder / INDEX, folder / "old.sqlite"
    if has_errors(flaws):
        return Prepared(walked, flaws)
    media_flaws = [flaw for shard in walked for flaw in shard.media_flaws]
    if options.media and not media_flaws and not any(shard.media for shard in walked):
        what = f"no file is media by {options.media.strategy} {options.media.patterns}".rstrip()
        flaws.append(Flaw(".", what, "for another choice run prepare-media", warning=True))
    known = store.head(meta_path(INDEX)) is not None
    if known:
        copy_to_local_file(store, meta_path(INDEX), old)
    if options.media:
        add_media_rows(new, media_rows_of_shards(walked), [options.media], SELECTED)
    elif known:
        try:
            flaws += copy_older_media_rows(old, new)
        except DataError:
            flaws.append(Flaw(meta_path(INDEX), _LOST, "if it had some, run prepare-media", warning=True))
    _write_changed_files(store, walked, texts, new, old if known else None)
    return Prepared(walked, flaws, True, sum(shard.media for shard in walked), media_flaws)  # noqa: FBT003 - a field


def _write_changed_files(
    store: Store, walked: Sequence[WalkedShard], texts: Mapping[str, bytes], new: Path, old: Path | None
) -> None:
    """Writes the files that are not there yet with the same content.

    If an index changes, `.info.json` is removed first. So the loader never sees new indexes with old counts.
    """
    store.sweep()
    indexes = [
        (index_name(shard.shard), b"".join(map(index_bytes, kept_offsets(Path(shard.rows))))) for shard in walked
    ]
    changed = [(path, data) for path, data in indexes if read_optional(store, path) != data]
    same = old is not None and _index_digest(old) == index_digest(new)
    if changed or not same:
        store.delete([meta_path(INFO), meta_path(LEGACY_INFO)])
    for path, data in changed:
        write_pieces(store, path, [data])
    if not same:
        write_file(store, meta_path(INDEX), new)
    for path, data in ((meta_path(UUID), index_uuid(_rows_digest(walked)).encode()), *texts.items()):
        if read_optional(store, path) != data:
            write_pieces(store, path, [data])
    store.sweep()


def _rows_digest(walked: Sequence[WalkedShard]) -> str:
    """SHA-256 of the samples of all shards, in hex. It is much faster than one of the index that is made of them."""
    digest = hashlib.sha256()
    for shard in walked:
        digest.update(f"{shard.shard}\0{shard.digest}\0".encode())
    return digest.hexdigest()


def _index_digest(index: Path) -> str:
    try:
        return index_digest(index)
    except DataError:
        return ""
