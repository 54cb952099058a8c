"""Reads metadatasets that others wrote. `metadataset.py` composes ours.

Source: megatron-energon 7.4.1, `metadataset/metadataset_v2.py`, which refuses other fields too.
"""

import math
from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.formats.yaml_text import read_yaml

_KIND = ("__module__", "__class__")


class Node(msgspec.Struct, forbid_unknown_fields=True):
    """A dataset or a group of them. Exactly one of `path`, `join`, `blend` and `blend_epochized` is given.

    Attributes:
        path: path of a dataset or of another metadataset, relative to the file.
        join: datasets whose samples are joined one by one.
        blend: datasets drawn by `weight`.
        blend_epochized: datasets read `repetitions` times.
        split_part: the split to read; None: the one that is being built.
        aux: auxiliary sources by name.
        dataset_config: another name of `dataset.yaml`.
        split_config: another name of `split.yaml`.
    """

    path: str = ""
    join: "list[Node] | dict[str, Node] | None" = None
    blend: "list[Node] | None" = None
    blend_epochized: "list[Node] | None" = None
    weight: float = 1.0
    repetitions: float = 1.0
    split_part: str | None = None
    aux: dict[str, str | dict[str, Any]] | None = None
    dataset_config: str | None = None
    split_config: str | None = None
    subflavors: dict[str, Any] | None = None
    shuffle_over_epochs_multiplier: int | None = 1
    subset: Any = None
    joiner: Any = None
    nonmatch: Any = None

    @property
    def group_members(self) -> "list[Node]":
        """The datasets of a group; of a dataset none."""
        found = self.join or self.blend or self.blend_epochized or []
        return list(found.values()) if isinstance(found, dict) else found


def read_metadataset(data: bytes, where: str) -> dict[str, Node]:
    """The splits of a metadataset.

    Args:
        data: content of the file.
        where: its path, for messages.

    Raises:
        DataError: it is wrong, is of the older kind, or has a field that energon refuses.

    >>> read_metadataset(b"{__class__: MetadatasetV2, splits: {train: {path: a.jsonl}}}", "m.yaml")["train"].path
    'a.jsonl'
    """
    value = read_yaml(data, where)
    if value.get("__class__") != "MetadatasetV2":
        raise DataError(f"{where}: its __class__ is {value.get('__class__')!r:.100}; write it as MetadatasetV2")
    given = {key: part for key, part in value.items() if key not in _KIND}
    try:
        splits = msgspec.convert(given, dict[str, dict[str, Node]]).get("splits")
    except msgspec.ValidationError as error:
        raise DataError(f"{where}: not a valid metadataset: {error}; mend it") from error
    if not splits or len(given) > 1:
        other = ", ".join(key for key in given if key != "splits")
        raise DataError(f"{where}: it has {f'the fields {other:.200}' if other else 'no splits'}; give it only splits")
    for name, node in splits.items():
        _check_nodes(node, f"{where}: split {name!r:.100}")
    return splits


def _check_nodes(node: Node, where: str) -> None:
    """Checks a dataset and those in it.

    Raises:
        DataError: it is not exactly one kind of dataset, or a share is not a number above zero.
    """
    kinds = [name for name in ("path", "join", "blend", "blend_epochized") if getattr(node, name)]
    if len(kinds) != 1:
        raise DataError(f"{where}: it has {' and '.join(kinds) or 'no dataset'}; give one path, join or blend")
    for share in (node.weight, node.repetitions):
        if not math.isfinite(share) or share < 0:
            raise DataError(f"{where}: {node.path!r:.200} has the share {share}; give a finite number, 0 or more")
    for member in node.group_members:
        _check_nodes(member, where)
        if member.blend or member.blend_epochized:
            raise DataError(f"{where}: a blend is in a group; give the inner one a metadataset of its own")
