"""Says where two rows of a shard differ. Texts are not shown: an edit may have removed what nobody may read."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.stages.mixing.edits.edit_proof import text_difference


def first_different_row(found: Iterable[bytes], made: Iterable[bytes]) -> tuple[int, str] | None:
    """The number of the first row that differs, and what differs; None if all rows are the same.

    Args:
        found: the rows of a shard, as JSON.
        made: the rows as they are made again, as JSON.

    >>> first_different_row([b'{"id":"a"}', b'{"id":"b"}'], [b'{"id":"a"}', b'{"id":"c"}'])
    (1, "id 'b' is here, but made again there is id 'c'")
    """
    pairs = enumerate(zip_longest(found, made))
    number, one, other = next(((number, *pair) for number, pair in pairs if pair[0] != pair[1]), (-1, None, None))
    if one is None:
        return (
            None if other is None else (number, f"there is no such row, but made again there is {_row_in_words(other)}")
        )
    if other is None:
        return number, f"{_row_in_words(one)} is here, but made again the shard ends before it"
    if _row_in_words(one) != _row_in_words(other):
        return number, f"{_row_in_words(one)} is here, but made again there is {_row_in_words(other)}"
    return number, f"{_row_in_words(one)}: {row_difference(one, other)}"


def row_difference(found: bytes, made: bytes) -> str:
    """The place where two rows differ that are not equal.

    Args:
        found: a row, as JSON.
        made: the row as it is made again, as JSON.

    >>> row_difference(b'{"text":"ab"}', b'{"text":"ac"}')
    'its text differs from code point 1 on'
    >>> row_difference(b'{"metadata":{"a":1}}', b'{"metadata":{"a":2}}')
    'its metadata.a differs'
    """
    try:
        one, other = msgspec.json.decode(found), msgspec.json.decode(made)
    except NOT_DECODED:
        return "its bytes differ, and they are no JSON"
    name = next(_differing_fields(one, other), "")
    if name == "text":
        return text_difference(made, found)
    return f"its {name} differs" if name else "its bytes differ, and its fields do not"


def _differing_fields(one: Any, other: Any) -> Iterator[str]:
    """The names of the fields in which two values differ, by their paths; those of the text come first."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return
    for name in sorted(one.keys() | other.keys(), key=lambda name: (name != "text", name)):
        here, there = one.get(name), other.get(name)
        if here != there or (name in one) != (name in other):
            below = next(_differing_fields(here, there), "")
            yield f"{name}.{below}" if below else name


def _row_in_words(row: bytes) -> str:
    try:
        return f"id {str(msgspec.json.decode(row)['id'])!r:.200}"
    except (KeyError, TypeError, *NOT_DECODED):
        return "a row without an id"
