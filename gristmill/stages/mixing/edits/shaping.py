"""Shaping: which fields the written rows have, with the attributes and the origin that are put into them."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.counts import add_counts
from gristmill.lake.rows.attribute import AttributeRow
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing.edits.row_bytes import Values, object_value_bytes, replace_row_values

Tree = dict[str, "Tree"]
"""Paths of fields: the keys below each key; empty: the whole value."""
_ALWAYS = ("id", "source", "text")
WRITTEN_OVER = "written over: "
"""Begins the counter of rows that had another value of their own in a place."""
_PLACES = {"attributes": "attributes", "metadata": "metadata.origin"}


class RowShape:
    """The fields that a selection writes.

    Args:
        selection: the recipe.
        documents: the partition that is read.
    """

    def __init__(self, selection: Selection, documents: Place) -> None:
        self._keep, self._discard = _path_tree(selection.keep), _path_tree(selection.discard)
        names = names_in_asset_address(documents.asset) if selection.origin else {}
        self._origin = {**names, "snapshot": documents.snapshot} if selection.origin else {}

    def shape_row(
        self, line: bytes, labels: Mapping[str, AttributeRow], shard: str, row: int, counts: dict[str, int]
    ) -> bytes:
        """The row as it is written. A row that has nothing to leave out or to add keeps its bytes.

        Args:
            line: the line of the row.
            labels: its labels in each set whose labels are merged, by the set's name.
            shard: name of its shard.
            row: its number there.
            counts: counter that receives the number of rows that had another value of their own where the recipe writes
                one.

        Raises:
            DataError: it is not an object.
        """
        if self._keep:
            keep: Tree = {**{key: {} for key in _ALWAYS}, **self._keep}
            line = _encode_kept_metadata(line, _select_paths(object_value_bytes(line), keep))
        elif self._discard:
            line = _encode_kept_metadata(line, _remove_paths(object_value_bytes(line), self._discard))
        added: dict[str, bytes] = {}
        if labels:
            merged = {
                f"{name}__{label}": spans for name, each in labels.items() for label, spans in each.labels.items()
            }
            added["attributes"] = _add_object_keys(line, "attributes", merged, counts)
        if self._origin:
            origin = {"origin": {**self._origin, "shard": shard, "row": row}}
            added["metadata"] = _add_object_keys(line, "metadata", origin, counts)
        return replace_row_values(line, added) if added else line


def _add_object_keys(line: bytes, name: str, added: Mapping[str, Any], counts: dict[str, int]) -> bytes:
    """An object of the row with more keys; null, or no object, is an empty one."""
    value = object_value_bytes(line).get(name)
    fields = dict(object_value_bytes(value)) if value and _is_object(value) else {}
    if value and not _is_object(value) and msgspec.json.decode(value) not in (None, []):
        add_counts(counts, {WRITTEN_OVER + name: 1})
    elif not all(_may_replace(fields[key], added[key]) for key in added.keys() & fields.keys()):
        add_counts(counts, {WRITTEN_OVER + _PLACES[name]: 1})
    return msgspec.json.encode({**fields, **added})


def _path_tree(paths: Iterable[str]) -> Tree:
    tree: Tree = {}
    for path in sorted(paths, key=len, reverse=True):  # a path above others comes last, and takes their place
        *above, last = path.split(".")
        below = tree
        for key in above:
            below = below.setdefault(key, {})
        below[last] = {}
    return tree


def _is_object(value: msgspec.Raw) -> bool:
    return bytes(value).startswith(b"{")


def _select_paths(values: Values, tree: Tree) -> dict[str, Any]:
    """The values at the paths of a tree, in the order of the row."""
    kept: dict[str, Any] = {}
    for key, value in values.items():
        below = tree.get(key)
        if below == {}:
            kept[key] = value
        elif below is not None and _is_object(value):
            kept[key] = _keep_if_equal(value, _select_paths(object_value_bytes(value), below))
    return kept


def _remove_paths(values: Values, tree: Tree) -> dict[str, Any]:
    """The values that are not at the paths of a tree."""
    kept: dict[str, Any] = {}
    for key, value in values.items():
        below = tree.get(key)
        if below and _is_object(value):
            kept[key] = _keep_if_equal(value, _remove_paths(object_value_bytes(value), below))
        elif below is None or below:
            kept[key] = value
    return kept


def _keep_if_equal(value: msgspec.Raw, kept: dict[str, Any]) -> Any:
    """The object as it was if nothing was left out of it, so that its bytes stay."""
    return value if _is_same(object_value_bytes(value), kept) else kept


def _encode_kept_metadata(line: bytes, kept: dict[str, Any]) -> bytes:
    return line if _is_same(object_value_bytes(line), kept) else msgspec.json.encode(kept)


def _is_same(before: Values, kept: dict[str, Any]) -> bool:
    return len(kept) == len(before) and not any(isinstance(value, dict) for value in kept.values())


def _may_replace(old: msgspec.Raw, new: Any) -> bool:
    """Whether nothing is lost: the old value is null or no span, equal, or the origin that an earlier version had."""
    was, now = msgspec.json.decode(old), msgspec.json.decode(msgspec.json.encode(new))
    is_origin = isinstance(was, dict) and isinstance(now, dict) and was.keys() == now.keys()
    return is_origin or was in (None, [], now)
