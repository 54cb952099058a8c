import json
from pathlib import Path
from typing import Any

import pytest

from gristmill.peeking.draft import Call
from gristmill.peeking.head import Head
from gristmill.peeking.rows import array_rows, delimited_rows, fields_with_kinds, guess_row_mapping, json_rows


def head(data: bytes | str, *, whole: bool = True) -> Head:
    return Head(Path("a"), "", data.encode() if isinstance(data, str) else data, whole)


def test_objects_on_lines_are_rows_and_a_few_bad_lines_are_counted() -> None:
    good = '{"a": 1}\n' * 9
    assert json_rows(head(good + "// a comment\n")) == ([{"a": 1}] * 9, 1)
    assert json_rows(head(good + '{"a": ', whole=False)) == ([{"a": 1}] * 9, 0)
    assert json_rows(head('{"a": 1}\n' + "no\n" * 9)) == ([], 0)
    assert json_rows(head('{\n  "a": 1\n}\n')) == ([], 0)
    assert json_rows(head('["a"]\n')) == ([], 0)


def test_an_array_of_objects_is_read_as_far_as_it_is_seen() -> None:
    assert array_rows(head('\ufeff [ {"a": 1},\n{"a": 2} ]')) == [{"a": 1}, {"a": 2}]
    assert array_rows(head('[{"a": 1}, {"a": ', whole=False)) == [{"a": 1}]
    assert array_rows(head('[{"a": "', whole=False)) == [{}]
    assert array_rows(head("[1, 2]")) == array_rows(head('[{"a": 1}, 2]')) == array_rows(head('{"a": 1}')) == []


@pytest.mark.parametrize(
    ("text", "delimiter", "first"),
    [
        ("id,text\n1,one\n2,two\n", ",", {"id": "1", "text": "one"}),
        ("id\ttext\n1\tone, two\n2\tthree, four\n", "\t", {"id": "1", "text": "one, two"}),
        ('id;text\n1;"a\nb"\n', ";", {"id": "1", "text": "a\nb"}),
        ("a|b|c\n1|2|3\n", "|", {"a": "1", "b": "2", "c": "3"}),
        ("1,2\n3,4\n", "", None),  # no header
        ("one, two\nthree\n", "", None),
        ("one\ntwo\n", "", None),
        ("a,a\n1,2\n", "", None),
    ],
)
def test_a_delimiter_is_the_one_that_gives_the_most_columns(text: str, delimiter: str, first: Any) -> None:
    found, rows, _ = delimited_rows(head(text))
    assert (found, rows[0] if rows else None) == (delimiter, first)


def test_the_last_row_of_a_cut_table_is_left_out() -> None:
    assert delimited_rows(head('a,b\n1,2\n3,"x\n', whole=False)) == (",", [{"a": "1", "b": "2"}], 0)


def test_one_short_row_among_many_leaves_a_table_a_table() -> None:
    found, rows, ragged = delimited_rows(head("id,text\n" + "1,a\n" * 20 + "2\n" + "1,a\n" * 20))
    assert (found, len(rows), ragged) == (",", 40, 1)
    assert delimited_rows(head("id,text\n1,a\n2\n3,c\n")) == ("", [], 0)


def test_fields_are_told_with_their_kinds() -> None:
    meta = {"url": "u", "deep": {"x": 1}}
    rows: list[dict[str, Any]] = [{"id": None, "n": 1.5, "ok": True}, {"id": "a", "tags": [], "meta": meta}]
    told = ("id: string", "n: number", "ok: boolean", "tags: list", "meta.url: string", "meta.deep: object")
    assert fields_with_kinds(rows) == told
    assert fields_with_kinds([{f"f{number}": 1 for number in range(30)}])[-1] == "and 10 more"


def test_a_null_in_the_first_rows_drops_no_column() -> None:
    days = [f"2024-05-{n + 10} at noon, or later" for n in range(3)]
    rows = [{"id": f"a{n}", "text": "x", "day": day} for n, day in enumerate(days)]
    for name in ("text", "id"):
        for spoilt in ({**rows[1], name: None}, {key: value for key, value in rows[1].items() if key != name}):
            found, notes = guess_row_mapping([rows[0], spoilt, rows[2]])
            assert found == {}
            assert notes == (f"{name} is null, empty or missing in 1 of the first 3 rows: they will be refused",)
    assert guess_row_mapping([*rows, {**rows[0], "id": ""}])[1][0].startswith(
        "id is null, empty or missing in 1 of the first 4"
    )
    assert guess_row_mapping([{**row, "text": None} for row in rows])[0]["format"].options == {"text_key": "day"}


def test_a_null_among_turns_drops_no_conversation() -> None:
    said = [{"from": "human", "value": "x"}] * 5 + [{"from": "gpt", "value": None}]
    rows: list[dict[str, Any]] = [{"id": n, "conversations": said} for n in range(3)]
    found, notes = guess_row_mapping([*rows, {"id": 3, "conversations": None}])
    assert found["turns"] == Call("gristmill.readers.mapping.turns", "sharegpt", {"column": "conversations"})
    assert notes == ("conversations is null, empty or missing in 1 of the first 4 rows: they will be refused",)


TURNS = {"column": "utterances", "role_key": "speaker", "content_key": "text"}
TEXT = Call("gristmill.recipes.row_format", "Text", {"text_key": "body"})


@pytest.mark.parametrize(
    ("rows", "options", "note"),
    [
        ([{"id": "a", "text": "x"}, {"id": "b", "text": "y"}], {}, ""),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], {"id_key": None}, "ids are made of file and row number"),
        ([{"meta": {"url": "a"}, "text": "x"}], {"id_key": "meta.url"}, ""),
        ([{"_id": 1, "body": "x", "long": "xxxxxxxx"}], {"id_key": "_id", "format": TEXT}, ""),
        (
            [{"id": "a", "n": "x"}],
            {"format": Call("gristmill.recipes.row_format", "Text", {"text_key": "n"})},
            "a guess",
        ),
        ([{"id": 1, "n": 1}], {}, "no field has a text"),
        ([{"qid": 1, "text": "x"}], {"id_key": "qid"}, ""),
        ([{"nr": "1", "text": "x"}], {"id_key": "nr"}, ""),
        ([{"user_id": "u", "poem_id": "p", "text": "x"}], {"id_key": "poem_id"}, "the id is a guess"),
        (
            [{"id": 1, "question": "long words?", "answer": "x"}],
            {"format": Call("gristmill.recipes.row_format", "Text", {"text_key": "answer"})},
            "the text is a guess, by its name",
        ),
        (
            [{"id": 1, "messages": [{"role": "user", "content": "x"}]}],
            {"format": Call("gristmill.recipes.row_format", "Chat")},
            "",
        ),
        (
            [{"id": 1, "talk": [{"role": "user", "content": "x"}]}],
            {"format": Call("gristmill.recipes.row_format", "Chat", {"messages_field": "talk"})},
            "",
        ),
        (
            [{"id": 1, "conversations": [{"from": "human", "value": "x"}]}],
            {
                "format": Call("gristmill.recipes.row_format", "Chat"),
                "turns": Call("gristmill.readers.mapping.turns", "sharegpt", {"column": "conversations"}),
            },
            "",
        ),
        (
            [{"conversation_id": 1, "utterances": [{"speaker": "A", "text": "x"}]}],
            {
                "id_key": "conversation_id",
                "format": Call("gristmill.recipes.row_format", "Chat"),
                "turns": Call("gristmill.readers.mapping.turns", "Turns", TURNS),
            },
            "",
        ),
        (
            [{"id": 1, "text": "x", "turns": [{"speaker": 1, "text": "x"}]}, {"id": 2, "text": "x", "turns": []}],
            {},
            "",
        ),
    ],
)
def test_the_fields_of_id_and_text_are_guessed(rows: list[Any], options: dict[str, Any], note: str) -> None:
    found, notes = guess_row_mapping(json.loads(json.dumps(rows)))
    assert found == options
    assert note in " ".join(notes)
    assert bool(note) == bool(notes)
