"""JSON lines and parquet of any form become documents."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.parquet import ParquetRows
from gristmill.recipes.raw_object import RawObject, Refused
from gristmill.recipes.row_format import Chat, Prebuilt, Text


def raw(root: Path, name: str, data: bytes) -> RawObject:
    store = FolderStore(str(root))
    path = f"sources/talks/raw/2024/{name}"
    store.put(path, data)
    return RawObject(store, path, name, len(data))


def lines(*rows: Any) -> bytes:
    return b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)


TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "Ho"}]}]


def test_conversations_keep_their_turns_and_get_a_text_that_people_read(tmp_path: Path) -> None:
    data = gzip.compress(lines({"messages": TALK, "lang": "en"}, {"id": 7, "messages": []}, {"id": "x"}))
    convert = JsonLines(source="talks", format=Chat())
    first, second, third = convert(raw(tmp_path, "a.jsonl.gz", data))
    assert first == Document(
        id="2024/a.jsonl.gz:0",
        text="user: Hi\n\nassistant: Ho",
        source="talks",
        metadata={"messages": TALK, "lang": "en"},
    )
    assert second == Document(id="7", text="", source="talks", metadata={"messages": []})
    assert isinstance(third, Refused)
    assert (third.reason, third.where) == ("no messages", "a.jsonl.gz row 2")


def test_texts_and_ids_are_found_under_their_keys(tmp_path: Path) -> None:
    data = lines({"key": "k", "text": "t", "n": 1}, {"key": "l", "text": "u"}, {"key": "m", "text": None})
    made = list(JsonLines(source="talks", id_key="key")(raw(tmp_path, "a.jsonl", data)))
    assert made[:2] == [
        Document(id="k", text="t", source="talks", metadata={"n": 1}),
        Document(id="l", text="u", source="talks"),
    ]
    assert isinstance(made[2], Refused)
    body = JsonLines(source="talks", format=Text(text_key="body"))
    [document] = body(raw(tmp_path, "b.jsonl", lines({"id": "a", "body": "b"})))
    assert document == Document(id="a", text="b", source="talks", metadata={"body": "b"})
    built = JsonLines(source="talks", format=Prebuilt(input_ids_key="ids"))
    [document] = built(raw(tmp_path, "c.jsonl", lines({"id": "a", "ids": [1, 2]})))
    assert document == Document(id="a", text="", source="talks", metadata={"ids": [1, 2]})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{\n", "invalid JSON"),
        (b"\n", "empty line"),
        (b"[1]\n", "not an object"),
        (b'{"id": true, "text": "t"}\n', "id is no string or number"),
        (b'{"id": "a", "text": "t\\u0000"}\n', "NUL in text or id"),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_its_place(tmp_path: Path, line: bytes, reason: str) -> None:
    good, bad = JsonLines(source="talks")(raw(tmp_path, "a.jsonl", lines({"id": "g", "text": "t"}, line)))
    assert isinstance(good, Document)
    assert isinstance(bad, Refused)
    assert bad.reason == reason
    assert bad.where.startswith("a.jsonl row 1")


def test_parquet_gives_the_same_documents_as_json_lines(tmp_path: Path) -> None:
    rows = [{"id": str(n), "messages": [{"role": "user", "content": f"m{n}"}], "score": n / 2} for n in range(3000)]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    data = buffer.getvalue()
    found = list(ParquetRows(source="talks", format=Chat())(raw(tmp_path, "a.parquet", data)))
    assert found == list(JsonLines(source="talks", format=Chat())(raw(tmp_path, "a.jsonl", lines(*rows))))
    for broken in (data[:-20], b"no parquet", b""):
        with pytest.raises(DataError, match=r"b\.parquet: not a parquet file"):
            list(ParquetRows(source="talks")(raw(tmp_path, "b.parquet", broken)))
