"""`gristmill takedown --lost` and `--retract`: a blocklist that lost lines has them again, or people say why not."""

import json
from pathlib import Path
from typing import Any

import pytest
from testkit import Mill, link
from tracelake import declare_tokenizer, even, make_trace_lake

from gristmill.__main__ import main

LIST, RECORD = "blocklists/takedowns.jsonl", "withdrawn/blocklists/takedowns.jsonl"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_trace_lake(tmp_path_factory.mktemp("trace") / "lake", even())


@pytest.fixture(autouse=True)
def on_the_shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    declare_tokenizer(monkeypatch)


@pytest.fixture
def mill(clean: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Mill:
    """A lake in which doc-8 was taken down, and then an older copy of the blocklist was put back."""
    link(clean.root, tmp_path / "lake")
    mill = Mill(tmp_path / "lake")
    older = mill.store.read(LIST)
    run(mill, capsys, "--ids", asked(mill, 8), "--reason", "by law")
    mill.store.put(LIST, older)
    return mill


def asked(mill: Mill, *numbers: int) -> str:
    path = mill.root.parent / "asked.jsonl"
    path.write_text("".join(json.dumps({"source": "pages", "id": f"doc-{number}"}) + "\n" for number in numbers))
    return str(path)


def run(mill: Mill, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The exit code and the lines of the command."""
    code = main(["takedown", str(mill.root), *words, "--shelves", "gristmill,testshelf"])
    return code, capsys.readouterr().out.splitlines()


def test_lost_lines_are_put_back_with_their_reasons(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    older = mill.store.read(LIST)
    code, lines = run(mill, capsys, "--lost", "--dry-run")
    assert (code, lines[-1], mill.store.read(LIST)) == (0, f"1 of 1 documents would be added to {LIST}", older)
    code, lines = run(mill, capsys, "--lost")
    assert (code, lines[0], lines[-1]) == (0, "'doc-8' of 'pages': 8 places", f"1 of 1 documents added to {LIST}")
    assert mill.store.read(LIST) == older + b'{"source":"pages","id":"doc-8","reason":"by law"}\n'
    assert run(mill, capsys, "--lost") == (0, [f"{LIST} has lost no entry that {RECORD} has"])


def test_the_proof_names_the_loss(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = run(mill, capsys, "--prove", "--ids", asked(mill, 7))
    assert code == 1
    assert any(line.startswith(f"blocklist: not proven: {LIST}: it has lost 1 of the ") for line in lines)


def test_a_loss_is_accepted_by_name_and_the_record_is_no_stray(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    told = f"1 of 1 documents {{}} {LIST}; gristmill make takes them up again"
    assert run(mill, capsys, "--lost", "--retract", "--dry-run") == (0, [told.format("would be taken off")])
    assert run(mill, capsys, "--lost", "--retract") == (0, [told.format("taken off")])
    assert run(mill, capsys, "--lost") == (0, [f"{LIST} has lost no entry that {RECORD} has"])
    _, lines = run(mill, capsys, "--prove", "--ids", asked(mill, 8))
    assert [line for line in lines if "withdrawn" in line] == []


def test_what_is_on_the_list_is_taken_back_and_what_is_not_is_named(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    run(mill, capsys, "--lost")
    code, lines = run(mill, capsys, "--retract", "--ids", asked(mill, 8, 9))
    assert (code, lines[0]) == (1, "not on the list: 'doc-9' of 'pages'")
    assert lines[1] == f"1 of 2 documents taken off {LIST}; gristmill make takes them up again"
    assert b"doc-8" not in mill.store.read(LIST) + mill.store.read(RECORD)
