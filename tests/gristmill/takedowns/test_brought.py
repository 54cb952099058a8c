"""Rows of a labelled set that people brought have the set's name as their source: their id or their text decides."""

import hashlib
from pathlib import Path

import pytest
from testkit import SHELVES, Mill, lines

from gristmill.__main__ import main
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.stages.models.labels import make_labels
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import Shelves

ROWS = "labels/judged/rows.jsonl"
DOCUMENTS = [{"id": f"doc-{n}", "source": "pages", "text": f"page {n}"} for n in range(5)]


@pytest.fixture
def judged(mill: Mill, tmp_path: Path) -> Mill:
    """Five documents, and a set of three rows: the first has the id of doc-3, the second the text of doc-4."""
    mill.raw("a.jsonl.gz", DOCUMENTS)
    mill.convert()
    rows = [
        {"id": "doc-3", "source": "pages", "text": "page 3, cut", "label": "good"},
        {"id": "other", "source": "pages", "text": "page 4", "label": "bad"},
        {"id": "more", "source": "pages", "text": "page", "label": "bad"},
    ]
    file = tmp_path / "judged.jsonl"
    file.write_bytes(lines(rows))
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    read = JsonLines(source="judged", id_key="id")
    make_labels(mill.store, LabelledSet(name="judged", file=str(file), sha256=sha256, read=read), mill.said.append)
    return mill


def test_a_row_with_the_id_or_the_text_of_a_document_is_found(judged: Mill) -> None:
    wanted = Wanted({("pages", each["id"]): "" for each in DOCUMENTS})
    search = Finder(judged.store, wanted, Shelves(SHELVES, {})).run()
    found = [(each.id, each.where) for each in search.found if each.area == "labels"]
    assert found == [("doc-3", f"{ROWS}: row 0"), ("doc-4", f"{ROWS}: row 1")]
    assert search.unsearched == []


@pytest.mark.parametrize(("name", "row"), [("doc-3", 0), ("doc-4", 1)])
def test_a_proof_and_an_erasure_name_it(
    judged: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, row: int
) -> None:
    asked = tmp_path / "asked.jsonl"
    asked.write_bytes(lines([{"source": "pages", "id": name}]))
    command = [str(judged.root), "--ids", str(asked), "--shelves", ",".join(SHELVES)]
    main(["takedown", *command, "--prove"])
    assert f"excerpts and labels: remains: {ROWS}: row {row}" in capsys.readouterr().out
    assert main(["erase", *command]) == 1
    assert f"not erased: {ROWS}: row {row}: make it again" in capsys.readouterr().out


def test_the_text_of_an_erased_document_is_still_known(
    judged: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lake has the document no longer, so the record of the erasure tells its text. The set was not made again."""
    asked = tmp_path / "asked.jsonl"
    asked.write_bytes(lines([{"source": "pages", "id": "doc-4"}]))
    command = [str(judged.root), "--ids", str(asked), "--shelves", ",".join(SHELVES)]
    assert main(["erase", *command]) == 1
    judged.convert()
    capsys.readouterr()
    assert main(["erase", *command]) == 1
    assert f"not erased: {ROWS}: row 1: make it again" in capsys.readouterr().out
    assert main(["takedown", *command, "--prove"]) == 1
    assert f"excerpts and labels: remains: {ROWS}: row 1" in capsys.readouterr().out
    judged.store.put(ROWS, lines([]))
    assert main(["erase", *command]) == 0


def test_a_row_with_the_id_makes_a_document_of_a_wrong_source_no_better_known(
    judged: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The source `forums` exists, but doc-3 is of `pages`. `more`, which is in the set alone, may be of any source."""
    judged.raw("b.jsonl.gz", [{"id": "doc-9", "source": "forums", "text": "a forum"}])
    judged.convert()
    asked = tmp_path / "asked.jsonl"
    command = ["takedown", str(judged.root), "--ids", str(asked), "--shelves", ",".join(SHELVES)]
    for name, code in (("doc-3", 1), ("more", 0)):
        asked.write_bytes(lines([{"source": "forums", "id": name}]))
        assert main(command) == code
        assert ("near: 'doc-3' of 'pages'" in capsys.readouterr().out) == bool(code)


@pytest.mark.parametrize(
    ("source", "name", "code"), [("judged", "other", 0), ("judged", "label", 1), ("judge", "other", 1)]
)
def test_a_row_of_the_set_is_a_known_document(
    judged: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, name: str, code: int
) -> None:
    """Its source is the name of the set. The name of a field, which stands in each row too, is no document."""
    asked = tmp_path / "asked.jsonl"
    asked.write_bytes(lines([{"source": source, "id": name}]))
    assert main(["takedown", str(judged.root), "--ids", str(asked), "--shelves", ",".join(SHELVES)]) == code
    assert f"{1 - code} of 1 documents added" in capsys.readouterr().out
