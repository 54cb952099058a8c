"""JSON lines and parquet of any form become documents."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from talklake import talk_file

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.mapping.turns import sharegpt
from gristmill.recipes.raw_object import Refused
from gristmill.recipes.row_format import Chat, Prebuilt, Text


def lines(*rows: Any) -> bytes:
    return b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)


TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "Ho"}]}]


def read(tmp_path: Path, *rows: Any, **options: Any) -> list[Any]:
    return list(JsonLines(source="talks", **options)(talk_file(tmp_path, "a.jsonl", lines(*rows))))


def test_conversations_keep_their_turns_and_get_a_text_that_people_read(tmp_path: Path) -> None:
    data = gzip.compress(lines({"messages": TALK, "lang": "en"}, {"id": 7, "messages": []}, {"id": "x"}), mtime=0)
    convert = JsonLines(source="talks", format=Chat(), id_key=None)
    first, second, third = convert(talk_file(tmp_path, "a.jsonl.gz", data))
    assert first == Document(
        id="2024/a.jsonl.gz:0",
        text="user: Hi\n\nassistant: Ho",
        source="talks",
        metadata={"messages": TALK, "lang": "en"},
    )
    assert isinstance(second, Refused)
    assert second.reason == "no turns"
    assert third == Refused("no field 'messages'", "a.jsonl.gz row 2 (the row has: id)", b'{"id": "x"}')


def test_texts_and_ids_are_found_under_their_keys(tmp_path: Path) -> None:
    rows = ({"key": "k", "text": "t", "n": 1}, {"key": "l", "text": "u"}, {"key": "m", "text": None})
    made = read(tmp_path, *rows, id_key="key")
    assert made[:2] == [
        Document(id="k", text="t", source="talks", metadata={"n": 1}),
        Document(id="l", text="u", source="talks"),
    ]
    assert made[2] == Refused("text is null", "a.jsonl row 2", lines(rows[2])[:-1])


def test_a_field_that_became_the_text_is_not_kept_a_second_time(tmp_path: Path) -> None:
    row: dict[str, Any] = {"id": "a", "body": "b", "text": "another", "page": {"html": "c", "n": 1}}
    metadata: dict[str, Any] = {"text": "another", "page": {"html": "c", "n": 1}}
    assert read(tmp_path, row, format=Text(text_key="body")) == [
        Document(id="a", text="b", source="talks", metadata=metadata)
    ]
    metadata = {"body": "b", "text": "another", "page": {"n": 1}}
    assert read(tmp_path, row, format=Text(text_key="page.html")) == [
        Document(id="a", text="c", source="talks", metadata=metadata)
    ]
    row = {"id": "a", "ids": [1, 2], "text": "t"}
    assert read(tmp_path, row, format=Prebuilt(input_ids_key="ids")) == [
        Document(id="a", text="t", source="talks", metadata={"ids": [1, 2]})
    ]


def test_an_id_may_lie_deeper_and_its_object_goes_with_it_if_nothing_else_is_in_it(tmp_path: Path) -> None:
    rows = [
        {"meta": {"id": "a"}, "text": "t"},
        {"meta": {"id": 7, "n": 1}, "text": "t"},
        {"meta.id": "c", "meta": 5, "text": "t"},
    ]
    assert read(tmp_path, *rows, id_key="meta.id") == [
        Document(id="a", text="t", source="talks"),
        Document(id="7", text="t", source="talks", metadata={"meta": {"n": 1}}),
        Document(id="c", text="t", source="talks", metadata={"meta": 5}),
    ]


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        ({"text": "t", "url": "u"}, "no field 'id'", " (the row has: text, url)"),
        ({}, "no field 'id'", " (the row has: no field)"),
        ({"id": None, "text": "t"}, "id is null", ""),
        ({"id": "", "text": "t"}, "id is empty", ""),
        ({"id": 1.5, "text": "t"}, "id is no string or number", ""),
        ({"id": "a", "body": "t"}, "no field 'text'", " (the row has: id, body)"),
        ({"id": "a", "text": ["t"]}, "text is no string", ""),
        ({"id": "a", "text": "t", "metadata": "m"}, "metadata is no object", ""),
        (
            {"id": "a", "text": "t", "url": 1, "n": 2, "metadata": {"n": 2, "url": 3}},
            "a name is in the row and in its metadata",
            " (n, url)",
        ),
    ],
)
def test_a_row_that_lacks_something_is_refused_beside_others_and_says_what_it_has(
    tmp_path: Path, row: dict[str, Any], reason: str, detail: str
) -> None:
    good, bad = read(tmp_path, {"id": "g", "text": "t"}, row)
    assert good == Document(id="g", text="t", source="talks")
    assert bad == Refused(reason, f"a.jsonl row 1{detail}", lines(row)[:-1])


def test_rows_in_dolmas_form_become_the_same_documents(tmp_path: Path) -> None:
    row = {
        "id": "a",
        "text": "t",
        "source": "crawl",
        "added": "2024-05-06",
        "created": None,
        "metadata": {"lang": "en", "messages": TALK},
        "url": "u",
    }
    metadata = {"source": "crawl", "url": "u", "lang": "en", "messages": TALK}
    expected = Document(id="a", text="t", source="talks", added="2024-05-06", created=None, metadata=metadata)
    assert read(tmp_path, row) == [expected]
    [talk] = read(tmp_path, row | {"source": "talks"}, format=Chat())
    assert talk.text == "user: Hi\n\nassistant: Ho"
    assert talk.metadata == {"text": "t", "url": "u", "lang": "en", "messages": TALK}


def test_a_time_that_is_no_string_stays_metadata(tmp_path: Path) -> None:
    assert read(tmp_path, {"id": "a", "text": "t", "created": 1700000000}) == [
        Document(id="a", text="t", source="talks", metadata={"created": 1700000000})
    ]


def test_a_template_makes_the_id_and_its_fields_stay(tmp_path: Path) -> None:
    rows = [{"repo": "mill", "at": {"path": "a.py"}, "text": "t"}, {"repo": "mill", "text": "t"}]
    good, bad = read(tmp_path, *rows, id_template="{repo}/{at.path}")
    assert good == Document(id="mill/a.py", text="t", source="talks", metadata={"repo": "mill", "at": {"path": "a.py"}})
    assert (bad.reason, bad.where) == ("no field 'at.path'", "a.jsonl row 1 (the row has: repo, text)")


@pytest.mark.parametrize(
    ("meta", "has"),
    [
        ({"uid": 1}, "meta has: uid"),
        ({}, "meta has: no field"),
        ({"at": {"uid": 1, "n": 2}}, "meta.at has: uid, n"),
        (7, "the row has: meta, text"),
    ],
)
def test_a_wrong_path_lists_what_the_innermost_object_has(tmp_path: Path, meta: object, has: str) -> None:
    [bad] = read(tmp_path, {"meta": meta, "text": "t"}, id_key="meta.at.id")
    assert (bad.reason, bad.where) == ("no field 'meta.at.id'", f"a.jsonl row 0 ({has})")


def test_several_fields_give_the_text_and_the_times(tmp_path: Path) -> None:
    row = {"id": 1, "title": "T", "abstract": None, "body": {"text": "B"}, "at": {"ms": 1000}, "created": "x"}
    options: dict[str, Any] = {
        "text_keys": ("title", "abstract", "body.text"),
        "created_key": "at.ms",
        "time_unit": "ms",
        "added": "2026-11-22",
    }
    made, lacking = read(tmp_path, row, {"id": 2, "title": "T", "abstract": "A", "body": {"text": "B"}}, **options)
    assert made == Document(
        id="1", text="T\n\nB", source="talks", added="2026-11-22", created="1970-01-01T00:00:01Z",
        metadata={"created": "x"},
    )  # fmt: skip
    assert lacking.reason == "no field 'at.ms'"
    (made,) = read(
        tmp_path, {"id": 2, "title": "T", "added": "2020"}, **options | {"optional": ("abstract", "body.text", "at.ms")}
    )
    assert made == Document(id="2", text="T", source="talks", added="2020")


def test_the_recipe_says_what_becomes_metadata_and_under_which_name(tmp_path: Path) -> None:
    row = {
        "id": 1,
        "text": "t",
        "lang": "en",
        "n": {"a": 1, "b": 2},
        "x": 0,
        "metadata": {"m": 1, "o": 2},
        "by": "crawl",
    }
    made: list[Any] = [
        read(tmp_path, row, **options)[0].metadata
        for options in (
            {"keep": ("lang", "n.b", "metadata.m")},
            {"keep": ()},
            {"leave_out": ("x", "n.a", "metadata", "by", "absent")},
            {"keep": (), "rename": {"lang": "language", "n.b": "b"}},
        )
    ]
    assert made == [
        {"lang": "en", "n": {"b": 2}, "m": 1},
        UNSET,
        {"lang": "en", "n": {"b": 2}},
        {"language": "en", "b": 2},
    ]
    (document,) = read(tmp_path, row, source_key="by", keep=())
    assert (document.source, document.metadata) == ("crawl", UNSET)
    assert read(tmp_path, row, rename={"lang": "x"})[0].reason == "a new name is in the row already"
    for options, reason in (
        ({"keep": ("language",)}, "no field 'language'"),
        ({"rename": {"n.c": "c"}}, "no field 'n.c'"),
        ({"source_key": "n.c"}, "no field 'n.c'"),
    ):
        assert read(tmp_path, row, **options)[0].reason == reason
    (document,) = read(tmp_path, row, keep=("lang", "z"), rename={"y": "why"}, optional=("y", "z"))
    assert document.metadata == {"lang": "en"}


def test_turns_become_messages_whatever_the_rest_of_the_metadata_is(tmp_path: Path) -> None:
    row = {"id": 1, "conversations": [{"from": "human", "value": "Hi"}], "n": 1, "tools": []}
    options: dict[str, Any] = {"format": Chat(), "turns": sharegpt()}
    messages = [{"role": "user", "content": "Hi"}]
    for more, metadata in (
        ({}, {"n": 1, "tools": [], "messages": messages}),
        ({"keep": ("tools",)}, {"tools": [], "messages": messages}),
        ({"rename": {"n": "number"}, "keep": ()}, {"number": 1, "messages": messages}),
    ):
        expected = Document(id="1", text="user: Hi", source="talks", metadata=metadata)
        assert read(tmp_path, row, **options, **more) == [expected]
    row = {"id": 1, "messages": messages, "system": "S", "n": 1}
    (kept,) = read(tmp_path, row, format=Chat(system_prompt="system"), keep=())
    assert kept.metadata == {"messages": messages, "system": "S"}


@pytest.mark.parametrize(("column", "turns"), [("messages", None), ("conversations", sharegpt())])
def test_a_conversation_without_turns_is_refused(tmp_path: Path, column: str, turns: Any) -> None:
    (refused,) = read(tmp_path, {"id": "t1", column: []}, format=Chat(), turns=turns)
    assert isinstance(refused, Refused)
    assert refused.reason == "no turns"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"id_key": "x", "id_template": "{x}"}, "id_key and id_template are both given"),
        ({"text_keys": ("a",), "format": Chat()}, "text_keys takes the place of format"),
        ({"turns": sharegpt()}, "turns make messages; give format=Chat"),
        ({"added": "2026", "added_key": "a"}, "added and added_key are both given"),
        ({"keep": ("a", "b"), "leave_out": ("b",)}, "b: a field of keep cannot be in leave_out"),
        ({"keep": ("a",), "rename": {"a": "b"}}, "a: a field of keep cannot be in leave_out or rename"),
        ({"rename": {"a": "c", "b": "c"}}, "rename gives two fields one name"),
        ({"optional": ("nowhere",)}, "optional has nowhere, which no other option names"),
        ({"created_key": ""}, "created_key has an empty string"),
        ({"rename": {"a": ""}}, "rename or added has an empty string"),
        ({"id_template": "{}"}, "id_template is '{}'; give names of fields"),
    ],
)
def test_options_that_contradict_each_other_are_errors(options: dict[str, Any], why: str) -> None:
    with pytest.raises(RecipeError, match=rf"^JsonLines of source 'talks'.*{re.escape(why)}"):
        JsonLines(source="talks", **options)
