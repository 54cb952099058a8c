"""JSON lines and parquet of any form become documents."""

import gzip
import json
from pathlib import Path
from typing import Any

from talklake import talk_file

from gristmill.lake.rows.document import Document
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.raw_object import Refused
from gristmill.recipes.row_format import Chat, Prebuilt, Text


def lines(*rows: Any) -> bytes:
    return b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)


TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "Ho"}]}]


def test_conversations_keep_their_turns_and_get_a_text_that_people_read(tmp_path: Path) -> None:
    data = gzip.compress(lines({"messages": TALK, "lang": "en"}, {"id": 7, "messages": []}, {"id": "x"}))
    convert = JsonLines(source="talks", format=Chat())
    first, second, third = convert(talk_file(tmp_path, "a.jsonl.gz", data))
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
    made = list(JsonLines(source="talks", id_key="key")(talk_file(tmp_path, "a.jsonl", data)))
    assert made[:2] == [
        Document(id="k", text="t", source="talks", metadata={"n": 1}),
        Document(id="l", text="u", source="talks"),
    ]
    assert isinstance(made[2], Refused)
    body = JsonLines(source="talks", format=Text(text_key="body"))
    [document] = body(talk_file(tmp_path, "b.jsonl", lines({"id": "a", "body": "b"})))
    assert document == Document(id="a", text="b", source="talks", metadata={"body": "b"})
    built = JsonLines(source="talks", format=Prebuilt(input_ids_key="ids"))
    [document] = built(talk_file(tmp_path, "c.jsonl", lines({"id": "a", "ids": [1, 2]})))
    assert document == Document(id="a", text="", source="talks", metadata={"ids": [1, 2]})
