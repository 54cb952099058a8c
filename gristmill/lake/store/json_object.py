"""Decodes the JSON objects of a lake: whatever their bytes are, a wrong one is a DataError that names its file."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

import msgspec

from gristmill.errors import DataError, RecipeError, error_in_words

T = TypeVar("T")

Integer = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""An integer of 64 bits. JSON has larger ones, but no digest and no array takes them."""

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A number of rows, bytes or objects. Arrays are made of it, and files are read from it on."""

NOT_DECODED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a decoder raises: no JSON, another type than declared, no UTF-8, or nested too deeply."""


def decode_object(data: bytes, kind: type[T], path: str, what: str, mend: str = "") -> T:
    """The value of an object, decoded into its declared type.

    Args:
        data: the object's bytes, JSON.
        kind: the declared type.
        path: path of the object, for the message.
        what: description of what the object should be, for the message, such as `a ledger`.
        mend: advice for a person, for the message.

    Raises:
        DataError: the bytes are no JSON, or not of this type.

    >>> decode_object(b'{"a":1}', dict[str, int], "counts.json", "counters")
    {'a': 1}
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except NOT_DECODED as error:
        raise undecoded_error(error, path, what, mend) from error


def undecoded_error(error: BaseException, path: str, what: str, mend: str = "") -> DataError:
    """The error for an object that a decoder refused.

    Args:
        error: exception of the decoder, one of NOT_DECODED.
        path: path of the object, for the message.
        what: description of what the object should be, for the message.
        mend: advice for a person, for the message.
    """
    return DataError(f"{path}: not {what} ({error})" + (f"; {mend}" if mend else ""))


def is_same_json(found: bytes, made: bytes) -> bool:
    """Whether two objects have the same keys in the same order, and equal values.

    A recipe may give a number as 3 or as 3.0, and a record has it as it was given. A decoder makes 3.0 of both, so what
    is encoded again has other bytes.

    Args:
        found: the bytes of an object that a decoder took.
        made: the bytes that encoding the decoded value gives.

    >>> is_same_json(b'{"weight":3}', b'{"weight":3.0}'), is_same_json(b'{"weight":3}', b'{"weight":3,"more":1}')
    (True, False)
    """
    return found == made or json.loads(found, object_pairs_hook=list) == json.loads(made, object_pairs_hook=list)


_NOT_MEANT = (ArithmeticError, AttributeError, LookupError, RecipeError, TypeError, ValueError, msgspec.MsgspecError)
"""What reading a value raises that is missing, or of another type or form than its reader knows."""


@contextmanager
def read_free_form(path: str, what: str = "its recipe") -> Iterator[None]:
    """Reads values of free form within a `with`: a wrong one is an error that names the record.

    Args:
        path: the path of the record.
        what: description of the record, for the message.

    Raises:
        DataError: a value is missing, or has another type or form.

    >>> with read_free_form("2024.json"):
    ...     {}["rate"]
    Traceback (most recent call last):
        ...
    gristmill.errors.DataError: 2024.json: what it says of its recipe is damaged (KeyError: 'rate'); restore it
    """
    try:
        yield
    except _NOT_MEANT as error:
        raise DataError(f"{path}: what it says of {what} is damaged ({error_in_words(error)}); restore it") from error
