"""The columns that a recipe names are compared with those of the file."""

import re
from typing import Any

import pyarrow as pa
import pytest

from gristmill.errors import DataError
from gristmill.readers.mapping.columns import check_columns
from gristmill.readers.mapping.turns import sharegpt
from gristmill.readers.records import RowDocuments
from gristmill.recipes.row_format import Chat, Prebuilt, Text

TURN = pa.struct([("from", pa.string()), ("value", pa.string())])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("text", pa.dictionary(pa.int8(), pa.large_string())),
        (
            "meta",
            pa.struct([("path", pa.string()), ("deep", pa.struct([("n", pa.decimal128(9, 2))])), ("a.b", pa.string())]),
        ),
        ("talk", pa.list_(TURN)),
        ("ids", pa.large_list(pa.int32())),
        ("at", pa.timestamp("us")),
        ("seconds", pa.float64()),
        ("blob", pa.binary()),
        ("nothing", pa.null()),
    ]
)


def check(**options: Any) -> None:
    check_columns(RowDocuments(source="s", **options), SCHEMA, "a.parquet")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"id_key": "meta.path", "created_key": "at", "keep": ("blob", "talk")},
        {"id_template": "{meta.deep.n}/{meta.a.b}", "text_keys": ("text", "meta.path", "nothing")},
        {"format": Chat(), "turns": sharegpt("talk")},
        {"format": Chat(messages_field="talk")},
        {"format": Prebuilt(input_ids_key="ids")},
        {"added_key": "seconds", "time_unit": "s", "rename": {"meta.deep.n": "n"}},
        {"created_key": "date", "optional": ("date",)},
    ],
)
def test_columns_that_fit_pass(options: dict[str, Any]) -> None:
    check(**options)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"id_key": "key"},
            "no column 'key', which id_key names; it has: id, text, meta, talk, ids, at, seconds, blob",
        ),
        (
            {"format": Text(text_key="meta.txt")},
            "'meta.txt', which format names; column 'meta' has: path, deep",
        ),
        ({"id_key": "meta.deep.m"}, "no column 'meta.deep.m', which id_key names; column 'meta.deep' has: n"),
        ({"id_key": "id.n"}, "which id_key names; column 'id' is of type int64, which has no fields"),
        ({"keep": ("lang",)}, "no column 'lang', which keep names"),
        ({"id_key": "seconds"}, "column 'seconds' is of type double, and id_key names strings or whole numbers; name"),
        ({"format": Text(text_key="blob")}, "column 'blob' is of type binary, and format names strings; name another"),
        (
            {"text_keys": ("text", "ids")},
            "'ids' is of type large_list<item: int32>, and text_keys names strings",
        ),
        ({"format": Chat(messages_field="text")}, "and format names a list of turns, which are structs"),
        ({"format": Chat(), "turns": sharegpt("ids")}, "and turns names a list of turns, which are structs"),
        ({"format": Prebuilt(input_ids_key="talk")}, "and format names a list of whole numbers"),
        ({"created_key": "seconds"}, "names times or strings; if it counts seconds since 1970, declare time_unit='s'"),
        ({"created_key": "at", "time_unit": "ms"}, "and created_key names numbers; leave out time_unit for times"),
    ],
)
def test_a_missing_column_or_another_type_is_an_error_that_names_the_mend(options: dict[str, Any], why: str) -> None:
    with pytest.raises(DataError, match=rf"^a\.parquet: .*{re.escape(why)}"):
        check(**options)


def test_two_columns_of_one_name_are_an_error() -> None:
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("id", pa.string())])
    with pytest.raises(DataError, match=r"a\.parquet: two columns are named id; write the file again"):
        check_columns(RowDocuments(source="s"), schema, "a.parquet")
