"""One JSON array becomes documents, entry by entry."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from partkit import Held
from talklake import talk_file

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.document import Document
from gristmill.readers.json_array import JsonArray
from gristmill.readers.mapping.turns import Turns
from gristmill.recipes.raw_object import Limits, RawObject, Refused
from gristmill.recipes.row_format import Chat


def read(tmp_path: Path, data: bytes, name: str = "a.json", **options: Any) -> list[Any]:
    return list(JsonArray(source="talks", **options)(talk_file(tmp_path, name, data)))


def test_entries_of_an_array_become_documents_with_exact_numbers(tmp_path: Path) -> None:
    row = {"id": "a", "text": "t", "n": 2**70, "x": 0.1, "y": [1e300, -0.0, {"z": None}], "s": "\u00e9\U0001f600"}
    expected = Document(id="a", text="t", source="talks", metadata={key: row[key] for key in ("n", "x", "y", "s")})
    data = json.dumps([row, {"id": 2, "text": "u"}]).encode()
    for name, packed in (("a.json", data), ("a.json.gz", gzip.compress(data, mtime=0))):
        made = read(tmp_path, packed, name)
        assert made == [expected, Document(id="2", text="u", source="talks")]
        assert [type(each) for each in made[0].metadata["y"][:2]] == [float, float]


def test_an_array_inside_an_object_is_named_by_its_path(tmp_path: Path) -> None:
    data = json.dumps({"about": {"n": 1}, "data": {"rows": [{"id": 1, "text": "t"}]}, "more": [1]}).encode()
    assert read(tmp_path, data, items="data.rows.item") == [Document(id="1", text="t", source="talks")]
    for items in ("item", "rows.item", "data.rows.rows"):
        with pytest.raises(DataError, match=r"no entries at '.*'; the file is an object with: about, data, more; give"):
            read(tmp_path, data, items=items)
    assert read(tmp_path, b'{"data": []}', items="data.item") == []
    assert read(tmp_path, b"[]") == []
    with pytest.raises(DataError, match="the file is one string"):
        read(tmp_path, b'"text"')


def test_turns_of_an_array_of_conversations(tmp_path: Path) -> None:
    data = json.dumps([{"id": 1, "talk": [{"speaker": "user", "text": "Hi", "n": 0}]}]).encode()
    turns = Turns(column="talk", role_key="speaker", content_key="text", roles={"user": "user"})
    assert read(tmp_path, data, format=Chat(), turns=turns) == [
        Document(
            id="1",
            text="user: Hi",
            source="talks",
            metadata={"messages": [{"role": "user", "content": "Hi", "n": 0}]},
        )
    ]


def test_entries_that_are_no_documents_are_refused_beside_others(tmp_path: Path) -> None:
    digits, deep = b"9" * 5000, b"[" * 2000 + b"]" * 2000
    entries = [
        b'{"id": 1, "text": "t"}',
        b"7",
        b'{"id": 2}',
        b'{"id": 3, "text": "x", "n": 1e999}',
        b'{"id": 4, "text": "x", "n": 1e99999999999999999999999}',
        b'{"id": 5, "text": "x", "n": %b}' % digits,
        b'{"id": 6, "text": "x\\ud800"}',
        b'{"id": 7, "text": "\xff"}',
        b'{"id": 8, "text": "x", "n": NaN}',
        b'{"id": 9, "text": "x", "n": %b}' % deep,
        b'{"id": 10, "text": "]\\"}"}',
    ]
    made = read(tmp_path, b"[" + b",\n".join(entries) + b"]")
    assert [row.reason if isinstance(row, Refused) else row.id for row in made] == [
        "1",
        "not an object",
        "no field 'text'",
        *["number out of range"] * 3,
        "invalid JSON",
        "not UTF-8",
        "invalid JSON",
        "nested too deeply",
        "10",
    ]
    assert [row.raw for row in made if isinstance(row, Refused)] == entries[1:10]
    assert made[2].where == "a.json row 2 (the row has: id)"


def test_a_document_knows_its_bytes(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf {"rows": [ {"id": 1, "text": "a"} , {"id": 2, "text": "b"}]}'
    raw = talk_file(tmp_path, "a.json", data)
    spans = [raw.take_raw_span() for _ in JsonArray(source="talks", items="rows.item")(raw)]
    assert [data[span.start : span.end] for span in spans if span] == [
        b'{"id": 1, "text": "a"}',
        b'{"id": 2, "text": "b"}',
    ]


def test_an_array_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.json: the key 'data' is there twice"):
        read(tmp_path, b'{"data": [{"id": 1, "text": "t"}], "\\u0064ata": []}', items="data.item")


def test_items_must_be_a_path() -> None:
    with pytest.raises(RecipeError, match=r"items is 'data\.\.item'; give a path"):
        JsonArray(source="talks", items="data..item")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'[{"id": 1, "text": "t"}, {"id"', "not valid JSON after entry 0"),
        (b'[{"id": 1, "text": "t"},]', "not valid JSON after entry 0"),
        (b'[// c\n{"id": 1, "text": "t"}]', "not valid JSON"),
        (b'[{"id": 1, "text": "t"}] []', "not valid JSON after entry 0"),
        (b'{"a": [x]}', "not valid JSON"),
        (b'[{"id": [1}]}]', "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"", "not valid JSON"),
    ],
)
def test_what_is_not_valid_json_is_an_error_that_names_the_place(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(DataError, match=rf"a\.json: {why} \("):
        read(tmp_path, data)


def test_an_entry_that_is_too_long_is_refused_and_the_next_is_read(tmp_path: Path) -> None:
    rows = [{"id": 1, "text": "t"}, {"id": 2, "text": "x" * 3_000_000}, {"id": 3, "text": "u"}]
    raw = talk_file(tmp_path, "a.json", json.dumps(rows).encode())
    raw.limits = Limits(row=1000)
    made: list[Any] = list(JsonArray(source="talks")(raw))
    assert [row.reason if isinstance(row, Refused) else row.id for row in made] == ["1", "row too long", "3"]
    assert (made[1].size, len(made[1].raw)) == (3_000_021, 1 << 20)
    assert made[1].where == "a.json row 1: 3000021 bytes, but row_limit is 1000; its first are kept"


@pytest.mark.parametrize("piece", [100, 4096, 1 << 20])
def test_an_entry_one_byte_longer_than_a_row_may_be_is_refused_and_its_neighbours_stay(piece: int) -> None:
    rows = [{"id": str(n), "text": "x" * length, "n": 0.5} for n, length in enumerate([5, 970, 971, 5, 3000, 970])]
    limit = len(json.dumps(rows[1], separators=(",", ":")))
    data = json.dumps(rows, separators=(",", ":")).encode()
    raw = RawObject(Held(data, piece), "a.json", "a.json", len(data), Limits(row=limit))
    made: list[Any] = list(JsonArray(source="talks")(raw))
    assert [each.reason if isinstance(each, Refused) else each.id for each in made] == [
        *("0", "1", "row too long", "3", "row too long", "5")
    ]
    assert [each.size for each in made if isinstance(each, Refused)] == [limit + 1, limit + 2030]


def test_an_entry_with_a_key_twice_is_refused(tmp_path: Path) -> None:
    rows = [b'{"id":"a","text":"t"}', b'{"id":"b","text":"t","text":"u"}']
    good, bad = JsonArray(source="talks")(talk_file(tmp_path, "a.json", b"[" + b",".join(rows) + b"]"))
    assert isinstance(good, Document)
    assert bad == Refused("a key twice", "a.json row 1: text", rows[1])
