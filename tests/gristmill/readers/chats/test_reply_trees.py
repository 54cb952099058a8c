"""Trees of replies become conversations, one for each path."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_parts import RawPart
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.chats.reply_trees import ReplyTrees
from gristmill.recipes.raw_object import LeftOut, RawObject, Refused

SAMPLES = os.environ.get("GRISTMILL_SAMPLE_DATA")


def said(name: str, *replies: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A message: u1, u2, ... of the prompter, a1, a2, ... of the assistant."""
    role = {"u": "prompter", "a": "assistant"}.get(name[0], name)
    return {"message_id": name, "text": name.upper(), "role": role, "lang": "de", "replies": list(replies), **more}


def trees(tmp_path: Path, *prompts: Any, **options: Any) -> list[Any]:
    data = b"".join(json.dumps({"message_tree_id": "t", "prompt": each}).encode() + b"\n" for each in prompts)
    return list(ReplyTrees(source="talks", **options)(talk_file(tmp_path, "a.jsonl", data)))


TREE = said(
    "u1",
    said("a1", said("u2", said("a2"), said("a3", rank=0)), said("u3"), rank=1),
    said("a4", rank=0, created_date="2023-01-01T00:00:00Z"),
    said("a5", said("u4")),
)


def test_every_path_that_ends_with_an_answer_is_a_conversation(tmp_path: Path) -> None:
    made = trees(tmp_path, TREE)
    assert [each.metadata["message_ids"] for each in made] == [
        ["u1", "a1", "u2", "a2"], ["u1", "a1", "u2", "a3"], ["u1", "a4"], ["u1", "a5"],
    ]  # fmt: skip
    assert made[2] == Document(
        id="a4",
        text="user: U1\n\nassistant: A4",
        source="talks",
        created="2023-01-01T00:00:00Z",
        metadata={
            "messages": [{"role": "user", "content": "U1"}, {"role": "assistant", "content": "A4"}],
            "message_ids": ["u1", "a4"],
            "message_tree_id": "t",
            "language": "de",
            "rank": 0,
        },
    )


def test_paths_may_end_with_any_message(tmp_path: Path) -> None:
    assert [each.id for each in trees(tmp_path, TREE, end="any")] == ["a2", "a3", "u3", "a4", "u4"]


def test_the_best_path_takes_the_best_ranked_reply_each_time(tmp_path: Path) -> None:
    assert [each.id for each in trees(tmp_path, TREE, paths="best")] == ["a4"]
    assert [each.id for each in trees(tmp_path, said("u", said("a1"), said("a2")), paths="best")] == ["a1"]


def test_deleted_messages_go_with_their_replies_and_are_counted(tmp_path: Path) -> None:
    tree = said("u", said("a1", said("u1", said("a2")), deleted=True), said("a3", said("u2", deleted=True)))
    first, second = trees(tmp_path, tree)
    assert (first, second.id) == (LeftOut("deleted message", 2), "a3")
    assert trees(tmp_path, said("u", said("a1"), deleted=True)) == [
        LeftOut("deleted message"), LeftOut("tree without an answer"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("prompt", "reason", "detail"),
    [
        (None, "no field 'prompt'", "the row has: message_tree_id, prompt"),
        (said("u", {"text": "x", "role": "assistant"}), "malformed message", "message_id is no string"),
        (said("u", said("a", text=None)), "malformed message", "message 'a': text is no string"),
        (said("system"), "unknown role", "message 'system': 'system'"),
        (said("u", said("a", said("a"))), "message id twice", "'a'"),
        (said("u", replies="a"), "malformed message", "message 'u': replies is no list"),
        (said("u", replies=["a"]), "malformed message", "a message is 'a', not an object"),
    ],
)
def test_a_malformed_tree_is_refused_with_its_row_and_message(
    tmp_path: Path, prompt: Any, reason: str, detail: str
) -> None:
    good, bad = trees(tmp_path, TREE, prompt, paths="best")
    assert isinstance(good, Document)
    assert isinstance(bad, Refused)
    assert (bad.reason, bad.where.startswith("a.jsonl row 1 ("), detail in bad.where) == (reason, True, True)


def test_the_raw_span_is_the_line_of_the_tree(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "a.jsonl", b'{"prompt": 1}\n' + json.dumps({"prompt": TREE}).encode())
    spans = [raw.take_raw_span() for each in ReplyTrees(source="talks")(raw) if isinstance(each, Document)]
    assert spans == [RawSpan(14, 14 + len(json.dumps({"prompt": TREE})))] * 4


def test_the_parts_of_a_file_give_what_the_file_gives(tmp_path: Path) -> None:
    data = b"".join(json.dumps({"prompt": said(f"u{n}", said(f"a{n}"))}).encode() + b"\n" for n in range(20))
    raw = talk_file(tmp_path, "a.jsonl", data)
    store, convert = FolderStore(str(tmp_path)), ReplyTrees(source="talks")
    whole = list(convert(raw))
    for cut in (1, 100, len(data) // 2, len(data) - 1):
        parts = [RawPart(0, cut), RawPart(cut, len(data))]
        made = [each for part in parts for each in convert(RawObject(store, raw.path, "a.jsonl", len(data), part=part))]
        assert made == whole
    assert convert.cut_by("a.jsonl.gz") == "gzip members"


@pytest.mark.skipif(SAMPLES is None, reason="needs GRISTMILL_SAMPLE_DATA")
def test_the_sample_trees_give_all_their_answers() -> None:
    name = "en_100_tree.jsonl.gz"
    store = FolderStore(f"{SAMPLES}/raw/chat/oasst")
    raw = RawObject(store, name, name, Path(f"{SAMPLES}/raw/chat/oasst/{name}").stat().st_size)
    made = list(ReplyTrees(source="oasst")(raw))
    documents = [each for each in made if isinstance(each, Document)]
    assert len(documents) == len({each.id for each in documents}) > 100
    assert all(each.text.startswith("user: ") for each in documents)
    assert not [each for each in made if isinstance(each, Refused)]
