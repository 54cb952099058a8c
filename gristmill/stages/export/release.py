"""The release of an export: the parts of all its slices joined into the files that people and other tools read.

A release is a folder below the index, `release-<digest>`. The digest is over what it consists of, so that a folder of
one name always has the same bytes. `release.json` beside it names the folder. It is written when the folder is
complete, so that who reads it never sees half a release.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import part_at, place
from gristmill.lake.asset_kinds import EXPORT, names_of
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import dump, read_ledger
from gristmill.lake.rows.shard_file import checked
from gristmill.lake.store.hashing import HashedUpload
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Entry, Store
from gristmill.recipes.export import ExportFormat, format_parameters
from gristmill.stages.export.codec import ExportedFile, Piece, ReleaseFile
from gristmill.stages.export.formats import codec_of
from gristmill.stages.export.part import read_part_record
from gristmill.stages.mixing.index import Slice

RELEASE = "release.json"
"""The file of an export's index that names the release's folder, its files, and what each consists of."""


class Release(msgspec.Struct, frozen=True):
    """A release.

    Attributes:
        schema: version of this format: 1.
        format: the format with all its options, as JSON.
        folder: of the release in the lake, with a closing slash.
        files: its large files; the small ones beside them follow from these.
    """

    schema: int
    format: dict[str, Any]
    folder: str
    files: tuple[ReleaseFile, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each large file, by its path in the lake."""
        return {self.folder + file.name: file.bytes for file in self.files}


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


def release_of(store: Store, asset: str, declared: ExportFormat, slices: Sequence[Slice]) -> Release:
    """The release over some slices, not yet written.

    Args:
        store: the lake.
        asset: address of the index.
        declared: the format.
        slices: the slices, in order.

    Raises:
        DataError: a slice has no ledger, or its ledger is not valid.
        StoreError: a slice is being rebuilt.
    """
    sources: list[ExportedFile] = []
    for each in slices:
        partition = place(EXPORT.at(**names_of(asset), stream=each.stream), each.snapshot)
        for row in read_ledger(store, partition)[1]:
            sources += read_part_record(row, partition.table).sources()
    files = tuple(codec_of(declared).release(sources))
    parameters = format_parameters(declared, release=True)
    sha256 = {source.path: source.sha256 for source in sources}
    made_of = [[file.name, [[sha256[p.path], p.start, p.end] for p in file.pieces]] for file in files]
    digest = digest_of([parameters["type"], codec_of(declared).version, made_of])[:16]
    return Release(1, parameters, f"{asset}/release-{digest}/", files)


def small_files(release: Release, declared: ExportFormat, sha256: Mapping[str, str]) -> dict[str, bytes]:
    """The small files of an index with a release, by their paths in the lake.

    Args:
        release: the release.
        declared: its format.
        sha256: of each large file, by its path in the lake.
    """
    digests = {file.name: sha256[release.folder + file.name] for file in release.files}
    beside = codec_of(declared).beside(digests)
    asset = release.folder.rstrip("/").rpartition("/")[0]
    return {**{release.folder + name: data for name, data in beside.items()}, release_path(asset): dump(release)}


def copy_files(store: Store, release: Release) -> dict[str, str]:
    """Writes the large files of a release, from those of the parts.

    Returns:
        The sha256 of each, by its path in the lake.

    Raises:
        StoreError: an object of a part is not the one that its ledger names, or the lake does not answer.
    """
    reader = PieceReader(store, release)
    digests: dict[str, str] = {}
    for file in release.files:
        path = release.folder + file.name

        def record(sha256: str, _: Entry, path: str = path) -> None:
            digests[path] = sha256

        upload = HashedUpload(store.upload(path), record)
        try:
            for piece in file.pieces:
                for data in reader.read(piece):
                    upload.write(data)
            upload.close()
        except BaseException:
            upload.abort()
            raise
    return digests


class PieceReader:
    """Reads the pieces of a release in their order. Each object is read once, and its sha256 is compared at its end.

    Args:
        store: the lake.
        release: whose pieces are read.
    """

    def __init__(self, store: Store, release: Release) -> None:
        self._store = store
        self._sha256 = _recorded(store, release)
        self._path = ""
        self._data: Iterator[bytes] = iter(())
        self._rest = b""

    def read(self, piece: Piece) -> Iterator[bytes]:
        """The bytes of the next piece.

        Raises:
            DataError: the object ends before the piece.
            StoreError: the object is not the one that its ledger names.
        """
        if piece.path != self._path:
            self._path, self._rest = piece.path, b""
            self._data = checked(self._store.stream(piece.path), piece.path, self._sha256[piece.path])
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


def _recorded(store: Store, release: Release) -> dict[str, str]:
    """The sha256 of each object that a release consists of, from the ledgers of its slices."""
    wanted = {piece.path for file in release.files for piece in file.pieces}
    found: dict[str, str] = {}
    for partition in {part[0] for path in wanted if (part := part_at(path))}:
        for row in read_ledger(store, partition)[1]:
            found |= {path: sha256 for path, (sha256, _) in (row.objects or {}).items()}
    missing = sorted(wanted - found.keys())
    if missing:
        raise DataError(f"{missing[0]}: no ledger names this object any more; write the index of the export again")
    return found
