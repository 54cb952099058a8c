"""Writes that never replace an object of a release by other bytes.

The folder of a part is named after the recipe and the inputs. So a part that is made again, by force or because an
earlier recipe came back, has the folder of the first one. Other versions of packages may compress it to other bytes.
The same holds for the small files of an export, and for those of a tokenizer: another Gristmill may write them anew.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import msgspec

from gristmill.errors import DataError
from gristmill.lake.fence import fence_writes
from gristmill.lake.store.hashing import HashedUpload
from gristmill.lake.store.json_object import Integer, decode_object
from gristmill.lake.store.protocol import Entry, Store

RELEASES = "releases/"
"""The folder of all releases."""

_RELEASE = re.compile(r"releases/([^/]+)\.json")

_read: dict[tuple[str, str, str], Mapping[str, tuple[str, Integer]]] = {}
"""The objects that releases name, with sha256 and size, by lake, path and etag of the release."""


class _NamedObjects(msgspec.Struct):
    objects: dict[str, tuple[str, Integer]]


class PinnedUpload(HashedUpload):
    """Writes an object of the lake that a release may name."""

    def close(self) -> None:
        """Publishes the object.

        Raises:
            DataError: a release names the object with other bytes, or the file of a release is damaged.
        """
        with upload_unless_pinned(self._store, self._path, self.sha256()):
            super().close()


@contextmanager
def upload_unless_pinned(store: Store, path: str, sha256: str) -> Iterator[None]:
    """Lets this thread write an object in the block unless a release names it with other bytes.

    Args:
        store: the lake.
        path: path of the object in the lake.
        sha256: hex sha256 of the bytes that are written.

    Raises:
        DataError: a release names the object with other bytes, or the file of a release is damaged.
    """

    def check() -> None:
        if store.head(path) is None:
            return
        for name, pinned in _releases_pinning_object(store, path):
            if pinned != sha256:
                raise DataError(
                    f"{path}: release {name} names it with other bytes than were made now (sha256 {pinned}, now"
                    f" {sha256}), so it stays as it is; make it with the versions of Gristmill and of packages that"
                    f" made it, withdraw the release (gristmill erase --release {name}), or give the recipe another"
                    " name"
                )

    check()  # reads the releases before a folder locks the lake, to ask again
    with fence_writes(check):
        yield


def name_of_release(path: str) -> str | None:
    """The name of the release that lies at a path; None if it is no release.

    >>> name_of_release("releases/blend-2024.json"), name_of_release("releases/blend-2024/card.json")
    ('blend-2024', None)
    """
    found = _RELEASE.fullmatch(path)
    return found[1] if found else None


def objects_by_release(store: Store) -> dict[str, Collection[str] | None]:
    """The paths of the objects that each release names, by its name; None if its file is damaged: nobody knows."""
    found: dict[str, Collection[str] | None] = {}
    for entry in store.list(RELEASES):
        if name := name_of_release(entry.path):
            try:
                found[name] = _objects_of_release(store, entry)
            except DataError:
                found[name] = None
    return found


def _releases_pinning_object(store: Store, path: str) -> Iterator[tuple[str, str]]:
    """The releases that name an object, and the sha256 with which they do."""
    for entry in store.list(RELEASES):
        name = name_of_release(entry.path)
        found = _objects_of_release(store, entry).get(path) if name else None
        if name and found:
            yield name, found[0]


def _objects_of_release(store: Store, entry: Entry) -> Mapping[str, tuple[str, Integer]]:
    """The objects that a release names. Each version of its file is read once in a process: a part has many objects."""
    key = store.url, entry.path, entry.etag
    if key not in _read:
        tagged = store.read_tagged(entry.path)
        if tagged is None:  # withdrawn meanwhile
            return {}
        _read[key] = decode_object(tagged[0], _NamedObjects, entry.path, "a release").objects
    return _read[key]
