"""The release of an export: the parts of all its slices joined into the files that people and other tools read.

A release is a folder below the index, `release-<digest>`. The digest is over what it consists of, so that a folder of
one name always has the same bytes. `release.json` beside it names the folder. It is written when the folder is
complete, so that who reads it never sees half a release.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from gristmill.errors import DataError
from gristmill.lake.address import part_at, place
from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import as_json, read_ledger
from gristmill.lake.ledger.folders.pinned_upload import PinnedUpload
from gristmill.lake.rows.shard_file import verify_pieces
from gristmill.lake.store.hashing import Uploads
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import ExportFormat, format_of_parameters, format_parameters
from gristmill.recipes.export_formats.codec import Content, ExportedFile, Piece, Release, ReleaseFile, Sink
from gristmill.recipes.export_formats.formats import code_of_format, codec_of_format
from gristmill.stages.export.part import ExportedPart
from gristmill.stages.mixing.index import Slice, index_path, stream_of_index

RELEASE = "release.json"
"""The file of an export's index that names the release's folder, its files, and what each consists of."""

WRITING = "writing.json"
"""The object of an index that marks a release as being written. While it is there, gc removes no release.

While gc removes one, it holds this object itself.
"""

_OF_RELEASE = re.compile("release-[0-9a-f]+(/|$)")


def release_path(asset: str) -> str:
    """The path of the file that names the release of an index.

    >>> release_path("exports/blend/oscar/index")
    'exports/blend/oscar/index/release.json'
    """
    return f"{asset}/{RELEASE}"


def read_release(store: Store, asset: str) -> Release | None:
    """The release that an index names; None if it does not name one.

    Raises:
        DataError: the file is damaged.
    """
    path = release_path(asset)
    tagged = store.read_tagged(path)
    return decode_object(tagged[0], Release, path, "the release of an export") if tagged else None


def build_release(
    store: Store,
    asset: str,
    declared: ExportFormat,
    slices: Sequence[Slice],
    weights: Mapping[str, float] = MappingProxyType({}),
    excluded: Sequence[str] = (),
    repetitions: Mapping[str, float] = MappingProxyType({}),
) -> Release:
    """The release over some slices, not yet written.

    Args:
        store: the lake.
        asset: address of the index.
        declared: the format.
        slices: the slices, in order.
        weights: the weight of each stream of the mix, by name.
        excluded: samples whose documents are on a blocklist, see samples_to_exclude().
        repetitions: number of times that each stream is read, see epoch_of().

    Raises:
        DataError: a slice has no ledger, or its ledger is wrong.
        StoreError: a slice is being rebuilt.
    """
    sources = release_document_files(store, asset, slices)
    codec = codec_of_format(declared)
    content = codec.release(sources)
    parameters = format_parameters(declared, release=True)
    left_out = tuple(sorted({*content.excluded, *excluded}))
    code = code_of_format(declared).digest
    made_of = _release_content_inputs(content, parameters, {source.path: source.sha256 for source in sources})
    made_of += [["excluded", *left_out]] if left_out else []
    made_of += [["code", code]] if code else []
    digest = digest_of([parameters["type"], codec.version, made_of])[:16]
    return Release(
        schema=1,
        format=parameters,
        folder=f"{asset}/release-{digest}/",
        files=tuple(content.files),
        named=tuple(content.named),
        built={name: tuple(paths) for name, paths in content.built.items()},
        weights=dict(weights) if codec.weighted else {},
        repetitions=dict(repetitions),
        excluded=left_out,
        code=code,
    )


def _release_content_inputs(content: Content, parameters: Mapping[str, Any], sha256: Mapping[str, str]) -> list[Any]:
    """What a release is made from, as JSON. Options count only where its files are not those of the parts alone."""
    copied = [[file.name, [[sha256[p.path], p.start, p.end] for p in file.pieces]] for file in content.files]
    if not content.named and not content.built:
        return copied
    named = [[file.path, sha256[file.path]] for file in content.named]
    built = [[name, [sha256[path] for path in paths]] for name, paths in content.built.items()]
    return [*copied, parameters, named, built]


def release_document_files(store: Store, asset: str, slices: Sequence[Slice]) -> list[ExportedFile]:
    """The files with documents of some slices, in order: stream, snapshot, shard.

    Args and Raises: as in build_release().
    """
    sources: list[ExportedFile] = []
    for each in slices:
        partition = place(stream_of_index(asset, each.stream), each.snapshot)
        for row in read_ledger(store, partition)[1]:
            sources += ExportedPart.decode_from_row(row, partition.table).sources(each.stream)
    return sources


def small_release_files(release: Release, declared: ExportFormat, sha256: Mapping[str, str]) -> dict[str, bytes]:
    """The small files of an index with a release, by their paths in the lake.

    Args:
        release: the release.
        declared: its format.
        sha256: sha256 of each large file, by its path in the lake.

    Raises:
        DataError: the format gives a file a name that is taken.
    """
    digests = {path.removeprefix(release.folder): sha256[path] for path in release.sizes}
    beside = codec_of_format(declared).beside(release, digests)
    _check_names(release, declared, beside)
    files = {f"{release.index}/{name}": data for name, data in beside.items()}
    return {**files, release_path(release.index): as_json(release)}


def check_small_files(release: Release, declared: ExportFormat) -> None:
    """Checks the names of the small files before anything is written. The digests of the large ones are not known yet.

    Raises:
        DataError: the format gives a file a name that is taken.
    """
    small_release_files(release, declared, dict.fromkeys(release.sizes, "0" * 64))


def _check_names(release: Release, declared: ExportFormat, beside: Collection[str]) -> None:
    large = [release.name + name for name in (*(file.name for file in release.files), *release.built)]
    names = Counter([*beside, *large])
    kept = {path.removeprefix(f"{release.index}/") for path in (index_path(release.index), release_path(release.index))}
    kept |= {WRITING, ledger_of_asset(release.index).removeprefix(f"{release.index}/")}
    for name in names:
        if names[name] > 1:
            why = "the release has two files of this name"
        elif name in kept:
            why = "the index keeps this name for a file of its own"
        elif _OF_RELEASE.match(name) and not name.startswith(release.name):
            why = f"the folder of the release is {release.name}"
        elif any(str(folder) in {*names, *kept} for folder in PurePosixPath(name).parents):
            why = "its folder is a file of the index"
        elif name != str(PurePosixPath(name)) or {"..", "/"} & set(PurePosixPath(name).parts):
            why = "this is no path below the folder of the index"
        else:
            continue
        method = "beside()" if name in beside else "release()"
        raise DataError(
            f"{release.index}/{name}: {method} of the format {declared.type!r} gives this name, but {why}; nothing was"
            " written; mend the codec of the format"
        )


def write_large_files(store: Store, release: Release, declared: ExportFormat) -> dict[str, str]:
    """Writes the large files of a release, from those of the parts.

    Args:
        store: the lake.
        release: the release.
        declared: its format.

    Returns:
        The sha256 of each, by its path in the lake.

    Raises:
        StoreError: an object of a part is not the one that its ledger names, or the lake does not answer.
    """
    with Uploads(store, PinnedUpload) as uploads:
        for path, write in large_release_files(store, release, declared):
            upload = uploads.open(path)
            write(upload)
            upload.close()
    return uploads.sha256()


def large_release_files(
    store: Store, release: Release, declared: ExportFormat
) -> Iterator[tuple[str, Callable[[Sink], None]]]:
    """The path in the lake of each large file of a release, and what writes its bytes. Write them in this order.

    Args: as in write_large_files().
    """
    reader, codec = PieceReader(store, release), codec_of_format(declared)

    def copy(file: ReleaseFile, sink: Sink) -> None:
        for piece in file.pieces:
            for data in reader.read(piece):
                sink.write(data)

    def build(name: str, sink: Sink) -> None:
        for data in codec.build(release, name, reader.read_object):
            sink.write(data)

    for file in release.files:
        yield release.folder + file.name, partial(copy, file)
    for name in release.built:
        yield release.folder + name, partial(build, name)


def built_file_digests(store: Store, release: Release, declared: ExportFormat, name: str) -> tuple[str, str]:
    """The digests of what a built file of a release says, and of what it would say if it were made again.

    Args:
        store: the lake.
        release: the release.
        declared: its format.
        name: name of the file, one of `release.built`.

    Raises:
        DataError: the file in the lake is no such file.
        StoreError: a part's file is not the one that its ledger names.
    """
    codec = codec_of_format(declared)
    again = codec.build(release, name, PieceReader(store, release).read_object)
    return codec.meaning(store.stream(release.folder + name)), codec.meaning(again)


def release_warnings(store: Store, asset: str) -> tuple[str, ...]:
    """The warnings for people about the release of an index: it is valid, but its readers will not like it.

    Args:
        store: the lake.
        asset: address of the index.

    Raises:
        DataError: the file that names the release is damaged.
    """
    release = read_release(store, asset)
    return codec_of_format(format_of_parameters(release.format)).warnings(release) if release else ()


class PieceReader:
    """Reads the pieces of a release in their order. Each object is read once, and its sha256 is compared at its end.

    Args:
        store: the lake.
        release: release whose pieces are read.
    """

    def __init__(self, store: Store, release: Release) -> None:
        self._store = store
        self._sha256 = _recorded_object_hashes(store, release)
        self._path = ""
        self._data: Iterator[bytes] = iter(())
        self._rest = b""

    def read_object(self, path: str) -> Iterator[bytes]:
        """All bytes of an object.

        Raises:
            StoreError: the object is not the one that its ledger names. It is raised after the last byte.
        """
        return verify_pieces(self._store.stream(path), path, self._sha256[path])

    def read(self, piece: Piece) -> Iterator[bytes]:
        """The bytes of the next piece.

        Raises:
            DataError: the object ends before the piece.
            StoreError: the object is not the one that its ledger names.
        """
        if piece.path != self._path:
            self._path, self._rest = piece.path, b""
            self._data = verify_pieces(self._store.stream(piece.path), piece.path, self._sha256[piece.path])
        left = piece.end - piece.start
        while left:
            data = self._rest or next(self._data, b"")
            if not data:
                raise DataError(f"{piece.path}: it ends before byte {piece.end}; make this slice of the export again")
            taken, self._rest = data[:left], data[left:]
            left -= len(taken)
            yield taken
        if not self._rest:
            self._rest = next(self._data, b"")  # at the end of the object this compares its sha256


def _recorded_object_hashes(store: Store, release: Release) -> dict[str, str]:
    """The sha256 of each object that a release consists of, from the ledgers of its slices."""
    wanted = {piece.path for file in release.files for piece in file.pieces}
    wanted |= {path for paths in release.built.values() for path in paths}
    found: dict[str, str] = {}
    for partition in {part[0] for path in wanted if (part := part_at(path))}:
        for row in read_ledger(store, partition)[1]:
            found |= {path: sha256 for path, (sha256, _) in (row.objects or {}).items()}
    missing = sorted(wanted - found.keys())
    if missing:
        raise DataError(f"{missing[0]}: no ledger names this object any more; write the index of the export again")
    return found
