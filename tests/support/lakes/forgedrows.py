"""Rows of tables in which one value is another one, for each value there is."""

import copy
from collections.abc import Iterator
from typing import Any

import msgspec

from gristmill.lake.ledger.model import Shard

ADDED: dict[str, Any] = {
    "members": [[0, 0]],
    "index": "0" * 64,
    "quarantine": {"rows": 1, "bytes": 1, "sha256": "0" * 64},
    "extra": {"another": 1},
    "dropped": {"another": 1},
    "counts": {"another": 1},
}
"""Fields that a row may lack, and a value of each."""


def forged_rows(row: Shard) -> Iterator[tuple[str, Shard]]:
    """What was changed, and the row with it: each number and each text of the row, and each field that may be added.

    The row's name and its recipe stay, because a table is sorted by the one, and its head names the other.

    Args:
        row: a row of a table.
    """
    good = msgspec.to_builtins(row)
    for where in _leaves(good):
        if where[0] in {"name", "recipe"}:
            continue
        yield ".".join(map(str, where)), _changed(good, where, _other)
    for name, value in ADDED.items():
        there = good.get(name)
        more = value | there if isinstance(value, dict) and there else value
        if more != there and (not there or isinstance(value, dict)):
            yield f"{name} with more", msgspec.convert(good | {name: more}, Shard)
    if "facts" in good.get("extra", {}):
        facts = good["extra"]["facts"] | {"another": 1}
        yield "facts with more", msgspec.convert(good | {"extra": good["extra"] | {"facts": facts}}, Shard)


def _leaves(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, (*where, key))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _leaves(each, (*where, number))
    elif value is not None:
        yield where


def _changed(good: dict[str, Any], where: tuple[Any, ...], change: Any) -> Shard:
    row = msgspec.json.decode(msgspec.json.encode(copy.deepcopy(good)))
    holder = row
    for key in where[:-1]:
        holder = holder[key]
    holder[where[-1]] = change(holder[where[-1]])
    return msgspec.convert(row, Shard)


def _other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return value[:-1] + ("0" if value[-1:] != "0" else "1")
