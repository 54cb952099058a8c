"""The fields of a row: found by name or by path, made into ids, texts and times."""

import datetime as dt
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from gristmill.errors import RecipeError, shorten
from gristmill.readers.text import Unfit

MISSING = object()
"""The value of a field that a row does not have."""

Taker = Callable[[dict[str, Any]], Any]
"""What takes a field out of a row."""

TimeUnit = Literal["text", "s", "ms", "us"]
"""How a row writes a time: as a string, or as a number of seconds, milliseconds or microseconds since 1970 (UTC)."""

TAKEN = "a new name is in the row already"
"""The reason for a row that has a field of its own under a name that a reader adds."""

_A_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NAMES_SHOWN = 200


class RowTrouble(Unfit):
    """Why a row cannot become a document.

    Args:
        reason: short reason, as in Refused.
        detail: more for people, behind the row's place; may be empty.
    """


class NoField(RowTrouble):
    """A row lacks a field.

    Args:
        path: the name or path of the field.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"no field {path!r}")

    def __reduce__(self) -> tuple[type["NoField"], tuple[str]]:
        return type(self), (self.path,)


def find_field(fields: Mapping[str, Any], path: str) -> Any:
    """The value of a field, by its name or its path with dots; MISSING if the row has no such field.

    Args:
        fields: the row.
        path: the name or path, such as `meta.id`. A field of exactly this name comes first.

    >>> find_field({"meta": {"id": 7}, "meta.id": 8}, "meta.id"), find_field({"meta": {"id": 7}}, "meta.id")
    (8, 7)
    """
    if path in fields:
        return fields[path]
    name, _, rest = path.partition(".")
    below = fields.get(name)
    return find_field(below, rest) if rest and isinstance(below, dict) else MISSING


def take_field(fields: dict[str, Any], path: str) -> Any:
    """Takes a field out of a row, by its name or its path. An object that held nothing else is removed too.

    Args:
        fields: the row, which is changed. Objects inside it are copied before they are changed.
        path: the name or path, such as `meta.id`.

    Returns:
        The value; MISSING if the row has no such field.
    """
    if path in fields:
        return fields.pop(path)
    name, _, rest = path.partition(".")
    if not rest or not isinstance(fields.get(name), dict):
        return MISSING
    below = fields[name] = dict(fields[name])  # the row's own object stays as it is
    value = take_field(below, rest)
    if not below:
        del fields[name]
    return value


def make_field_taker(path: str, *, optional: bool = False) -> Taker:
    """A function that takes a field out of a row, as take_field() does; made once for all rows.

    Args:
        path: the field.
        optional: whether a row may lack it, which gives MISSING.

    >>> make_field_taker("meta.id")({"meta": {"id": 7}})
    7
    """
    name, _, rest = path.partition(".")
    is_deep, is_deeper = bool(rest), "." in rest

    def take(fields: dict[str, Any]) -> Any:
        if path in fields:
            return fields.pop(path)
        below = fields.get(name) if is_deep and not is_deeper else None
        if type(below) is dict and len(below) > 1 and rest in below:
            fields[name] = below = below.copy()
            return below.pop(rest)
        value = take_field(fields, path)
        if value is MISSING and not optional:
            raise NoField(path)
        return value

    return take


def put(fields: dict[str, Any], path: str, row: Mapping[str, Any], value: Any) -> None:
    """Puts a value into an object, where the row has it: under the whole path, or in the objects that it names.

    Args:
        fields: the object, which is changed.
        path: the name or path of the field.
        row: the row that has the field; it is only read.
        value: the value to put.
    """
    name, _, rest = path.partition(".")
    if path in row or not rest:
        fields[path] = value
    else:
        put(fields.setdefault(name, {}), rest, row[name], value)


def beside(fields: Mapping[str, Any], ours: Mapping[str, Any], mend: str = "", reason: str = TAKEN) -> dict[str, Any]:
    """The fields of a row and those that a reader adds, as one object. None takes the place of another value.

    Args:
        fields: values of the row by name; they come first. A null may be replaced: nothing is lost with it.
        ours: values that the reader adds, by name.
        mend: advice on a name that is in both, for the message.
        reason: short reason, as in Refused.

    Raises:
        RowTrouble: a name is in both, and that of the row is not null.

    >>> beside({"n": 1}, {"path": "a.txt"})
    {'n': 1, 'path': 'a.txt'}
    """
    if both := [name for name in ours if fields.get(name) is not None]:
        twice = shorten(", ".join(sorted(both)), _NAMES_SHOWN)
        raise RowTrouble(reason, f"{twice}; {mend}" if mend else twice)
    return {**fields, **ours}


def merge_metadata_fields(fields: dict[str, Any]) -> dict[str, Any] | None:
    """The fields that are left, with the keys of their `metadata` among them; None if nothing is left.

    Raises:
        RowTrouble: `metadata` is not an object, or has a key that is also a field.
    """
    given = fields.pop("metadata", MISSING)
    if given is MISSING or given is None:
        return fields or None
    if not isinstance(given, dict):
        raise RowTrouble("metadata is no object")
    return beside(fields, given, reason="a name is in the row and in its metadata")


def names(row: Mapping[str, Any], path: str) -> str:
    """What a row has in the place of a field that it lacks, for messages.

    Args:
        row: the row.
        path: the name or path of the field.

    Returns:
        The names of the row's fields. Where the row has the objects that the path names: those of the innermost one.

    >>> names({"meta": {"uid": 7}, "text": "t"}, "meta.id"), names({"meta": 7}, "meta.id")
    ('meta has: uid', 'the row has: meta')
    """
    at = "the row"
    name, _, rest = path.partition(".")
    while rest and isinstance(row.get(name), dict):
        row, at = row[name], name if at == "the row" else f"{at}.{name}"
        name, _, rest = rest.partition(".")
    return f"{at} has: {shorten(', '.join(map(str, row)), _NAMES_SHOWN) or 'no field'}"


def field_as_id(given: Any, key: str) -> str:
    """The id that a field gives.

    Args:
        given: the value, or MISSING.
        key: the field, for messages.

    Raises:
        NoField: it is missing.
        RowTrouble: it is null, empty, or neither a string nor a whole number.
    """
    if given is MISSING:
        raise NoField(key)
    if given is None or given == "":
        raise RowTrouble(f"{key} is {'null' if given is None else 'empty'}")
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise RowTrouble(f"{key} is no string or number")
    return str(given)


def field_as_text(given: Any, key: str) -> str:
    """The text that a field gives.

    Args:
        given: the value, or MISSING.
        key: the field, for messages.

    Raises:
        NoField: it is missing.
        RowTrouble: it is null, or no string.
    """
    if given is MISSING:
        raise NoField(key)
    if not isinstance(given, str):
        raise RowTrouble(f"{key} is {'null' if given is None else 'no string'}")
    return given


def join_text_fields(given: Mapping[str, Any], separator: str) -> str:
    r"""The text that several fields give together. Null and empty ones are left out, but not all may be null.

    Args:
        given: the values, by the names of their fields.
        separator: put between two of them.

    Raises:
        RowTrouble: one is missing or no string, or all are null.

    >>> join_text_fields({"title": "Tales", "author": None, "body": "Once"}, "\n\n")
    'Tales\n\nOnce'
    """
    texts = [field_as_text(value, key) for key, value in given.items() if value is not None]
    if not texts:
        raise RowTrouble(f"{', '.join(given)} are null")
    return separator.join(filter(None, texts))


def field_as_time(given: Any, key: str, unit: TimeUnit) -> str | None:
    """The time that a field gives, as a string.

    Args:
        given: the value.
        key: the field, for messages.
        unit: unit of the row's numbers. Numbers become strings as in RFC 3339, in UTC.

    Raises:
        RowTrouble: it is neither null nor written like this.

    >>> field_as_time(1_700_000_000_123, "created", "ms"), field_as_time("1851", "created", "text")
    ('2023-11-14T22:13:20.123Z', '1851')
    """
    if given is None or (unit == "text" and isinstance(given, str)):
        return given
    if unit == "text":
        number = isinstance(given, int | float) and not isinstance(given, bool)
        raise RowTrouble(f"{key} is no string", "if it counts seconds since 1970, declare time_unit='s'" * number)
    if isinstance(given, str):  # some sources write the number as a string
        given = int(given) if given.isdecimal() and given.isascii() else given
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise RowTrouble(f"{key} is no number", "for times that are strings, leave out time_unit")
    micro = 1_000_000 // _A_SECOND[unit]
    try:
        time = _EPOCH + dt.timedelta(microseconds=round(given * micro))
    except (OverflowError, ValueError) as error:
        raise RowTrouble(f"{key} is beyond the years 1 to 9999", f"{given!r} as {unit}") from error
    digits = "seconds" if not time.microsecond else "microseconds" if time.microsecond % 1000 else "milliseconds"
    return time.isoformat(timespec=digits).removesuffix("+00:00") + "Z"


class IdTemplate:
    """Makes an id of several fields: `{repo}/{path}` is the field `repo`, a slash, and the field `path`.

    A field may be named by its path with dots, such as `{meta.repo}`. Write `{{` and `}}` for braces.

    Args:
        template: template of the id, as above.
        what: the recipe and the option, for messages.

    Attributes:
        keys: the fields, in order.

    Raises:
        RecipeError: it names no field, or is not written like this.

    >>> IdTemplate("{repo}/{meta.path}", "id_template").made({"repo": "mill", "meta": {"path": "a.py"}})
    'mill/a.py'
    """

    def __init__(self, template: str, what: str) -> None:
        try:
            parts = list(string.Formatter().parse(template))
        except ValueError as error:
            raise RecipeError(
                f"{what} is {template!r}; give names in braces, such as '{{repo}}/{{path}}' ({error})"
            ) from error
        self.keys: Sequence[str] = [key for _, key, _, _ in parts if key is not None]
        self._form = "".join(literal.replace("%", "%%") + "%s" * (key is not None) for literal, key, _, _ in parts)
        if not self.keys or "" in self.keys or any(spec or conversion for _, _, spec, conversion in parts):
            raise RecipeError(f"{what} is {template!r}; give names of fields in braces, such as '{{repo}}/{{path}}'")

    def made(self, row: Mapping[str, Any]) -> str:
        """The id of a row.

        Raises:
            RowTrouble: a field is missing, null, empty, or neither a string nor a whole number.
        """
        values = []
        for key in self.keys:
            value = row.get(key)
            values.append(value if type(value) is str and value else field_as_id(find_field(row, key), key))
        return self._form % tuple(values)

    def joined(self, columns: Sequence[Sequence[str]]) -> list[str]:
        """The ids of many rows.

        Args:
            columns: values of all rows as ids, one sequence for each of `keys`.
        """
        form = self._form
        return [form % values for values in zip(*columns, strict=True)]
