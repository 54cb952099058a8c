"""The codec of Energon's WebDatasets: tars in the parts, and a folder `.nv-meta` in the release that names them."""

import posixpath
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from gristmill.energon.exports.excluded import blocked_samples, declared_tars, missing_samples
from gristmill.energon.exports.media_source import MediaSource, check_prepared, open_media
from gristmill.energon.exports.mixture import metadataset_files
from gristmill.energon.exports.splits import (
    Dataset,
    dataset_of_file,
    split_in_file_name,
    warn_of_fractions,
    warn_of_many,
)
from gristmill.energon.exports.tar_files import MEDIA, SAMPLES, TAR, kept_runs, read_media_list, read_samples
from gristmill.energon.exports.webdataset_part import WebdatasetPart
from gristmill.energon.formats.dataset_yaml import DATASET_YAML, crude_dataset, typed_dataset
from gristmill.energon.formats.info import INFO, META_FOLDER, info_bytes
from gristmill.energon.formats.media import MediaFilter, MediaRow
from gristmill.energon.formats.sample_types import sample_type
from gristmill.energon.formats.split import (
    SPLIT_YAML,
    shards_without_split,
    split_by_pattern,
    split_by_ratio,
    split_bytes,
)
from gristmill.energon.formats.sqlite_index import (
    SELECTED,
    SqliteIndexWriter,
    add_media_rows,
    index_digest,
    index_schema,
    index_uuid,
    sqlite_index_damage,
)
from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.errors import DataError, StoreError
from gristmill.formats.tar.keys import split_name
from gristmill.lake.address import export_asset, part_at
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import Pair, digest_of
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export_formats.codec import Codec, Content, ExportedFile, NamedFile, Release, Sink
from gristmill.recipes.export_formats.sample_start import SampleStart

_META = f"{META_FOLDER}/"
SQLITE, UUID = f"{_META}index.sqlite", f"{_META}index.uuid"
_PIECE = 1 << 20


class EnergonWebdatasetCodec(Codec):
    """Writes WebDatasets for Energon."""

    options = EnergonWebdataset
    version = 2
    weighted = True
    can_exclude = True
    declared: EnergonWebdataset
    _media: MediaSource | None = None

    def check(self, lake: Store) -> None:
        """See Codec: the folder of the media."""
        check_prepared(lake, self.declared.root)

    def open(self, part: str, create: Callable[[str], Sink], lake: Store) -> WebdatasetPart:
        """See Codec."""
        self._media = self._media or open_media(lake, self.declared.root)
        return WebdatasetPart(self.declared, part, create, self._media)

    def release(self, sources: Sequence[ExportedFile]) -> Content:
        """See Codec: the tars where they are, and the index of their samples."""
        tars = [source for source in sources if source.name.endswith(TAR)]
        splits = self._splits_by_tar(tars)
        named = [NamedFile(tar.path, tar.facts.rows, splits[tar.path]) for tar in tars]
        lists = [SAMPLES, *([MEDIA] if self.declared.media_filter else [])]
        index = {SQLITE: [tar.path + ending for ending in lists for tar in tars]}
        index = index if self.declared.random_access and tars else {}
        excluded = declared_tars(self.declared.exclude, {_path_below_export(tar.path): tar.path for tar in tars})
        return Content(named=named, built=index, excluded=list(excluded))

    def excluded(
        self,
        sources: Sequence[ExportedFile],
        blocked: Mapping[str, Collection[Pair]],
        read: Callable[[ExportedFile], Iterator[bytes]],
    ) -> list[str]:
        """See Codec."""
        files = {source.path: source for source in sources}
        tars = {_path_below_export(path): path for path in files if path.endswith(TAR)}
        missing_samples(declared_tars(self.declared.exclude, tars), files, read)
        return blocked_samples(files, blocked, read)

    def _splits_by_tar(self, tars: Sequence[ExportedFile]) -> dict[str, str]:
        """The split of each tar, by its path.

        Raises:
            DataError: a tar is in no split, or the mix holds documents out too.
        """
        ratios, patterns = self.declared.split_ratios, self.declared.split_patterns
        if not ratios and not patterns:
            return {tar.path: split_in_file_name(tar.name) for tar in tars}
        held = next((tar.path for tar in tars if split_in_file_name(tar.name) != "train"), None)
        if held is not None:
            raise DataError(
                f"{held}: the mix holds documents out, and the export divides the tars among splits too; leave"
                " split_ratios and split_patterns out, or validation of the mix"
            )
        paths = {_path_below_export(tar.path): tar.path for tar in tars}
        usual = [*_SPLITS, *(name for name in ratios if name not in _SPLITS)]
        ratios = {name: ratios[name] for name in usual if name in ratios}
        found = split_by_ratio(list(paths), ratios) if ratios else split_by_pattern(list(paths), list(patterns.items()))
        lost = shards_without_split(list(paths), found)
        if lost or not all(found.values()):
            empty = ", ".join(name for name, shards in found.items() if not shards)
            rounding = " by rounding (0.7, 0.2 and 0.1 lose none, 7, 2 and 1 do)" if lost and ratios else ""
            wrong = [f"{len(lost)} of {len(paths)} tars are in no split{rounding}, such as {lost[0]}"] if lost else []
            wrong += [f"of {len(paths)} tars, no one is in these splits: {empty}"] if empty else []
            raise DataError(
                f"{'; and '.join(wrong)}; give other split_ratios or split_patterns, or smaller tars. The paths begin"
                f" as {min(paths)}"
            )
        return {paths[shard]: split for split, shards in found.items() for shard in shards}

    def build(self, release: Release, name: str, read: Callable[[str], Iterator[bytes]]) -> Iterator[bytes]:
        """See Codec: the index of all samples.

        Raises:
            DuplicateKey: two samples have one key; the message names both places.
            StoreError: the folder for temporary files is full.
        """
        with TemporaryDirectory(prefix="gristmill-") as folder:
            path = Path(folder, "index.sqlite")
            try:
                _write_sample_index(path, release, release.built[name], self.declared.media_filter, read)
            except sqlite3.OperationalError as error:
                raise StoreError(
                    f"{release.folder}{name}: its file in {folder} cannot be written ({error}); free some space and run"
                    " again, or name another folder in TMPDIR"
                ) from error
            with path.open("r+b") as file:
                file.seek(_VERSION)
                file.write(bytes(4))
                file.seek(0)
                while data := file.read(_PIECE):
                    yield data

    def meaning(self, pieces: Iterable[bytes]) -> str:
        """See Codec: the rows of the index, in a fixed order, and its tables.

        Raises:
            DataError: it cannot be read, or a look-up by an index finds other rows than there are.
        """
        with TemporaryDirectory(prefix="gristmill-") as folder:
            path = Path(folder, "index.sqlite")
            with path.open("wb") as file:
                file.writelines(pieces)
            if damage := sqlite_index_damage(path):
                raise DataError(f"it is no sound database: {damage[0]}")
            return digest_of([index_digest(path), index_schema(path)])

    def sample(self, path: str, row: int, read: Callable[[str], Iterator[bytes]]) -> SampleStart:
        """See Codec: key and offset, from the list of the tar's samples.

        Raises:
            DataError: the list is shorter.
        """
        first = 0
        for lines in read_samples(read(path + SAMPLES), path + SAMPLES):
            if row < first + len(lines):
                return SampleStart(lines[row - first].key, lines[row - first].start)
            first += len(lines)
        raise DataError(f"{path}{SAMPLES}: it has {first} samples, not {row + 1}; make this slice of the export again")

    def warnings(self, release: Release) -> tuple[str, ...]:
        """See Codec: too many tars, or shares that hold for one epoch only."""
        many = warn_of_many(
            len(release.named), "give the export larger shard_samples and shard_bytes, or the mix larger shards"
        )
        return (*many, *warn_of_fractions(release.repetitions))

    def beside(self, release: Release, sha256: Mapping[str, str]) -> dict[str, bytes]:
        """See Codec: what describes the dataset. The file that makes the folder a dataset is the last of `.nv-meta`."""
        root = f"{release.index}/{release.name}"
        names = {file.path: posixpath.relpath(file.path, root) for file in release.named}
        splits: dict[str, list[str]] = {"train": [], "val": [], "test": []}
        for file, dataset in zip(release.named, _datasets_of_tars(release), strict=True):
            for split in dict.fromkeys((file.split, dataset.part)):
                splits.setdefault(split, []).append(names[file.path])
        meta = {DATASET_YAML: self._dataset_yaml(), SPLIT_YAML: split_bytes(splits, _excluded_names(release, names))}
        if SQLITE in sha256:
            meta["index.uuid"] = index_uuid(digest_of(release.folder)).encode()
        meta[INFO] = info_bytes({names[file.path]: file.rows for file in release.named})
        files = {f"{release.name}{_META}{name}": data for name, data in meta.items()}
        return {**files, **self._metadataset_files(release)}

    def _dataset_yaml(self) -> bytes:
        declared = self.declared
        if not declared.sample_type:
            return crude_dataset(declared.subflavors)
        module, _, name = declared.sample_type.rpartition(":")
        return typed_dataset(
            name, declared.field_map, module=module or sample_type(name).module, subflavors=declared.subflavors
        )

    def _metadataset_files(self, release: Release) -> dict[str, bytes]:
        """The metadataset: the split parts of all streams, which are in one folder."""
        joined: dict[tuple[str, str], Dataset] = {}
        for file, dataset in zip(release.named, _datasets_of_tars(release), strict=True):
            before = joined.get((dataset.stream, file.split))
            rows = dataset.rows + (before.rows if before else 0)
            joined[dataset.stream, file.split] = Dataset(dataset.stream, file.split, release.folder, rows, dataset.part)
        return metadataset_files(release, list(joined.values()), self.declared.aux, self.declared.subflavors)


def _excluded_names(release: Release, names: Mapping[str, str]) -> list[str]:
    """The tars and samples that a release leaves out, by the names that its files have for tars."""
    found = []
    for path in release.excluded:
        tar, ending, key = path.partition(f"{TAR}/")
        found.append(names[tar + TAR] + "/" + key if ending else names[path])
    return found


def _write_sample_index(
    path: Path,
    release: Release,
    lists: Sequence[str],
    media: MediaFilter | None,
    read: Callable[[str], Iterator[bytes]],
) -> None:
    """Writes the index of all samples into a file: `lists` are the lists of the tars, in their order.

    Excluded samples are left out, because random access does not look at `exclude` of `split.yaml`.
    """
    left_out = {file.path: set[str]() for file in release.named}
    for each in release.excluded:
        tar, ending, key = each.partition(f"{TAR}/")
        left_out.setdefault(tar + TAR if ending else each, set()).add(key)
    with closing(SqliteIndexWriter(path, [file.path for file in release.named])) as index:
        for number, (file, listed) in enumerate(zip(release.named, lists, strict=False)):
            first = 0
            for lines in read_samples(read(listed), listed) if file.path not in release.excluded else ():
                for run in kept_runs(lines, left_out[file.path], first):
                    index.add(number, run)
                first += len(lines)
        index.finish()
    if media:
        add_media_rows(path, _media_rows(release, lists[len(release.named) :], left_out, read), [media], SELECTED)


def _media_rows(
    release: Release,
    lists: Sequence[str],
    left_out: Mapping[str, Collection[str]],
    read: Callable[[str], Iterator[bytes]],
) -> Iterator[MediaRow]:
    """The metadata of the media of all samples that are not left out."""
    for file, listed in zip(release.named, lists, strict=True):
        for row in read_media_list(read(listed), listed) if file.path not in release.excluded else ():
            key, _ = split_name(row.entry_key) or (row.entry_key, "")
            if key not in left_out[file.path]:
                yield row


def _path_below_export(path: str) -> str:
    """The path of a tar below the folder of its export."""
    part = part_at(path)
    if part is None:
        return path
    names = names_in_asset_address(part[0].asset)
    return path.removeprefix(export_asset(names["mix"], names["export"], ""))


def _datasets_of_tars(release: Release) -> list[Dataset]:
    """The dataset of each tar. Each of several streams has split parts of its own, because it has its own weight."""
    found = [dataset_of_file(file) for file in release.named]
    if len({each.stream for each in found}) == 1:
        return found
    return [each._replace(part=f"{each.split}-{each.stream}") for each in found]


_SPLITS = ("train", "val", "test")
"""The order in which the real tool divides by ratio."""
_VERSION = 96
"""Where a file of SQLite has the version of the library. It is set to 0, so that equal rows give equal bytes."""
