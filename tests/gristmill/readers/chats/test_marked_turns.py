"""Strings with Human: and Assistant: become conversations."""

import json
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.readers.chats.marked_turns import MarkedTurns
from gristmill.recipes.raw_object import Refused

HI = "\n\nHuman: Hi: Assistant: me\n\nAnd more\n\nAssistant: Ho\n\nHuman:"


def read(tmp_path: Path, *rows: Any, **options: Any) -> list[Any]:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    return list(MarkedTurns(source="talks", **options)(talk_file(tmp_path, "a.jsonl", data)))


def test_each_declared_field_is_a_conversation_and_both_of_a_pair_share_their_id(tmp_path: Path) -> None:
    first, second = read(tmp_path, {"chosen": HI, "rejected": "\n\nHuman: Hi", "n": 1}, keys=("chosen", "rejected"))
    messages = [
        {"role": "user", "content": "Hi: Assistant: me\n\nAnd more"},
        {"role": "assistant", "content": "Ho"},
        {"role": "user", "content": ""},
    ]
    assert first == Document(
        id=first.id,
        text="user: Hi: Assistant: me\n\nAnd more\n\nassistant: Ho\n\nuser: ",
        source="talks",
        metadata={"n": 1, "messages": messages, "choice": "chosen"},
    )
    assert (first.id[:32], first.id[32:], second.id[32:]) == (second.id[:32], "-chosen", "-rejected")


def test_ids_depend_on_the_strings_alone(tmp_path: Path) -> None:
    one, two = {"chosen": HI}, {"chosen": "\n\nHuman: b"}
    assert [each.id for each in read(tmp_path, one, two)] == [each.id for each in read(tmp_path, two, one)][::-1]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"rejected": HI}, "no field 'chosen'"),
        ({"chosen": None}, "no field 'chosen'"),
        ({"chosen": "no mark"}, "no turn"),
        ({"chosen": "System: x\n\nHuman: y"}, "text before the first turn"),
    ],
)
def test_a_string_without_turns_is_refused(tmp_path: Path, row: Any, reason: str) -> None:
    (bad,) = read(tmp_path, row)
    assert isinstance(bad, Refused)
    assert (bad.reason, bad.where.startswith("a.jsonl row 0 (")) == (reason, True)


def test_files_are_cut_at_lines() -> None:
    assert MarkedTurns(source="talks").cut_by("a.jsonl") == "lines"


def test_a_reader_without_fields_or_marks_is_an_error() -> None:
    with pytest.raises(RecipeError, match="keys or marks is empty"):
        MarkedTurns(source="talks", keys=())
