"""The values of some fields of rows, as the bytes that the rows have for them, or as text."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.shard_file import split_rows

WHOLE = "*"
"""The path of a whole row."""


class RowFields:
    r"""Reads the values at some paths of each row.

    Args:
        paths: names of keys joined by dots, such as `text` or `metadata.page.title`, or `*` for the whole row.
        texts: numbers of the paths whose values are strings in every row. Their values come as UTF-8 instead of JSON.
            So a long text is decoded while its row is, which is faster.

    >>> rows = b'{"id": "1", "metadata": {"image": "a.jpg"}}\n{"id": "2"}\n'
    >>> RowFields(["id", "metadata.image"]).read(rows, "pages.jsonl", 0)
    [[b'"1"', b'"a.jpg"'], [b'"2"', None]]
    >>> RowFields(["id"], texts=[0]).read(rows, "pages.jsonl", 0)
    [[b'1'], [b'2']]
    """

    def __init__(self, paths: Sequence[str], texts: Collection[int] = ()) -> None:
        self._paths = [path.split(".") for path in paths]
        self._types: list[type] = [str if number in texts else Raw for number in range(len(paths))]
        trees: list[dict[str, Any]] = []
        self._tree_of: list[int] = []
        for path, kind in zip(self._paths, self._types, strict=True):
            number = next((n for n, tree in enumerate(trees) if _add_tree_path(tree, path, kind)), len(trees))
            if number == len(trees):
                trees.append({})
                _add_tree_path(trees[number], path, kind)
            self._tree_of.append(number)
        self._decoders = [msgspec.json.Decoder(_row_decoder_type(tree)) for tree in trees]

    def read(self, lines: bytes, shard: str, first: int) -> list[list[bytes | None]]:
        """The values of each row, as JSON or as text, in the order of the paths; None: the row has no value there.

        Args:
            lines: the rows, each with its line feed.
            shard: path of their shard, for messages.
            first: number of the first row in the shard.

        Raises:
            MalformedRow: a row is not valid JSON, or has no object where a path leads through one; names file and row.
        """
        decoded = [decode_rows(decoder, lines, shard, first) for decoder in self._decoders]
        columns = [self._values_at_path(number, decoded[tree], lines) for number, tree in enumerate(self._tree_of)]
        return [list(values) for values in zip(*columns, strict=True)]

    def _values_at_path(self, number: int, rows: Sequence[Any], lines: bytes) -> list[bytes | None]:
        """The value at one path in each row."""
        path = self._paths[number]
        if path == [WHOLE]:
            return list(split_rows(lines))
        values = rows
        for key in map(_python_name_of_key, path):
            values = [getattr(value, key, UNSET) for value in values]
        if self._types[number] is str:
            return [None if value is UNSET else value.encode() for value in values]
        return [None if value is UNSET else bytes(value) for value in values]


def _add_tree_path(tree: dict[str, Any], path: Sequence[str], kind: type) -> bool:
    """Adds a path to a tree of keys; False if a value of the tree would be on the way to another, or of another type.

    Args:
        tree: for each key, the tree of the keys below it, or the type of its value.
        path: the keys.
        kind: the type of the value.
    """
    if path == [WHOLE]:
        return True
    below: Any = tree
    for key in path[:-1]:
        if isinstance(below, type):
            return False
        below = below.get(key, {})
    if isinstance(below, type) or below.get(path[-1], kind) is not kind:
        return False
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    tree[path[-1]] = kind
    return True


def _row_decoder_type(tree: Mapping[str, Any]) -> type[msgspec.Struct]:
    """A type that decodes the keys of a tree, and skips all others. See _plant."""
    fields: list[tuple[str, Any, Any]] = []
    for key, below in tree.items():
        value: Any = below if isinstance(below, type) else _row_decoder_type(below) | None
        fields.append((_python_name_of_key(key), value | UnsetType, msgspec.field(default=UNSET, name=key)))
    return msgspec.defstruct("Fields", fields, frozen=True, gc=False)


def _python_name_of_key(key: str) -> str:
    """A Python name for a key, which may be any text."""
    return "f_" + key.encode().hex()
