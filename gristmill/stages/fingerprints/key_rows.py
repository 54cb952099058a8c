"""The keys by which whole documents are compared, read from rows in which nothing else is decoded."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import UNSET, UnsetType

from gristmill.lake.rows.batches import TextRow

ABSENT, NULL = "key absent", "key null"
KeyValue = str | int | float

MEND = "a key is a string or a number; mend the raw data, or take another key"


def keyed_row_type(key: str) -> type[TextRow]:
    """The type of rows with a key: the ids, the text, and what is on the path of the key.

    Args:
        key: `text`, `id`, or a path such as `metadata.url`.
    """
    first, *rest = key.split(".")
    if not rest:
        return TextRow
    inner: Any = KeyValue
    for name in reversed(rest):
        inner = msgspec.defstruct("KeyLevel", [("value", inner | None | UnsetType, UNSET)], rename={"value": name})
    row: Any = msgspec.defstruct(
        "KeyedRow", [("value", inner | None | UnsetType, UNSET)], bases=(TextRow,), rename={"value": first}
    )
    return cast("type[TextRow]", row)


def row_keys(rows: Sequence[Any], key: str, counts: Counter[str]) -> list[str | None]:
    """The key of each row as text; None if it has none.

    A number is its decimal digits, as an id is: 1, 1.0 and "1" are one key.

    Args:
        rows: rows of the type that `keyed_row` gives.
        key: the same.
        counts: counter of the rows without a key, by the reason.

    >>> line = b'{"id":"a","source":"s","text":"","metadata":{"n":1.0}}'
    >>> row = msgspec.json.decode(line, type=keyed_row_type("metadata.n"))
    >>> row_keys([row], "metadata.n", Counter())
    ['1']
    """
    path = key.split(".")
    if len(path) == 1:
        return [getattr(row, key) for row in rows]
    keys: list[str | None] = []
    for row in rows:
        value = row
        for _ in path:
            value = value.value
            if value is None or value is UNSET:
                break
        if value is None or value is UNSET:
            counts[NULL if value is None else ABSENT] += 1
            keys.append(None)
        else:
            keys.append(_key_as_text(value))
    return keys


def _key_as_text(value: KeyValue) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)
