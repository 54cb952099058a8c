"""ColumnReader: reads the declared columns from the rows of documents and attribute sets."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from gristmill.errors import MalformedRow, RecipeError
from gristmill.lake.rows.attribute import Spans
from gristmill.recipes.rules import Column
from gristmill.recipes.selection import is_attribute, label_of_column, set_of_column

_TYPES: Mapping[str, Any] = {
    "VARCHAR": str,
    "BIGINT": int,
    "DOUBLE": float,
    "BOOLEAN": bool,
    "VARCHAR[]": list[str],
}

Extract = Callable[[Any], Any]
_Tree = dict[str, Any]
"""The type of each key of an object, or the tree of the object that it holds."""


def _struct_type(name: str, tree: _Tree) -> Any:
    """A struct type with the declared keys of an object. The decoder skips all other keys, which saves time."""
    fields = []
    rename = {}
    for number, (key, kind) in enumerate(sorted(tree.items())):
        inner = _struct_type(f"{name}_{number}", kind) if isinstance(kind, dict) else kind
        fields.append((f"f{number}", inner | UnsetType | None, UNSET))
        rename[f"f{number}"] = key
    return msgspec.defstruct(name, fields, rename=rename)


def _add_column_type(tree: _Tree, column: Column) -> None:
    """Adds the type of a column to a tree, at the path of the column."""
    keys = column.path.split(".")
    for key in keys[:-1]:
        below = tree.setdefault(key, {})
        if not isinstance(below, dict):
            raise RecipeError(f"column {column.name!r}: {column.path!r} is below a column that is not an object")
        tree = below
    kind = _TYPES[column.type]
    if tree.setdefault(keys[-1], kind) != kind:
        raise RecipeError(f"column {column.name!r}: {column.path!r} is declared already with another type")


def _path_extractor(tree: _Tree, path: str) -> Extract:
    """A function that takes the value at a path from a decoded row; UNSET if a key is absent."""
    slots: list[str] = []
    subtree = tree
    for key in path.split("."):
        slots.append(f"f{sorted(subtree).index(key)}")  # the name that _struct_type() gives the field
        subtree = subtree[key] if isinstance(subtree[key], dict) else {}

    def value(row: Any) -> Any:
        for slot in slots:
            if row is None or row is UNSET:
                return UNSET
            row = getattr(row, slot)
        return row

    return value


def origin_value(column: Column) -> str | None:
    """The value of an origin column in all rows; None if the source declares nothing.

    Raises:
        RecipeError: the selection was not read together with its source.
    """
    if column.value is None:
        raise RecipeError(
            f"column {column.name!r}: {column.path} is known only if mix and source are read together by read_catalogue"
        )
    return column.value or None


class ColumnReader:
    """Reads the values of columns: from document rows, from the recipe of the source, and from attribute sets.

    Args:
        columns: the columns that a selection declares.

    Attributes:
        decoder: decoder of document rows: `id`, `source`, and the fields of the columns.
        sets: names of the attribute sets of the columns, sorted.

    Raises:
        RecipeError: two columns contradict each other, or an origin column has no value yet: see origin_value().
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        tree: _Tree = {"id": str, "source": str}
        fields = [c for c in columns if not is_attribute(c) and not c.is_origin]
        self._origins = {c.name: origin_value(c) for c in columns if c.is_origin}
        for column in fields:
            _add_column_type(tree, column)
        row = _struct_type("Row", tree)
        self.decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(row)
        self._id, self._source = _path_extractor(tree, "id"), _path_extractor(tree, "source")
        self._fields = [(c.name, _path_extractor(tree, c.path)) for c in fields]
        self._attributes = [c for c in columns if is_attribute(c)]
        self.sets = tuple(sorted({set_of_column(c) for c in self._attributes}))

    def pairs(self, rows: Sequence[Any], path: str, first: int) -> list[tuple[str, str]]:
        """The (source, id) of each row.

        Args:
            rows: decoded rows.
            path: path of the shard, for messages.
            first: number of the first row in the shard.

        Raises:
            MalformedRow: a row has no `id` or no `source`, or one of them is not a string.
        """
        pairs = [(self._source(row), self._id(row)) for row in rows]
        for number, (source, id_) in enumerate(pairs):
            if not isinstance(source, str) or not isinstance(id_, str):
                raise MalformedRow(path, first + number, 'no string "id" and "source"')
        return pairs

    def fields(self, rows: Sequence[Any], absent: dict[str, int]) -> dict[str, list[Any]]:
        """The values of the document columns.

        Args:
            rows: decoded rows.
            absent: counter that receives the number of rows without a value, by column. Such a row has the value None.
        """
        values: dict[str, list[Any]] = {}
        for name, value in self._origins.items():
            values[name] = [value] * len(rows)
            if value is None and rows:
                absent[name] = absent.get(name, 0) + len(rows)
        for name, extract in self._fields:
            column = [extract(row) for row in rows]
            lacking = sum(value is UNSET for value in column)
            if lacking:
                absent[name] = absent.get(name, 0) + lacking
                column = [None if value is UNSET else value for value in column]
            values[name] = column
        return values

    def labels_of(self, name: str) -> tuple[str, ...]:
        """The labels that the columns read from one attribute set, sorted."""
        return tuple(sorted({label_of_column(c) for c in self._attributes if set_of_column(c) == name}))

    def labels(
        self, name: str, found: Mapping[str, Sequence[Spans | None]], path: str, first: int, absent: dict[str, int]
    ) -> dict[str, Sequence[Any]]:
        """The values of the columns of one attribute set.

        Args:
            name: name of the set.
            found: spans of each row, by label; None for a row without the label.
            path: path of its shard, for messages.
            first: number of the first row in the shard.
            absent: counter that receives the number of rows without a label, by column. Such a row has the value None.

        Raises:
            MalformedRow: a column that is declared as one score has several spans.
        """
        values: dict[str, Sequence[Any]] = {}
        for column in self._attributes:
            if set_of_column(column) != name:
                continue
            column_spans = found[label_of_column(column)]
            lacking = column_spans.count(None)
            if lacking:
                absent[column.name] = absent.get(column.name, 0) + lacking
            values[column.name] = (
                column_spans if column.type == "spans" else _single_span_scores(column_spans, column, path, first)
            )
        return values


def _single_span_scores(spans: Sequence[Spans | None], column: Column, path: str, first: int) -> list[float | None]:
    """The score of each row's only span; None for a row without a span."""
    for number, each in enumerate(spans):
        if each is not None and len(each) > 1:
            raise MalformedRow(
                path,
                first + number,
                f"{column.path} has {len(each)} spans, but column {column.name!r} is declared as one score",
                f"declare it as spans({column.path!r}) and say in the rule what to do with several",
            )
    return [each[0][2] if each else None for each in spans]
