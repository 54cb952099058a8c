"""Fields of a row become ids, texts and times."""

import pickle
import re
from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.readers.mapping.fields import (
    MISSING,
    IdTemplate,
    NoField,
    RowTrouble,
    beside,
    field_as_time,
    join_text_fields,
    put,
    take_field,
)

ROW = {"repo": "mill", "meta": {"path": "a.py", "n": 3}, "empty": "", "null": None, "flag": True, "half": 0.5}


@pytest.mark.parametrize(
    ("template", "made"),
    [("{repo}/{meta.path}", "mill/a.py"), ("{{{meta.n}}}", "{3}"), ("{meta.n}-{repo}", "3-mill"), ("x{repo}", "xmill")],
)
def test_a_template_makes_an_id_of_several_fields(template: str, made: str) -> None:
    assert IdTemplate(template, "id_template").made(ROW) == made


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("none", "no field 'none'"),
        ("meta.none", "no field 'meta.none'"),
        ("empty", "empty is empty"),
        ("null", "null is null"),
        ("flag", "flag is no string or number"),
        ("half", "half is no string or number"),
        ("meta", "meta is no string or number"),
    ],
)
def test_a_row_without_a_part_of_its_id_is_in_trouble(key: str, reason: str) -> None:
    with pytest.raises(RowTrouble) as trouble:
        IdTemplate(f"{{repo}}/{{{key}}}", "id_template").made(ROW)
    assert trouble.value.reason == reason


@pytest.mark.parametrize("template", ["", "no field", "{}", "{repo", "repo}", "{repo!r}", "{repo:>3}", "{repo}{}"])
def test_a_template_that_names_no_field_is_an_error(template: str) -> None:
    with pytest.raises(RecipeError, match=rf"^id_template is {re.escape(repr(template))}; give names"):
        IdTemplate(template, "id_template")


@pytest.mark.parametrize(
    ("given", "unit", "time"),
    [
        ("May 1851", "text", "May 1851"),
        (None, "s", None),
        (0, "s", "1970-01-01T00:00:00Z"),
        (-1.5, "s", "1969-12-31T23:59:58.500Z"),
        ("1700000000", "s", "2023-11-14T22:13:20Z"),
        (1_700_000_000_123, "ms", "2023-11-14T22:13:20.123Z"),
        (1_700_000_000_000_001, "us", "2023-11-14T22:13:20.000001Z"),
    ],
)
def test_times_become_strings(given: Any, unit: Any, time: str | None) -> None:
    assert field_as_time(given, "created", unit) == time


@pytest.mark.parametrize(
    ("given", "unit", "reason", "detail"),
    [
        (7, "text", "t is no string", "declare time_unit='s'"),
        (True, "text", "t is no string", ""),
        ("May 1851", "s", "t is no number", "leave out time_unit"),
        (True, "s", "t is no number", "leave out time_unit"),
        (10**15, "s", "t is beyond the years 1 to 9999", f"{10**15} as s"),
        (1e308, "ms", "t is beyond the years 1 to 9999", "1e+308 as ms"),
        (float("nan"), "ms", "t is beyond the years 1 to 9999", "nan as ms"),
    ],
)
def test_what_is_no_time_says_what_to_declare(given: Any, unit: Any, reason: str, detail: str) -> None:
    with pytest.raises(RowTrouble) as trouble:
        field_as_time(given, "t", unit)
    assert trouble.value.reason == reason
    assert detail in trouble.value.detail


def test_several_texts_are_joined_unless_all_are_null() -> None:
    assert join_text_fields({"a": "", "b": None, "c": "C", "d": "D"}, "|") == "C|D"
    assert join_text_fields({"a": "", "b": None}, "|") == ""
    for given, reason in (
        ({"a": None, "b": None}, "a, b are null"),
        ({"a": 1, "b": "B"}, "a is no string"),
        ({"a": MISSING, "b": "B"}, "no field 'a'"),
    ):
        with pytest.raises(RowTrouble) as trouble:
            join_text_fields(given, "|")
        assert trouble.value.reason == reason


def test_a_value_is_put_where_it_was_taken() -> None:
    row: dict[str, Any] = {"a": {"b": {"c": 1, "d": 2}}, "x.y": 3}
    kept: dict[str, Any] = {}
    for key, value in (("a.b.c", 1), ("x.y", 3), ("a.b.d", 2)):
        put(kept, key, row, value)
    assert kept == row
    assert [take_field(kept, key) for key in ("a.b.c", "x.y", "a.b.d", "a.b.d")] == [1, 3, 2, MISSING]
    assert kept == {}


def test_a_null_gives_way_to_a_field_of_the_reader_and_other_values_do_not() -> None:
    assert beside({"messages": None, "n": 1}, {"messages": ["hi"]}) == {"messages": ["hi"], "n": 1}
    values: tuple[Any, ...] = (0, "", False, [], {})
    for value in values:
        with pytest.raises(RowTrouble, match=r"in the row already: messages$"):
            beside({"messages": value, "choice": None}, {"messages": ["hi"], "choice": "best"})


def test_a_missing_field_comes_whole_out_of_another_process() -> None:
    trouble = pickle.loads(pickle.dumps(NoField("meta.id")))
    assert (type(trouble), str(trouble)) == (NoField, "no field 'meta.id'")
    assert (trouble.path, trouble.reason, trouble.detail) == ("meta.id", "no field 'meta.id'", "")
