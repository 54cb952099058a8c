"""What a selection does with the rows that it keeps, and what it counts."""

import json
from typing import Any

import pytest
from marked import edited, row, texts

from gristmill.errors import MalformedRow
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.rules import Rule, field

MASK = Edit(spans="pii-1__email", mask="*")


def lines(*rows: dict[str, object]) -> list[bytes]:
    return [json.dumps(each).encode() for each in rows]


def test_edits_count_rows_and_characters_and_leave_other_rows_as_they_are() -> None:
    counts: dict[str, int] = {}
    rows = lines(row("write me@x now"), row("nothing here", id="d2"), row("***", id="d3"))
    found: list[dict[str, Any]] = [{"email": [[6, 10, 1]]}, {"email": []}, {"email": [[0, 3, 1]]}]
    block = edited(rows, found, counts, edits=(Edit(spans="pii-1__email", replacement="E"),), least_kept=0.1)
    assert texts(block) == ["write E now", "nothing here"]
    assert list(block.edits) == [0]
    assert block.dropped_counts() == {"too little left after edits": 1}
    assert counts == {
        "edits: rows changed": 1,
        "edits: characters before": 14,
        "edits: characters after": 11,
        "rows changed": 1,
    }


def test_a_row_whose_text_stays_the_same_keeps_its_bytes() -> None:
    block = edited(lines(row("***")), [{"email": [[0, 3, 1]]}], edits=(MASK,))
    assert (texts(block), block.edits) == (["***"], {})


@pytest.mark.parametrize(("share", "kept"), [(0.07, 1), (0.0700001, 0), (0.0, 1), (1.0, 0)])
def test_the_least_share_is_inclusive(share: float, kept: int) -> None:
    block = edited(lines(row("x" * 100)), [{"email": [[7, 100, 1]]}], edits=(MASK,), least_kept=share)
    assert len(texts(block)) == kept


def test_a_short_text_is_dropped_only_if_it_was_edited() -> None:
    rows = lines(row("ab"), row("abcdef", id="d2"))
    found: list[dict[str, Any]] = [{"email": []}, {"email": [[0, 5, 1]]}]
    block = edited(rows, found, edits=(Edit(spans="pii-1__email", replacement=""),), shortest=3)
    assert (texts(block), block.dropped_counts()) == (["ab"], {"too short after edits": 1})


def test_changes_are_counted_of_rows_that_are_dropped_later_but_not_of_those_that_the_edits_drop() -> None:
    """Rows of 6 characters: of the first 1 is left and of the second 2, and the first has too little."""
    found: list[dict[str, Any]] = [{"email": [[0, 5, 1]]}, {"email": [[0, 4, 1]]}]
    counts: dict[str, int] = {}
    edits = (Edit(spans="pii-1__email", replacement=""),)
    rows = lines(row("abcdef"), row("ghijkl", id="d2"))
    block = edited(rows, found, counts, edits=edits, least_kept=0.3, shortest=3)
    assert (texts(block), block.dropped_counts()) == (
        [],
        {"too little left after edits": 1, "too short after edits": 1},
    )
    assert counts == {"edits: rows changed": 1, "edits: characters before": 6, "edits: characters after": 2}


def test_bytes_are_counted_after_the_edits_and_of_each_row() -> None:
    rows = lines(row("  éé\u2003", id="d1"), row("abcd", id="d2"), row("me@x abcd", id="d3"), row("me@x abc", id="d4"))
    found: list[dict[str, Any]] = [{}, {}, {"email": [[0, 4, 1]]}, {"email": [[0, 4, 1]]}]
    edits = (Edit(spans="pii-1__email", replacement="", optional=True),)
    block = edited(rows, found, edits=edits, least_bytes=4)
    assert (texts(block), block.dropped_counts()) == (["  éé\u2003", "abcd", " abcd"], {"too few bytes after edits": 1})


def test_rules_judge_the_text_before_the_edits_and_dropped_rows_are_not_edited() -> None:
    outside = {"email": [[0, 99, 1]]}
    block = edited(
        lines(row("me@x"), row("drop me", id="d2")),
        [{"email": [[0, 4, 1]]}, outside],
        columns=(field("text"),),
        include=(Rule("at", "contains(text, '@')", "for the test"),),
        edits=(MASK,),
    )
    assert (texts(block), block.dropped_counts()) == (["****"], {"at": 1})


def test_a_span_outside_the_text_names_shard_row_and_mend() -> None:
    with pytest.raises(
        MalformedRow, match=r"a\.jsonl\.gz: row 7: pii-1__email has a span \[2, 5\).*make the attribute"
    ):
        edited(lines(row("abcd")), [{"email": [[2, 5, 1]]}], edits=(MASK,), first=7)


@pytest.mark.parametrize("key", ["messages", "input_ids"])
def test_the_text_of_a_chat_or_prebuilt_row_is_not_edited(key: str) -> None:
    rendered = lines(row("abcd", metadata={key: []}))
    with pytest.raises(MalformedRow, match=rf"rendered from metadata\.{key}"):
        edited(rendered, [{"email": [[0, 2, 1]]}], edits=(MASK,))
    assert texts(edited(rendered, [{"email": []}], edits=(MASK,))) == ["abcd"]


def test_a_scalar_marks_the_whole_text() -> None:
    assert texts(edited(lines(row("abcd")), [{"email": 0.9}], edits=(MASK,))) == ["****"]
