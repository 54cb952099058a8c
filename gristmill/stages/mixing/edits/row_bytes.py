"""The bytes of a row: some of its values can be replaced, and all other bytes stay as they are."""

from collections.abc import Mapping

import msgspec
import numpy as np

from gristmill.errors import DataError
from gristmill.lake.store.json_object import NOT_DECODED

Values = dict[str, msgspec.Raw]
"""The bytes of the value of each key of an object: views into the bytes of the row."""

_object = msgspec.json.Decoder(Values)
_text = msgspec.json.Decoder(str)
_NULL = msgspec.Raw(b"null")


def object_value_bytes(line: bytes | msgspec.Raw) -> Values:
    """The bytes of each value of an object.

    Raises:
        DataError: it is not an object.
    """
    try:
        return _object.decode(line)
    except NOT_DECODED as error:
        raise DataError(f"not an object of JSON ({error})") from error


def text_of_line(line: bytes) -> str:
    """The text of a row.

    Raises:
        DataError: the row has no string "text".

    >>> text_of_line(b'{"id":"d1","text":"to be"}')
    'to be'
    """
    return text_of_value(object_value_bytes(line).get("text"))


def text_of_value(value: msgspec.Raw | None) -> str:
    """The text of a row whose values are known.

    Args:
        value: the bytes of its "text"; None if it has none.

    Raises:
        DataError: it is not a string.
    """
    try:
        return _text.decode(_NULL if value is None else value)
    except NOT_DECODED as error:
        raise DataError(f'the row has no string "text" ({error})') from error


def replace_row_values(line: bytes, changed: Mapping[str, bytes], values: Values | None = None) -> bytes:
    """A row with other values for some keys. Its other bytes are copied: keys, order, white space, numbers.

    Args:
        line: an object of JSON, without a line feed.
        changed: the new bytes of each value. A key that the row does not have comes after its last one.
        values: the values of the row, if they are known: those of values_of(line), of this same object.

    Raises:
        DataError: the row is not an object.

    >>> replace_row_values(b'{ "id":"d1", "text" : "to be", "n":1e0 }', {"text": b'"not"', "kind": b"null"})
    b'{ "id":"d1", "text" : "not", "n":1e0 ,"kind":null}'
    """
    values = object_value_bytes(line) if values is None else values
    base = _buffer_address(line)
    pieces: list[bytes] = []
    end = 0
    # The views tell where a value is. A search for its bytes could find the same bytes elsewhere in the row.
    for start, key in sorted((_buffer_address(values[key]) - base, key) for key in changed if key in values):
        pieces += line[end:start], changed[key]
        end = start + memoryview(values[key]).nbytes
    rest = line[end:]
    added = [msgspec.json.encode(key) + b":" + value for key, value in changed.items() if key not in values]
    if added:
        rest = rest.rstrip()[:-1] + (b"," if values else b"") + b",".join(added) + b"}"
    return b"".join([*pieces, rest])


def _buffer_address(data: bytes | msgspec.Raw) -> int:
    return int(np.frombuffer(data, np.uint8).__array_interface__["data"][0])
