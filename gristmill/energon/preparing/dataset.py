"""A dataset that others made: a JSONL file, or a folder with tars or media, on this machine or in a bucket."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from gristmill.energon.formats.info import INFO, META_FOLDER
from gristmill.energon.preparing.metadataset.view import ViewedFolder, export_root, folder_below
from gristmill.errors import DataError, RecipeError
from gristmill.lake.store.open import ForeignFolder, Lake
from gristmill.lake.store.protocol import Entry, Store

LEGACY_INFO: Final = ".info.yaml"
"""The name under which older releases of energon wrote `.info.json`."""
INDEX: Final = "index.sqlite"
UUID: Final = "index.uuid"

DatasetKind = Literal["jsonl", "tars", "files"]


class DatasetPath(NamedTuple):
    """A dataset at its place.

    Attributes:
        lake: the folder or the bucket's prefix that holds it. A folder whose files name others above it is a view.
        name: name of the JSONL file in it; empty for a folder.
    """

    lake: Lake | ViewedFolder
    name: str = ""

    @property
    def url(self) -> str:
        """The path or the address, as a person writes it."""
        return f"{self.lake.url.rstrip('/')}/{self.name}" if self.name else self.lake.url

    def open_dataset_store(self) -> Store:
        """The store of the dataset, newly opened."""
        return self.lake.store()


def open_dataset(url: str, options: Mapping[str, str], root: str = "") -> DatasetPath:
    """The dataset at a path.

    Args:
        url: a `.jsonl` file or a folder, or `s3://bucket/prefix` of one.
        options: options of the bucket's client.
        root: the folder that holds the dataset and all its shards. Empty: the dataset's own folder; for a release of an
            export, the folder of the export.

    Raises:
        RecipeError: nothing is there, it is a metadataset, or a file that is no JSONL.
        StoreError: the bucket does not answer.
    """
    folder, _, name = url.rstrip("/").rpartition("/")
    if name.endswith(".jsonl") and not Path(url).is_dir():
        dataset = DatasetPath(ForeignFolder(folder or ("/" if url.startswith("/") else "."), dict(options)), name)
        if dataset.open_dataset_store().head(name) is None:
            raise RecipeError(f"{url}: nothing is there; give a .jsonl file or a folder")
        return dataset
    if name.endswith(".yaml"):
        raise RecipeError(f"{url}: a metadataset needs no preparation; give the path of one of its datasets")
    if "://" not in url and not Path(url).expanduser().is_dir():
        what = "it is a file, and no .jsonl" if Path(url).expanduser().exists() else "nothing is there"
        raise RecipeError(f"{url}: {what}; give a .jsonl file or a folder")
    folder_lake = ForeignFolder(url, dict(options))
    above = ForeignFolder(root, dict(options)) if root else export_root(folder_lake)
    return DatasetPath(ViewedFolder(above, folder_below(above, folder_lake.url)) if above else folder_lake)


def meta_path(name: str) -> str:
    """The path of one of a dataset's own files.

    >>> meta_path("split.yaml")
    '.nv-meta/split.yaml'
    """
    return f"{META_FOLDER}/{name}"


def list_files(store: Store) -> list[Entry]:
    """All files of a folder but the dataset's own, in the order of the real tool; see path_order()."""
    entries = (entry for entry in store.list("") if not entry.path.startswith(f"{META_FOLDER}/"))
    return sorted(entries, key=lambda entry: path_order(entry.path))


def path_order(path: str) -> list[str]:
    """The key by which the real tool sorts shards: folder by folder, so that all of a folder come together.

    >>> sorted(["a-b/0.tar", "a.tar", "a/0.tar"], key=path_order)
    ['a/0.tar', 'a-b/0.tar', 'a.tar']
    """
    return path.split("/")


def is_prepared(store: Store) -> bool:
    """Whether a folder is a prepared dataset of tars: it has the file that is written last."""
    return any(store.head(meta_path(name)) for name in (INFO, LEGACY_INFO))


def is_release(dataset: DatasetPath) -> bool:
    """Whether a dataset is the release or the index of an export, which only its recipe changes."""
    return isinstance(dataset.lake, ViewedFolder) and dataset.lake.is_of_export


def kind_of(dataset: DatasetPath, store: Store) -> DatasetKind:
    """The kind of a dataset: a JSONL file, a folder with tars, or a folder of other files.

    Raises:
        DataError: the folder is empty.
    """
    if dataset.name:
        return "jsonl"
    if is_prepared(store):
        return "tars"
    entries = list_files(store)
    if not entries:
        raise DataError(f"{dataset.url}: the folder is empty; give one with tars or with media files")
    names = (entry.path.lower() for entry in entries)
    return "tars" if any(name.endswith(".tar") or is_packed_tar(name) for name in names) else "files"


def is_packed_tar(path: str) -> bool:
    """Whether a path is that of a compressed tar, which the loader cannot read.

    >>> is_packed_tar("a.tgz"), is_packed_tar("a.tar.gz"), is_packed_tar("a.json.gz")
    (True, True, False)
    """
    return path.endswith((".tgz", ".tar.gz", ".tar.zst", ".tar.bz2", ".tar.xz"))
