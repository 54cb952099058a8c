"""Whether a record has only what its readers read: a field that nobody knows could say anything."""

from typing import Any

import msgspec

from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.schema import SCHEMA


def why_not_as_written(data: bytes, value: object) -> str:
    """The reason why a record is not as Gristmill writes it; empty if it is. Fields with their default value may be
    left out.

    Args:
        data: its bytes: canonical JSON, perhaps with a line feed.
        value: value that was read from the record.

    >>> why_not_as_written(b'{"a":1}', {"a": 1}), why_not_as_written(b'{"a":1,"b":2}', {"a": 1})
    ('', "it has the field 'b', which no such record has")
    """
    given = msgspec.json.decode(data)
    if as_json(given) != data.removesuffix(b"\n"):
        return "it is not canonical JSON: keys sorted, each once, no spaces"
    schema = given.get("schema", SCHEMA) if isinstance(given, dict) else SCHEMA
    if schema not in range(1, SCHEMA + 1):
        return f"its schema is {schema}, which no Gristmill wrote"
    field = first_unknown_field(given, msgspec.json.decode(as_json(value)))
    return f"it has the field {field!r}, which no such record has" if field is not None else ""


def first_unknown_field(given: Any, known: Any) -> str | None:
    """The name of the first field that one JSON value has and another lacks; of a list, the number of the first entry.

    Args:
        given: the value as it was read.
        known: the same value with only the fields that its type knows.

    Returns:
        The name or the number; None if the second value lacks nothing.

    >>> first_unknown_field({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}], "d": 3})
    'c'
    """
    if isinstance(given, dict) and isinstance(known, dict):
        pairs = [(given[key], known[key]) for key in given if key in known]
        if foreign := sorted(given.keys() - known.keys()):
            return str(foreign[0])
    elif isinstance(given, list | tuple) and isinstance(known, list | tuple):
        pairs = list(zip(given, known, strict=False))
        if len(given) > len(known):
            return str(len(known))
    else:
        return None
    return next((found for one, other in pairs if (found := first_unknown_field(one, other)) is not None), None)
