"""`python -m gristmill trace`: what it says, in words and as JSON; exit codes; in a folder and in a bucket."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from testkit import Mill
from tracelake import CACHE, even, make_trace_lake

from gristmill.__main__ import main
from gristmill.lake.store.open import open_store

SHELF = ["--shelves", "gristmill,testshelf"]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_trace_lake(tmp_path_factory.mktemp("trace") / "lake", even())


def said(capsys: pytest.CaptureFixture[str], *words: str | Path) -> list[str]:
    assert main(["trace", *map(str, words), *SHELF]) == 0
    return capsys.readouterr().out.splitlines()


def plain(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    (line,) = said(capsys, *words, "--json")
    return json.loads(line)


def test_a_document_is_shown_from_raw_to_tokens_a_line_a_place(clean: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    head, raw, v0, v1, *attributes, mix, tokens = said(capsys, clean.root, "pages", "doc-8")
    assert head == "'doc-8' of 'pages', snapshot 2024, shard a"
    assert raw.startswith("  sources/pages/raw/2024/a.jsonl.gz: bytes ")
    assert raw.endswith(" of what it unpacks to")
    assert v0.startswith("  sources/pages/v0/documents/2024/a.jsonl.gz: row 8 (gzip member 0-")
    assert v1.startswith("  sources/pages/v1/documents/2024/a.jsonl.gz: row 4 (gzip member 0-")
    assert [line.split("/")[4].split(":")[0] for line in attributes] == ["characters-1", "words-1", "characters-1"]
    assert attributes[0].endswith(') {"characters-1__characters":[[0,28,28.0]]}')
    assert mix.startswith("  mixes/even/documents/pages/2024/a.jsonl.gz: row 2 (gzip member 0-")
    assert tokens.startswith(f"  {CACHE}/")


def test_a_token_is_shown_with_its_number_in_the_document(clean: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    start, end = plain(capsys, clean.root, "pages", "doc-8")["token_caches"][0]["tokens"]
    split = plain(capsys, clean.root, "pages", "doc-8")["token_caches"][0]["split"]
    lines = said(capsys, clean.root, f"{CACHE}/{split}:{start + 2}")
    assert lines[0] == f"{CACHE}/{split}:{start + 2} is number 2 (from 0) of the {end - start} tokens of"
    assert lines[1:] == said(capsys, clean.root, "pages", "doc-8")


def test_the_lake_may_be_left_out_also_beside_a_folder_of_the_sources_name(
    clean: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRISTMILL_LAKE", str(clean.root))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages").mkdir()
    (tmp_path / "lake").symlink_to(clean.root)
    whole = said(capsys, "lake", "pages", "doc-8")
    assert said(capsys, "pages", "doc-8") == said(capsys, "-", "pages", "doc-8") == whole
    assert said(capsys, f"{CACHE}:3") == said(capsys, "lake", f"{CACHE}:3")
    for words in (["lake", "pages"], ["lake"], ["pages"]):
        assert main(["trace", *words, *SHELF]) == 2
        assert capsys.readouterr().err.startswith(f"{' '.join(words)}: name a source and an id, or a token as in")
    assert main(["trace", "lake", "pages", "doc-8", "doc-9", *SHELF]) == 2
    assert capsys.readouterr().err == (
        "lake pages doc-8 doc-9: give SOURCE ID or CACHE:OFFSET, after the lake or alone\n"
    )


def test_the_train_split_is_meant_where_none_is_named(clean: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert plain(capsys, clean.root, f"{CACHE}:3") == plain(capsys, clean.root, f"{CACHE}/train:3")
    held = plain(capsys, clean.root, f"{CACHE}/validation:3")
    assert held["split"] == held["document"]["token_caches"][0]["split"] == "validation"


def test_what_a_document_is_not_in_is_shown_with_the_reason(clean: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, clean.root, "pages", "doc-7")
    assert "  sources/pages/v1/documents: not there: dropped by rule english: not (lang = 'en'); lang is 'fr'" in lines
    assert lines[-1] == "  mixes/even/documents/pages: not there: not in sources/pages/v1/documents either"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([f"{CACHE}:100000"], "there is no token 100,000: the last one is "),
        (["token_caches/even/other-1/pages:0"], "does not exist yet; make the cache's index"),
        (["pages"], "pages: name a source and an id, or a token as in token_caches/"),
        ([f"{CACHE}/test:0"], "name a source and an id, or a token as in"),
        ([f"{CACHE}:-1"], "name a source and an id, or a token as in"),
        ([f"{CACHE}:0", "--snapshot", "2024"], "and no --snapshot"),
        (["pages", "doc-8", "--snapshot", "../up"], "snapshot '../up'"),
        (["token_caches/../../etc:0"], "is not the path of an object in the lake"),
    ],
)
def test_what_cannot_be_traced_ends_with_2_and_one_line(
    clean: Mill, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["trace", str(clean.root), *words, *SHELF]) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert found.err.count("\n") == 1
    assert found.out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pages", "doc-90"], "no document has the id 'doc-90' and the source 'pages'"),
        (["pages", "doc-8", "--snapshot", "2023"], "looked for in no finished partition"),
        (["pages/../../x", "doc-8"], "no document has the id"),
    ],
)
def test_a_document_that_nobody_knows_ends_with_1_and_one_line(
    clean: Mill, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["trace", str(clean.root), *words, *SHELF]) == 1
    found = capsys.readouterr()
    assert message in found.err
    assert (found.err.count("\n"), found.out) == (1, "")


def test_a_snapshot_is_chosen_by_its_key(clean: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert plain(capsys, clean.root, "pages", "doc-8", "--snapshot", "2024")["snapshot"] == "2024"


@pytest.mark.slow
def test_a_bucket_is_traced_as_the_folder_is(clean: Mill, capsys: pytest.CaptureFixture[str], endpoint: str) -> None:
    store = open_store("s3://mill/lake", {"endpoint": endpoint})
    for entry in clean.store.list(""):
        store.put(entry.path, clean.store.read(entry.path))
    there = ["s3://mill/lake", "--option", f"endpoint={endpoint}"]
    for words in (["pages", "doc-8"], ["pages", "doc-7"], [f"{CACHE}:11"], [f"{CACHE}/validation:2"]):
        assert plain(capsys, *there, *words) == plain(capsys, clean.root, *words)


@pytest.mark.slow
def test_tracing_imports_neither_the_rules_engine_nor_a_bucket_client_nor_the_other_commands(clean: Mill) -> None:
    code = (
        "import sys\nfrom gristmill.__main__ import main\n"
        f"main(['trace', {str(clean.root)!r}, 'pages', 'doc-8'])\n"
        "print([name for name in ('duckdb', 'obstore', 'gristmill.commands.plan') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert done.stdout.splitlines()[-1] == "[]"
