"""The version of the schema of all that Gristmill writes about its data: ledgers, indexes, plans."""

import msgspec

from gristmill.errors import NewerSchema
from gristmill.lake.store.json_object import NOT_DECODED

SCHEMA = 1


class _Schema(msgspec.Struct):
    """An object of any schema."""

    schema: int


def refuse_newer_schema(data: bytes, path: str) -> None:
    """Refuses an object of a newer schema. An object that is not valid passes: its reader says what is wrong.

    Args:
        data: the object's bytes, JSON.
        path: path of the object, for the message.

    Raises:
        NewerSchema: a newer version of Gristmill wrote it.
    """
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
    except NOT_DECODED:
        return
    if schema > SCHEMA:
        raise NewerSchema(path, schema, SCHEMA)
