"""The proof tells which tokenizers and models were trained on the documents: no row of theirs does."""

import json

import pytest
from testkit import SNAPSHOT, Mill, make_documents

from gristmill.__main__ import main
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger

DOCUMENTS = "sources/pages/v0/documents"
NONE = "absent: none was trained on data that have them"
HAD = "as it was before, which may have had them"


def put(mill: Mill, path: str, fingerprint: str, *inputs: tuple[str, str, str]) -> None:
    ledger = {"schema": 1, "asset": path.rpartition("/")[0], "fingerprint": fingerprint, "inputs": inputs}
    mill.store.put(path, json.dumps(ledger).encode())


def told(mill: Mill, capsys: pytest.CaptureFixture[str], id_: str = "doc-00003") -> str:
    """The line about tokenizers and models, of a proof about one document."""
    row = {"source": "pages", "id": id_, "reason": "x"}
    mill.store.put("blocklists/takedowns.jsonl", json.dumps(row).encode() + b"\n")
    asked = mill.root.parent / "asked.jsonl"
    asked.write_text(json.dumps(row) + "\n")
    words = ["takedown", str(mill.root), "--prove", "--json", "--ids", str(asked), "--shelves", "gristmill,testshelf"]
    main(words)
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    return next(f"{each['state']}: {each['why']}" for each in lines if each["what"] == "tokenizers and models")


def test_what_was_trained_on_a_document_is_named_also_after_the_document_is_gone(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(mill, capsys) == NONE
    found = read_ledger(mill.store, place(DOCUMENTS, SNAPSHOT))
    assert found is not None
    trained_on = (DOCUMENTS, SNAPSHOT, found[0].fingerprint)
    put(mill, "tokenizers/words-1/ledger.json", "a", trained_on)
    put(mill, "labels/quiz/ledger.json", "b", trained_on)
    put(mill, "models/quiz-1/ledger.json", "c", ("labels/quiz", "", "b"))
    mill.store.put("labels/quiz/rows.jsonl", b'{"source":"pages","id":"doc-00003"}\n')
    line = told(mill, capsys)
    assert line.startswith("remains: ")
    assert f"tokenizers/words-1 was made from {DOCUMENTS} ({SNAPSHOT}), which has them" in line
    assert "models/quiz-1 was made from labels/quiz, which has them" in line
    assert told(mill, capsys, "another") == NONE
    mill.raw("a.jsonl.gz", make_documents(3))
    mill.convert()
    put(mill, "labels/quiz/ledger.json", "d")
    mill.store.put("labels/quiz/rows.jsonl", b"")
    line = told(mill, capsys)
    assert f"tokenizers/words-1 was made from {DOCUMENTS} ({SNAPSHOT}) {HAD}" in line
    assert f"models/quiz-1 was made from labels/quiz {HAD}" in line


def test_a_wrong_ledger_proves_nothing(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.store.put("models/quiz-1/ledger.json", b"{}")
    assert told(mill, capsys).startswith("not proven: models/quiz-1/ledger.json: ")
