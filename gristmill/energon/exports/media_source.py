"""Where the media are that documents name: a folder of files, or a prepared WebDataset whose samples have them.

The names mean what they mean to Energon: in a folder, the path of a file below it; in a WebDataset, the key of a
sample, a dot and the name of a part.
"""

import posixpath
import sqlite3
import weakref
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from gristmill.energon.formats.info import INFO, META_FOLDER, is_tar, read_info
from gristmill.energon.formats.sqlite_index import index_tables
from gristmill.errors import DataError, StoreError
from gristmill.formats.tar.headers import file_at_offset
from gristmill.formats.tar.keys import split_name, tar_of_id
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import NoFolder, Store
from gristmill.recipes.export_formats.not_taken import MISSING_MEDIA, NotTaken

_INDEX = f"{META_FOLDER}/index.sqlite"
_PLACE = """
SELECT p.tar_file_id, p.content_byte_offset, p.content_byte_size, max(s.byte_offset, coalesce((
    SELECT max(q.content_byte_offset + (q.content_byte_size + 511) / 512 * 512) FROM sample_parts q
    WHERE q.tar_file_id = p.tar_file_id AND q.sample_index = p.sample_index
    AND q.content_byte_offset < p.content_byte_offset), 0)) FROM samples s
JOIN sample_parts p ON p.tar_file_id = s.tar_file_id AND p.sample_index = s.sample_index
WHERE s.sample_key = ? AND p.part_name = ?
"""

_ANY_DOTTED = "SELECT 1 FROM samples WHERE sample_key >= './' AND sample_key < '.0' LIMIT 1"
_DOT = "./"
"""What `tar` puts before each name if it packs the folder `.`. Energon keeps it in the key; documents lack it."""

_TOGETHER = 1 << 20
"""Most bytes of headers and content that one request reads; larger contents are not copied to be cut."""

_LONGEST, _LONGEST_PIECE = 1024, 255
"""Bytes of a name as a whole, as in buckets, and between slashes, as in file systems."""


class MediaSource(Protocol):
    """The media files that documents may name.

    Attributes:
        where: its path, for messages.
    """

    where: str

    def has_file(self, name: str, document: str = "") -> bool:
        """Whether there is a media file of this name.

        Args:
            name: name of the file.
            document: id of the document that names it. If the id tells a tar, the file must be in that tar.
        """

    def read(self, name: str, document: str = "") -> bytes | None:
        """The bytes of a media file; None if there is no such file. Args: as in has_file()."""

    def near_file_in_words(self, name: str, document: str = "") -> str:
        """The names that are there in place of a missing file, for messages; empty if nothing is known. Args: as in
        has_file().
        """


def missing_media(source: MediaSource, name: str, document: str = "") -> NotTaken:
    """The reason why a document is refused that names a file which a source does not have. Args: as in
    MediaSource.has_file().
    """
    near = source.near_file_in_words(name, document)
    return MISSING_MEDIA._replace(about=f"{name!r:.200} is not in {source.where}{f', but {near}' if near else ''}")


def open_media(lake: Store, root: str) -> MediaSource | None:
    """The media files of a folder; None if the root is empty: nobody looks for them.

    Args:
        lake: the lake.
        root: a folder of it, or the absolute path of a folder.

    Raises:
        DataError: the folder is a prepared WebDataset without an index, or its index cannot be read.
        NoFolder: an absolute folder is not there.
        StoreError: the store does not answer.
    """
    if not root:
        return None
    store, folder = _open_media_folder(lake, root)
    shards = _tars_of_webdataset(store, folder)
    return _Files(store, folder, root) if shards is None else _Samples(store, folder, root, shards)


def check_prepared(lake: Store, root: str) -> None:
    """Checks that a prepared WebDataset names each of its tars. The samples of the others are not in its index.

    Args:
        lake: the lake.
        root: folder of the media, as in open_media(). One that is no such dataset is right.

    Raises:
        DataError: a tar came after the dataset was prepared.
        NoFolder: an absolute folder is not there.
        StoreError: the store does not answer.
    """
    if not root:
        return
    store, folder = _open_media_folder(lake, root)
    shards = _tars_of_webdataset(store, folder)
    if shards is None:
        return
    known = {posixpath.normpath(folder + shard) for shard in shards}
    below = (each.path for each in store.list(folder))
    new = sorted(path for path in below if is_tar(path.removeprefix(folder)) and path not in known)
    if new:
        more, whose = (f", and {len(new) - 1} more came", "their") if new[1:] else (" came", "its")
        raise DataError(
            f"{root}: {new[0]}{more} after the dataset was prepared, so the index has none of {whose} samples. Prepare"
            " the dataset again (`gristmill energon prepare --force-overwrite`), or put such tars elsewhere"
        )


def _open_media_folder(lake: Store, root: str) -> tuple[Store, str]:
    """The store of a root, and its folder there, with a closing slash; empty for the folder of the store."""
    if not root.startswith("/"):
        return lake, root.strip("/") + "/"
    if not Path(root).is_dir():
        raise NoFolder(f"{root}: the folder of the media is not there; mount its disk, or correct root")
    return open_store(root, foreign=True), ""


def _tars_of_webdataset(store: Store, folder: str) -> list[str] | None:
    """The tars that a prepared WebDataset names, in the order of their ids; None: the folder is no such dataset."""
    info = f"{folder}{META_FOLDER}/{INFO}"
    found = store.read_tagged(info)
    return None if found is None else list(read_info(found[0], info))


class _Files:
    """The files of a folder."""

    def __init__(self, store: Store, folder: str, where: str) -> None:
        self.where = where
        self._store, self._folder = store, folder

    def has_file(self, name: str, document: str = "") -> bool:  # noqa: ARG002 - files have no tar
        return not _is_name_too_long(name) and self._store.head(self._folder + name) is not None

    def read(self, name: str, document: str = "") -> bytes | None:  # noqa: ARG002 - as in has_file()
        found = None if _is_name_too_long(name) else self._store.read_tagged(self._folder + name)
        return found[0] if found else None

    def near_file_in_words(self, name: str, document: str = "") -> str:  # noqa: ARG002 - as in has_file()
        return "the name is too long for a file: mend the document" if _is_name_too_long(name) else ""


def _is_name_too_long(name: str) -> bool:
    """Whether no file or object can have a name. A store would fail at it, and name neither document nor row."""
    if len(name) <= _LONGEST_PIECE // 4:  # most names; a character has at most 4 bytes
        return False
    data = name.encode()
    return len(data) > _LONGEST or max(map(len, data.split(b"/"))) > _LONGEST_PIECE


class _MediaPlace(NamedTuple):
    """Where a part is, as the index says.

    Attributes:
        shard: path of its tar.
        name: of the member.
        first: offset of the first header behind the part before it: the member's own, or one before that.
        start: offset of its content.
        size: of its content in bytes.
    """

    shard: str
    name: str
    first: int
    start: int
    size: int


class _Samples:
    """The parts of the samples of a WebDataset. A copy of its index is open as long as this object lives.

    Another program wrote the index, and the tars may be newer. So the header of a member is read before its content.
    """

    def __init__(self, store: Store, folder: str, where: str, shards: list[str]) -> None:
        self.where = where
        self._store, self._folder = store, folder
        self._shards = [posixpath.normpath(folder + shard) for shard in shards]
        self._sizes: dict[str, int] = {}
        self._index = _open_index_copy(store, folder + _INDEX)
        weakref.finalize(self, self._index.close)
        try:
            self._dotted = self._index.execute(_ANY_DOTTED).fetchone() is not None
        except sqlite3.Error as error:
            raise DataError(f"{where}: its index cannot be read ({error}); prepare the dataset again") from error

    def has_file(self, name: str, document: str = "") -> bool:
        place = self._media_place(name)
        return place is not None and not self._other_tar(place, name, document)

    def read(self, name: str, document: str = "") -> bytes | None:
        place = self._media_place(name) or self._media_place(name, _DOT)
        if place is None or self._other_tar(place, name, document):
            return None
        return self._part_content(place)

    def _other_tar(self, place: _MediaPlace, name: str, document: str) -> str:
        """The tar that the id of a document tells, if the part that it names is in another one; else empty.

        A tar that is not below the root is one of an export of ours, which has other tars than its source.
        """
        own = tar_of_id(document, (split_name(name) or ("", ""))[0])
        if not own or not place.shard.startswith(self._folder) or place.shard.startswith("../"):
            return ""
        path = place.shard if self._folder else posixpath.join(self.where, place.shard)
        return "" if f"/{path}".endswith(f"/{own}") else own

    def _part_content(self, part: _MediaPlace) -> bytes:
        """The content of a part, if the tar has the part where the index says.

        Raises:
            DataError: the tar has another member there, or none: it was changed since it was prepared.
        """
        end = part.start + part.size
        begin = part.first if end - part.first <= _TOGETHER else part.start
        data = self._store.read_range(part.shard, begin, end) if begin < end else b""

        def read(offset: int, length: int) -> bytes:
            if begin == part.first:
                return data[offset - begin : offset - begin + length]
            last = min(offset + length, self._sizes[part.shard])
            return self._store.read_range(part.shard, offset, last) if offset < last else b""

        try:
            found = file_at_offset(read, self._sizes[part.shard], part.shard, (part.first, part.start))
        except DataError:
            found = None
        if found != (part.name, part.size):
            there = f"{found[1]:,} bytes of {found[0]!r:.200}" if found else "no file that begins there"
            raise DataError(
                f"{self.where}: its index says that {part.shard} has {part.name!r:.200} in bytes {part.start} to {end},"
                f" but this tar has {there}: it was changed since it was prepared. Prepare the dataset again ("
                "`gristmill energon prepare --force-overwrite`), or put the tar back"
            )
        return data[part.start - begin :] if begin < part.start else data

    def near_file_in_words(self, name: str, document: str = "") -> str:
        place = self._media_place(name)
        other = self._other_tar(place, name, document) if place else ""
        if place and other:
            return (
                f"{place.shard} has a file of this name, and the document is of {other}: prepare the dataset again with"
                " this tar, and with keys that occur in one tar only"
            )
        if self._media_place(name, _DOT) is None:
            return ""
        return f"{_DOT + name!r:.200} is: pack the tars anew with names that do not begin with {_DOT}"

    def _media_place(self, name: str, before: str = "") -> _MediaPlace | None:
        """Where a part is.

        Args:
            name: of the media file.
            before: what the key of the sample has before the name.

        Raises:
            DataError: the index names a tar that is not there, or that is shorter; or the name fits two samples.
        """
        pair = split_name(name)
        if pair is None or (before and not self._dotted):
            return None  # a sample's part has an ending
        key, part = pair
        try:
            row = self._index.execute(_PLACE, (before + key, part)).fetchone()
            if row and self._dotted and not before and self._index.execute(_PLACE, (_DOT + key, part)).fetchone():
                raise DataError(
                    f"{self.where}: {name!r:.200} may be of sample {key!r:.200} or of {_DOT + key!r:.200}; pack the"
                    f" tars anew with names that do not begin with {_DOT}"
                )
            number, start, size, first = map(int, row or (0, 0, 0, 0))
        except (sqlite3.Error, TypeError, ValueError) as error:
            raise DataError(f"{self.where}: its index cannot be read ({error}); prepare the dataset again") from error
        if row is None:
            return None
        shard = self._shards[number] if 0 <= number < len(self._shards) else ""
        if shard not in self._sizes:
            entry = self._store.head(shard) if shard else None
            self._sizes[shard] = entry.size if entry else 0
        if not 0 <= start <= start + size <= self._sizes[shard]:
            raise DataError(
                f"{self.where}: its index says that {shard or f'tar {number}'} has {name!r:.200} in bytes {start} to"
                f" {start + size}, but this tar has {self._sizes[shard]} bytes; put the tar back, or prepare the"
                " dataset again"
            )
        return _MediaPlace(shard, before + name, min(max(first, 0), start), start, size)


def _open_index_copy(store: Store, path: str) -> sqlite3.Connection:
    """A copy of an index on this machine, opened for reading. The file has no name any more: it goes with its reader.

    Raises:
        DataError: the dataset has no index, or it has no samples.
    """
    if store.head(path) is None:
        raise DataError(f"{path}: the dataset has no index, so no media can be found in it; prepare it again")
    with TemporaryDirectory(prefix="gristmill-") as folder:
        copy = Path(folder, "index.sqlite")
        try:
            with copy.open("wb") as file:
                file.writelines(store.stream(path))
        except OSError as error:
            raise StoreError(
                f"{path}: its copy in {folder} cannot be written ({error}); free some space and run again, or name"
                " another folder in TMPDIR"
            ) from error
        try:
            complete = {"samples", "sample_parts"} <= index_tables(copy)
        except DataError as error:
            raise DataError(str(error).replace(str(copy), path)) from error
        if not complete:
            raise DataError(f"{path}: it has no samples; prepare the dataset again")
        index = sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        index.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()  # opens the file, before its name goes
    return index
