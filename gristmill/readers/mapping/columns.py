"""Compares the fields that a recipe names with the columns of a parquet file, before any row is read."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.types as kinds

from gristmill.errors import DataError, shorten
from gristmill.readers.records import RowDocuments
from gristmill.recipes.row_format import Chat, Prebuilt

_SHOWN = 400
_Test = Callable[[pa.DataType], bool]


def _is_text(kind: pa.DataType) -> bool:
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def _is_time(kind: pa.DataType) -> bool:
    return bool(_is_text(kind) or kinds.is_temporal(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(_is_text(kind) or kinds.is_integer(kind) or kinds.is_floating(kind))


def _is_id(kind: pa.DataType) -> bool:
    return bool(_is_time(kind) or kinds.is_integer(kind) or kinds.is_decimal(kind))


def _list_item_type(kind: pa.DataType) -> pa.DataType | None:
    """The type of the entries of a list; None if it is not a list."""
    is_list = kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)
    return kind.value_type if is_list else None


def _is_turns(kind: pa.DataType) -> bool:
    items = _list_item_type(kind)
    return items is not None and bool(kinds.is_struct(items) or kinds.is_map(items) or kinds.is_null(items))


def _is_ids(kind: pa.DataType) -> bool:
    items = _list_item_type(kind)
    return items is not None and bool(kinds.is_integer(items) or kinds.is_null(items))


def check_columns(documents: RowDocuments, schema: pa.Schema, path: str) -> None:
    """Checks that a file has each column that the recipe names, of a type that fits.

    Args:
        documents: the recipe of the rows.
        schema: schema of the file.
        path: path of the file, for messages.

    Raises:
        DataError: a column is missing, has another type, or two have one name. The message lists what the file has.
    """
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise DataError(f"{path}: two columns are named {', '.join(twice)}; write the file again with distinct names")
    for key, option in documents.named().items():
        kind, has = _type_at_path(schema, key)
        if kind is None:
            if key in documents.optional:
                continue
            raise DataError(f"{path}: no column {key!r}, which {option} names; {shorten(has, _SHOWN)}")
        test, wanted, mend = _type_an_option_needs(documents, option)
        if not (test(kind) or kinds.is_null(kind)):
            raise DataError(
                f"{path}: column {key!r} is of type {shorten(str(kind), _SHOWN)}, and {option} names {wanted}; {mend}"
            )


def _type_at_path(schema: pa.Schema, key: str) -> tuple[pa.DataType | None, str]:
    """The type of a column, named by its name or its path; None without it, and what the file has in its place."""
    if key in schema.names:
        return _unwrap_encoded_type(schema.field(key).type), ""
    name, _, rest = key.partition(".")
    if not rest or name not in schema.names:
        return None, f"it has: {', '.join(schema.names) or 'no column'}"
    kind, at = _unwrap_encoded_type(schema.field(name).type), name
    while rest:
        if not kinds.is_struct(kind):
            return None, f"column {at!r} is of type {kind}, which has no fields"
        fields = {kind.field(number).name: kind.field(number).type for number in range(kind.num_fields)}
        step, rest = (rest, "") if rest in fields else rest.partition(".")[::2]
        if step not in fields:
            return None, f"column {at!r} has: {', '.join(fields)}"
        kind, at = _unwrap_encoded_type(fields[step]), f"{at}.{step}"
    return kind, ""


def _unwrap_encoded_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if kinds.is_dictionary(kind) else kind


def _type_an_option_needs(documents: RowDocuments, option: str) -> tuple[_Test, str, str]:
    """What an option needs: a test for types, words for it, and what to do about another type."""
    cast = "name another column, or write it with that type"
    if option in {"id_key", "id_template", "source_key"}:
        return _is_id, "strings or whole numbers", cast
    if option in {"created_key", "added_key"}:
        if documents.time_unit == "text":
            return (
                _is_time,
                "times or strings",
                "if it counts seconds since 1970, declare time_unit='s'; else name another",
            )
        return _is_number, "numbers", "leave out time_unit for times and strings, or name another column"
    if option == "turns" or (option == "format" and isinstance(documents.format, Chat)):
        return _is_turns, "a list of turns, which are structs", cast
    if option == "format" and isinstance(documents.format, Prebuilt):
        return _is_ids, "a list of whole numbers", cast
    if option in {"format", "text_keys"}:
        return _is_text, "strings", cast
    return lambda _: True, "", ""
