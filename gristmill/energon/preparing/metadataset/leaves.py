"""The datasets that a metadataset names, with those of the metadatasets that it names."""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gristmill.energon.formats.metadataset_file import Node, read_metadataset
from gristmill.energon.formats.split import SPLIT_YAML
from gristmill.energon.preparing.dataset import DatasetPath
from gristmill.energon.preparing.files import read_optional
from gristmill.energon.preparing.metadataset.view import ViewedFolder, export_root, folder_below, path_below_root
from gristmill.errors import DataError, StoreError
from gristmill.lake.store.open import ForeignFolder, Lake

METADATASET = "metadataset.yaml"
"""The name of that of an export, in its index."""
_DEPTH = 8
"""Metadatasets in one another. More are taken for a circle."""


class MetadatasetPath(NamedTuple):
    """A metadataset at its place.

    Attributes:
        root: the folder that names in it never leave.
        path: path of the file, below the root.
    """

    root: Lake
    path: str

    @property
    def url(self) -> str:
        """The path or the address, as a person writes it."""
        return f"{self.root.url.rstrip('/')}/{self.path}"

    @property
    def is_of_export(self) -> bool:
        """Whether it is in the index of an export, which only the recipe changes."""
        return ViewedFolder(self.root, posixpath.dirname(self.path)).is_of_export


class Leaf(NamedTuple):
    """A dataset that a metadataset names.

    Attributes:
        split: name of the split of the metadataset.
        name: path of the dataset, relative to the metadataset.
        dataset: the dataset; None if it cannot be looked at from here.
        why: reason why the dataset cannot be looked at.
        part: the split to read there.
        share: share of the samples of the split, from 0 to 1; None without a blend.
        times: number of times that it is read in an epoch; None without an epoch.
        split_config: name of its split file.
        aux: addresses of its auxiliary sources, relative to the metadataset that names them, by name.
        folder: path of the folder of that metadataset, below the root.
    """

    split: str
    name: str
    dataset: DatasetPath | None
    why: str
    part: str
    share: float | None = None
    times: float | None = None
    split_config: str = SPLIT_YAML
    aux: Mapping[str, str] = {}
    folder: str = ""


def open_metadataset(url: str, options: Mapping[str, str], root: str = "") -> MetadatasetPath | None:
    """The metadataset at a path: a `.yaml` file, or the index of an export, which has one; None: it is neither.

    Args:
        url: the path, or `s3://bucket/prefix/...`.
        options: options of the bucket's client.
        root: the folder that names in it never leave; empty: its own folder, or for an export that of the export.

    Raises:
        RecipeError: the file is not below the root.
        StoreError: the store does not answer.
    """
    plain = url.rstrip("/")
    if not plain.endswith(".yaml"):
        above = export_root(ForeignFolder(url, dict(options)))
        if above is None or folder_below(above, ForeignFolder(url).url) != _INDEX:
            return None
        plain += f"/{METADATASET}"
    folder, _, name = plain.rpartition("/")
    here = ForeignFolder(folder or ("/" if plain.startswith("/") else "."), dict(options))
    top = ForeignFolder(root, dict(options)) if root else export_root(here) or here
    below = folder_below(top, here.url)
    return MetadatasetPath(top, f"{below}/{name}" if below else name)


_INDEX = "index"
"""The folder of an export that has its entry."""


def read_leaves(metadataset: MetadatasetPath) -> list[Leaf]:
    """The datasets of all splits, in the order of the file.

    Raises:
        DataError: the metadataset, or one that it names, is missing or not valid, or they name each other in a circle.
        StoreError: the store does not answer.
    """
    return [
        leaf
        for split, node in _splits_of_metadataset(metadataset, metadataset.path).items()
        for leaf in _leaves_below_node(metadataset, metadataset.path, node, Leaf(split, "", None, "", split), 0)
    ]


def _splits_of_metadataset(metadataset: MetadatasetPath, path: str) -> dict[str, Node]:
    data = read_optional(metadataset.root.store(), path)
    if data is None:
        raise DataError(f"{path}: there is no such metadataset; correct the name, or put the file there")
    return read_metadataset(data, path)


def _leaves_below_node(metadataset: MetadatasetPath, file: str, node: Node, leaf: Leaf, depth: int) -> Iterator[Leaf]:
    """The leaves of a node.

    Args:
        metadataset: the first one.
        file: path of the metadataset that has the node, below the root.
        node: a dataset or a group.
        leaf: what is known so far: split, part and shares.
        depth: number of metadatasets around that one.
    """
    weights = sum(member.weight for member in node.group_members)
    for member in node.group_members:
        found = leaf
        if node.blend:
            found = leaf._replace(share=(1.0 if leaf.share is None else leaf.share) * member.weight / (weights or 1))
        if node.blend_epochized:
            found = leaf._replace(times=(1.0 if leaf.times is None else leaf.times) * member.repetitions)
        yield from _leaves_below_node(metadataset, file, member, found, depth)
    if not node.path:
        return
    folder = posixpath.dirname(file)
    leaf = leaf._replace(part=node.split_part or leaf.part)
    place, why = place_below_root(metadataset.root, folder, node.path)
    if node.path.endswith(".yaml") and not why:
        if depth == _DEPTH:
            raise DataError(f"{file}: {node.path!r:.200} is the {depth}th metadataset in another; name no circle")
        inner = _splits_of_metadataset(metadataset, place).get(leaf.part)
        if inner is None:
            raise DataError(f"{place}: it has no split {leaf.part!r:.100}, which {file} reads; correct one of them")
        yield from _leaves_below_node(metadataset, place, inner, leaf, depth + 1)
        return
    name = posixpath.relpath(place, posixpath.dirname(metadataset.path)) if not why else node.path
    dataset = None if why else _dataset_at_leaf(metadataset.root, place)
    aux = {name: _auxiliary_address(source) for name, source in (node.aux or {}).items()}
    yield leaf._replace(
        name=name, dataset=dataset, why=why, split_config=node.split_config or SPLIT_YAML, aux=aux, folder=folder
    )


def _auxiliary_address(source: str | dict[str, Any]) -> str:
    """The address of an auxiliary source: `filesystem://` before that of a folder of files."""
    if isinstance(source, str):
        return source
    return str(source["path"]) if "path" in source else f"filesystem://{source.get('fs_path', '')}"


def place_below_root(root: Lake, folder: str, name: str) -> tuple[str, str]:
    """The path below the root of a dataset that a metadataset names; or why it cannot be looked at.

    Args:
        root: the folder that names never leave.
        folder: path of the folder of the metadataset, below the root.
        name: relative to the metadataset, or an address.

    >>> place_below_root(Lake("/lake"), "index", "../tales/a.jsonl")
    ('tales/a.jsonl', '')
    >>> place_below_root(Lake("/lake"), "", "msc://profile/tales")[1]
    'it is in another store, so it was not looked at; give `gristmill energon lint` its address'
    """
    lead = f"{root.url.rstrip('/')}/"
    if name.startswith(lead):
        folder, name = "", name.removeprefix(lead)
    elif "://" in name:
        return "", "it is in another store, so it was not looked at; give `gristmill energon lint` its address"
    try:
        plain = name.rstrip("/")
        climbs = plain.startswith("..")
        return path_below_root(folder, posixpath.normpath(plain)) if plain != "." or climbs else folder, ""
    except StoreError:
        why = f"it is not below {root.url}, so it was not looked at; give a folder that holds all of them as --root"
        return "", why


def _dataset_at_leaf(root: Lake, path: str) -> DatasetPath:
    if path.endswith(".jsonl"):
        folder, _, name = path.rpartition("/")
        return DatasetPath(ViewedFolder(root, folder), name)
    return DatasetPath(ViewedFolder(root, path))
