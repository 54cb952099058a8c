"""A transform that is tried on documents of a lake: what it changes, drops and fails for; nothing is written."""

from pathlib import Path

import pytest
from testkit import Mill

from gristmill.__main__ import main

SHELF = ["--shelves", "gristmill,testshelf"]
DRAFT = """
from gristmill.recipes.edits.transform import Drop, Transform


def change(document):
    number = document.metadata["number"]
    if number == 3:
        {failure}
    return Drop("of one word") if document.text == "word" else document.text.replace("word word", "mill")


DRAFT = Transform(name="draft-1", document=change)
"""


def tried(mill: Mill, folder: Path, failure: str) -> int:
    path = folder / "draft_transform.py"
    path.write_text(DRAFT.format(failure=failure))
    return main(["try", mill.lake.url, str(path), "pages/v0", *SHELF])


def test_changed_and_dropped_documents_are_shown(
    mill: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mill.raw_shards(1)
    mill.convert()
    before = mill.tree()
    assert tried(mill, tmp_path, "pass") == 0
    said = capsys.readouterr().out
    assert said.startswith("draft-1 on sources/pages/v0/documents (2024): 10 rows, drawn by hash\n")
    assert "texts changed: 8 of 10 rows, from 132 to 72 code points\n" in said
    assert "    - word word\n    + mill\n" in said
    assert "dropped: of one word: 2 rows\n" in said
    assert mill.tree() == before


def test_a_failure_names_its_document(mill: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mill.raw_shards(1)
    mill.convert()
    assert tried(mill, tmp_path, "raise ValueError('no')") == 1
    said = capsys.readouterr().out
    assert "failed: a row 3 (id 'doc-00003'): ValueError: no" in said
    assert "of 9 rows" in said


def test_a_transform_of_the_shelf_is_found_by_its_name(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.raw_shards(1)
    mill.convert()
    assert main(["try", mill.lake.url, "whitespace-1", "pages/v0", *SHELF]) == 0
    assert "texts changed: 0 of 10 rows" in capsys.readouterr().out
