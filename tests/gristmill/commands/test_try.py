from pathlib import Path

import pytest
from testkit import Mill

from gristmill.__main__ import main

SHELF = ["--shelves", "gristmill,testshelf"]
DRAFT = """
from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Tagger


def tag(document):
    {body}


DRAFT = Tagger(name="draft-1", document=tag)
"""


def draft(folder: Path, body: str) -> str:
    path = folder / "draft_tagger.py"
    path.write_text(DRAFT.format(body=body))
    return str(path)


def listing(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in root.rglob("*")}


def test_a_tagger_is_tried_without_a_trace_in_the_lake(
    whole: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = listing(whole.root)
    body = 'return {"first": [Span(0, 4, 1.0)], "even": float(int(document.id[-1]) % 2)}'
    assert main(["try", str(whole.root), draft(tmp_path, body), "pages/v0", "--rows", "7", *SHELF]) == 0
    said = capsys.readouterr().out
    assert said.startswith("draft-1 on sources/pages/v0/documents (2024): 7 rows of the 40 in 2 of 2 pieces, drawn by")
    assert " MB a CPU second" in said
    assert "even: 7 scores of 7 rows\n" in said
    assert "first: 7 spans in 7 of 7 rows, 28 of " in said
    assert "    | >>word<<" in said
    assert listing(whole.root) == before


def test_escape_sequences_of_texts_and_errors_do_not_reach_the_terminal(
    whole: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = 'raise ValueError("\\x1b[31mred\\u202e")'
    assert main(["try", str(whole.root), draft(tmp_path, body), "pages/v0", "--rows", "1", *SHELF]) == 1
    said = capsys.readouterr().out
    assert "failed for 1 row:\n" in said
    assert "ValueError: \\x1b[31mred\\u202e, at " in said
    assert "\x1b" not in said


def test_a_tagger_that_does_not_tag_the_source_is_told_and_words_that_mean_nothing(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["try", str(whole.root), "words-1", "pages/v0", "--examples", "1", *SHELF]) == 0
    assert "count: 40 scores of 40 rows\n" in capsys.readouterr().out
    for words, message in (
        (["words-1"], "words-1: name a tagger or transform and a version"),
        (["words-1", "pages/v0", "--rows", "0"], "--rows 0: give a number"),
        (["words-1", "pages/v9"], "there is no sources/pages/v9/documents; did you mean"),
        (["words-1", "pages"], "'pages' names no documents of a lake: write it as 'wiki/v1'"),
    ):
        assert main(["try", str(whole.root), *words, *SHELF]) == 2 if len(words) > 1 else main(["try", *words]) == 2
        assert message in capsys.readouterr().err
