"""The values of some fields of rows, as the bytes that the rows have for them. No text is decoded or encoded."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.shard_file import rows_of

WHOLE = "*"
"""The path of a whole row."""


class RowFields:
    r"""Reads the values at some paths of each row.

    Args:
        paths: names of keys joined by dots, such as `text` or `metadata.page.title`, or `*` for the whole row.

    >>> rows = b'{"id": "1", "metadata": {"image": "a.jpg"}}\n{"id": "2"}\n'
    >>> RowFields(["id", "metadata.image"]).read(rows, "pages.jsonl", 0)
    [[b'"1"', b'"a.jpg"'], [b'"2"', None]]
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = [path.split(".") for path in paths]
        trees: list[dict[str, Any]] = []
        self._tree_of: list[int] = []
        for path in self._paths:
            number = next((n for n, tree in enumerate(trees) if _plant(tree, path)), len(trees))
            if number == len(trees):
                trees.append({})
                _plant(trees[number], path)
            self._tree_of.append(number)
        self._decoders = [msgspec.json.Decoder(_row_type(tree)) for tree in trees]

    def read(self, lines: bytes, shard: str, first: int) -> list[list[bytes | None]]:
        """The values of each row, as JSON, in the order of the paths; None for a value that the row does not have.

        Args:
            lines: the rows, each with its line feed.
            shard: path of their shard, for messages.
            first: number of the first row in the shard.

        Raises:
            MalformedRow: a row is not valid JSON, or has no object where a path leads through one; names file and row.
        """
        decoded = [decode_rows(decoder, lines, shard, first) for decoder in self._decoders]
        columns = [self._column(path, decoded[n], lines) for path, n in zip(self._paths, self._tree_of, strict=True)]
        return [list(values) for values in zip(*columns, strict=True)]

    @staticmethod
    def _column(path: Sequence[str], rows: Sequence[Any], lines: bytes) -> list[bytes | None]:
        """The value at one path in each row."""
        if path == [WHOLE]:
            return list(rows_of(lines))
        values = rows
        for key in map(_attribute, path):
            values = [getattr(value, key, UNSET) for value in values]
        return [None if value is UNSET else bytes(value) for value in values]


def _plant(tree: dict[str, Any], path: Sequence[str]) -> bool:
    """Adds a path to a tree of keys; False if a value of the tree would be on the way to another."""
    if path == [WHOLE]:
        return True
    below: Any = tree
    for key in path[:-1]:
        if below is None:
            return False
        below = below.get(key, {})
    if below is None or below.get(path[-1]) is not None:
        return False
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    tree[path[-1]] = None
    return True


def _row_type(tree: Mapping[str, Any]) -> type[msgspec.Struct]:
    """A type that decodes the keys of a tree, and skips all others."""
    fields: list[tuple[str, Any, Any]] = []
    for key, below in tree.items():
        value: Any = Raw if below is None else _row_type(below) | None
        fields.append((_attribute(key), value | UnsetType, msgspec.field(default=UNSET, name=key)))
    return msgspec.defstruct("Fields", fields, frozen=True, gc=False)


def _attribute(key: str) -> str:
    """A Python name for a key, which may be any text."""
    return "f_" + key.encode().hex()
