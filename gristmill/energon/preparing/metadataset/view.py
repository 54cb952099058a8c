"""A folder that is only read, and whose files may name others above it, up to a root.

A release of an export names its shards as `../../<stream>/<snapshot>/...`, and a metadataset names datasets beside it.
A name from a file never leads out of the root.
"""

import posixpath
import re
from collections.abc import Iterator

import msgspec

from gristmill.errors import RecipeError, StoreError
from gristmill.lake.store.open import ForeignFolder, Lake
from gristmill.lake.store.plain_files import Tell
from gristmill.lake.store.protocol import Entry, ReadOnly, Store, check_path

RELEASE = "release.json"
"""The file of an export's index that tells it from other folders of this name."""
_UP = "../"
_INDEX = re.compile(r"(.*)/index(?:/release-[0-9a-f]+)?")


class ViewedFolder(msgspec.Struct, frozen=True):
    """The address of such a folder. It holds no secrets.

    Attributes:
        root: lake that names of files never leave.
        folder: below the root, without a slash at its ends; empty: the root.
    """

    root: Lake
    folder: str

    @property
    def url(self) -> str:
        """The path or the address of the folder."""
        return join_path(self.root.url, self.folder)

    @property
    def is_of_export(self) -> bool:
        """Whether it is a release or the index of an export."""
        return export_root(ForeignFolder(self.url, self.root.options)) is not None

    def store(self) -> Store:
        """The store of the folder, newly opened."""
        return FolderView(self.root.store(), self.folder)


def export_root(folder: Lake) -> Lake | None:
    """The folder of the export whose index, or whose release, a folder is; None if it is neither.

    Raises:
        StoreError: the store does not answer.
    """
    found = _INDEX.fullmatch(folder.url.rstrip("/"))
    if found is None or not found[1] or found[1].endswith("/"):
        return None
    root = ForeignFolder(found[1], folder.options)
    return root if root.store().head(f"index/{RELEASE}") else None


def join_path(folder: str, name: str) -> str:
    """The path of a file in a folder.

    >>> join_path("s3://lake/exports/", "index"), join_path("/lake", "")
    ('s3://lake/exports/index', '/lake')
    """
    return f"{folder.rstrip('/')}/{name}" if name else folder


def folder_below(root: Lake, url: str) -> str:
    """The path of a folder below a root.

    Args:
        root: the root.
        url: address of the folder, absolute.

    Raises:
        RecipeError: the folder is not below the root.

    >>> folder_below(Lake("/data"), "/data/shapes/")
    'shapes'
    """
    lead, path = root.url.rstrip("/") + "/", url.rstrip("/") + "/"
    if not path.startswith(lead):
        raise RecipeError(f"{url}: it is not below --root {root.url}; give a folder that holds both")
    return path.removeprefix(lead).rstrip("/")


def path_below_root(folder: str, name: str) -> str:
    """The path below the root of a file that another file names.

    Args:
        folder: path of the folder of the file that has the name, below the root.
        name: relative to the folder. It may begin with `../`, again and again.

    Raises:
        StoreError: the name leads out of the root, or is no name of a file.

    >>> path_below_root("index/release-1f", "../../tales/train-00000.tar")
    'tales/train-00000.tar'
    >>> path_below_root("index", "../../secret.tar")
    Traceback (most recent call last):
    ...
    gristmill.errors.StoreError: '../../secret.tar' leads out of the folder that may be read
    """
    above, rest = folder, name
    while rest.startswith(_UP):
        if not above:
            raise StoreError(f"{name!r:.200} leads out of the folder that may be read")
        above, rest = posixpath.dirname(above), rest.removeprefix(_UP)
    return check_path(f"{above}/{rest}" if above else rest)


def check_name(store: Store, name: str) -> None:
    """Checks a name that a file of a dataset gives for another file.

    Args:
        store: store of the dataset.
        name: relative to the dataset.

    Raises:
        StoreError: the name leads out of the dataset, or for a view out of its root.
    """
    if isinstance(store, FolderView):
        store.path_of(name)
    else:
        check_path(name)


class FolderView(ReadOnly):
    """A folder of a store. It is a Store that only reads: methods that write or delete raise StoreError.

    Args:
        store: store of the root.
        folder: below the root, without a slash at its ends.
    """

    def __init__(self, store: Store, folder: str) -> None:
        super().__init__(store, join_path(store.url, folder))
        self._folder = folder

    def path_of(self, path: str) -> str:
        """The path below the root of a file; see path_below_root()."""
        return path_below_root(self._folder, path)

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:
        lead = f"{self._folder}/" if self._folder else ""
        for entry in self._store.list(lead + prefix, lead + after if after else "", tell):
            yield msgspec.structs.replace(entry, path=entry.path.removeprefix(lead))

    def folders(self, prefix: str) -> Iterator[str]:
        lead = f"{self._folder}/" if self._folder else ""
        return (path.removeprefix(lead) for path in self._store.folders(lead + prefix))

    def head(self, path: str) -> Entry | None:
        entry = super().head(path)
        return entry and msgspec.structs.replace(entry, path=path)
