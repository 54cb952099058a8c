"""Edited rows in a lake: from the set of a tagger to the slice, its ledger, its audit and its trace."""

import json

import pytest
from lies import audit
from streams import stream
from testkit import SNAPSHOT, Mill
from wholelake import rewrite

from gristmill.__main__ import main
from gristmill.errors import DataError
from gristmill.recipes.edits.edit import Edit
from gristmill.stages.mixing.sample import KEPT, draw_sample
from gristmill.tracing.drop_reason import drop_reason
from gristmill.tracing.rows import find_partition, locate_in_shard

FIRST = Edit(spans="words-1__first", replacement="|||WORD|||")


def made(mill: Mill, **options: object) -> None:
    """Two shards of ten documents; number n has n % 5 + 1 times `word`."""
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    mill.mix(stream(**{"edits": (FIRST,), **options}))


def test_the_slice_has_the_edited_texts_and_nothing_else_changes(mill: Mill) -> None:
    made(mill, shortest=12)
    before = [json.loads(line) for line in mill.lines(mill.documents().shard("b"))]
    after = [json.loads(line) for line in mill.lines(mill.stream().shard("b"))]
    kept = [each for each in before if each["text"] != "word"]
    assert after == [each | {"text": "|||WORD|||" + each["text"][4:]} for each in kept]
    row = mill.table(mill.stream())["b"]
    assert row.dropped == {"too short after edits": 2}
    assert row.counts["rows changed"] == 8
    assert row.counts["edits: rows changed"] == 10


def test_a_label_that_no_row_has_stops_the_shard(mill: Mill) -> None:
    with pytest.raises(DataError, match=r"no label 'frist'.*|none of its 10 rows has a label 'frist'.*Edit\("):
        made(mill, edits=(Edit(spans="words-1__frist", mask="*"),))


def test_the_audit_of_an_edited_slice_is_clean_and_finds_a_row_of_another_id_or_one_edit_more(mill: Mill) -> None:
    made(mill, edits=(Edit(spans="words-1__silent", replacement="x"),))  # of every other row
    assert audit(mill)[0] == []
    path = mill.stream().shard("a")
    rows = mill.lines(path)
    rewrite(mill, mill.stream(), "a", [rows[0], rows[1].replace(b'"word ', b'"wort '), *rows[2:]])
    assert "6 rows differ" in str(audit(mill)[0])
    rewrite(mill, mill.stream(), "a", [rows[0].replace(b"doc-00000", b"doc-99999"), *rows[1:]])
    assert "is not in sources/pages/v0/documents/2024/a.jsonl.gz after the row before it" in str(audit(mill)[0])


def test_a_trace_tells_that_an_edit_dropped_a_document(mill: Mill) -> None:
    made(mill, shortest=12)
    documents, slice_ = (find_partition(mill.store, each) for each in (mill.documents(), mill.stream()))
    assert documents is not None
    assert slice_ is not None
    located = locate_in_shard(documents, "a", ("pages", "doc-00000"))
    assert located is not None
    assert drop_reason(slice_, documents, located) == "too short after edits"


def test_a_trace_shows_what_was_changed(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    made(mill)
    assert main(["trace", mill.lake.url, "pages", "doc-00001", "--shelves", "testshelf"]) == 0
    said = capsys.readouterr().out
    assert "    - word word\n    + |||WORD||| word\n" in said


def test_a_sample_counts_as_the_slice_does_and_has_the_texts_before_and_after(mill: Mill) -> None:
    made(mill, shortest=12)
    chosen = stream(edits=(FIRST,), shortest=12)
    found = draw_sample(mill.store, "pages", "v0", SNAPSHOT, chosen, 20)
    assert found.dropped == {"too short after edits": 4}
    assert {(each.text, each.edited_text) for each in found.examples[KEPT]} == {
        ("word" + more, "|||WORD|||" + more) for more in (" word" * n for n in range(1, 5))
    }
    assert {each.edited_text for each in found.examples["too short after edits"]} == {"word"}
