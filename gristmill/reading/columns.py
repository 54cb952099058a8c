"""The columns of rows that are read: what a caller may ask for, and the Arrow type of each.

No type depends on the data. A column without a value in any row has its type all the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gristmill.errors import RecipeError, known_names
from gristmill.lake.rows.label_values import ANY, declaration_of_label
from gristmill.recipes.rules import Column

Kinds = Mapping[str, str]
"""`score` or `spans` by label, as a tagger declares its labels; names may be patterns (label_values.declared_as)."""

TEXTS = ("id", "source", "text", "added", "created")
"""The text fields of a document."""

SPANS = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64()), ("score", pa.float64())]))

_TYPES: dict[str, Any] = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR[]": pa.list_(pa.string()),
    "score": pa.float64(),
    "spans": SPANS,
    "labels": pa.map_(pa.string(), SPANS),
    "json": pa.string(),
    "origin": pa.string(),
    "row": pa.int64(),
}
_OF_SETS = ("score", "spans", "labels")


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column of a table.

    Attributes:
        name: name of the column.
        path: path of the value: `text`, `metadata.language`, `gopher-1__words`, `snapshot`.
        kind: a type of a field (`VARCHAR`), `score`, `spans`, `labels` (all labels of a set), `json`, `origin`, `row`.
    """

    name: str
    path: str
    kind: str

    @property
    def set(self) -> str:
        """The attribute set that it is read from; empty for a field of the document."""
        return self.path.partition("__")[0] if self.kind in _OF_SETS else ""

    @property
    def label(self) -> str:
        """The label of the attribute set."""
        return self.path.partition("__")[2]

    @property
    def type(self) -> Any:
        """The Arrow type."""
        return _TYPES[self.kind]


def schema_of_columns(columns: Iterable[ReadColumn]) -> Any:
    """The Arrow schema of columns."""
    return pa.schema([(column.name, column.type) for column in columns])


def choose_columns(
    asked: Sequence[str | Column] | None,
    sets: Sequence[str],
    kinds: Callable[[str], Kinds | None],
    origins: Sequence[str] = ("snapshot", "shard"),
) -> tuple[ReadColumn, ...]:
    """The columns of a table of documents.

    Args:
        asked: the columns, by name or as `field`, `score` and `spans` of recipes.rules declare them; None: all fields
            of a document, and where it stands.
        sets: attribute sets; all their labels become columns.
        kinds: the kinds of a set's labels, by label, as its tagger declares them; None if no tagger declares them.
        origins: the text columns that say where a row stands; the column `row` belongs to them.

    Raises:
        RecipeError: a column does not exist, two have one name, or no column is named.
    """
    places = [ReadColumn(name, name, "origin") for name in origins] + [ReadColumn("row", "row", "row")]
    fields = [ReadColumn(name, name, "VARCHAR") for name in TEXTS] + [ReadColumn("metadata", "metadata", "json")]
    plain = {column.name: column for column in (*fields, *places)}
    chosen = [_read_column(column, plain, kinds) for column in asked] if asked is not None else list(fields)
    named = {(column.set, column.label) for column in chosen}
    for name in dict.fromkeys(sets):
        declared = kinds(name)
        if declared is not None:
            chosen += [
                ReadColumn(f"{name}__{label}", f"{name}__{label}", kind)
                for label, kind in declared.items()
                if (name, label) not in named and not label.endswith(ANY)
            ]
            if any(label.endswith(ANY) for label in declared):  # their names are only known from the rows
                chosen.append(ReadColumn(name, name, "labels"))
        elif not any(column.set == name for column in chosen):
            chosen.append(ReadColumn(name, name, "labels"))
    chosen += places if asked is None else []
    names = [column.name for column in chosen]
    if not names:
        raise RecipeError("columns=[] reads nothing; name a column, such as 'id'")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecipeError(f"two columns are named {twice[0]!r}; give one another name: field({twice[0]!r}, name=...)")
    return tuple(chosen)


def _read_column(
    asked: str | Column, plain: Mapping[str, ReadColumn], kinds: Callable[[str], Kinds | None]
) -> ReadColumn:
    if isinstance(asked, Column):
        return ReadColumn(asked.name, asked.path, asked.type)
    if asked in plain:
        return plain[asked]
    if asked.startswith("metadata.") and all(asked.split(".")):
        return ReadColumn(asked, asked, "VARCHAR")
    name, _, label = asked.partition("__")
    if not name or not label:
        raise RecipeError(
            f"there is no column {asked!r}; {known_names(asked, plain)}; others: metadata.KEY and SET__LABEL, or what"
            " field(), score() and spans() of gristmill.recipes.rules declare"
        )
    declared = kinds(name)
    if declared is None:
        return ReadColumn(asked, asked, "spans")
    kind = declaration_of_label(label, declared)
    if kind is None:
        raise RecipeError(f"the set {name!r} has no label {label!r}; {known_names(label, declared)}")
    return ReadColumn(asked, asked, kind)
