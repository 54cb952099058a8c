"""Documents that nobody knows: named with what is near, not added to a list, and never proven to be gone."""

import json
from pathlib import Path

import pytest
from dedupelake import resolved
from testkit import Mill

from gristmill.__main__ import main

SHELF = ["--shelves", "gristmill,testshelf"]
LIST = "blocklists/takedowns.jsonl"
PAGES, FORUMS = '{"source":"pages","id":"doc-8"}\n', '{"source":"forums","id":"doc-8"}\n'


def row(number: int, source: str) -> dict[str, object]:
    url = f"https://tales.example/{number}"
    return {"id": f"doc-{number}", "text": f"text {number}", "source": source, "metadata": {"url": url}}


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """The recipe `pages` reads documents 0 to 9, whose source is `forums`, as its rows say themselves."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", [row(number, "forums") for number in range(10)])
    mill.convert()
    return mill


def run(
    mill: Mill, capsys: pytest.CaptureFixture[str], asked: str, *words: str, command: str = "takedown"
) -> tuple[int, list[str]]:
    path = mill.root.parent / "asked.jsonl"
    path.write_text(asked)
    which = [] if {"--url", "--content"} & set(words) else ["--ids", str(path)]
    code = main([command, str(mill.root), *which, *words, *SHELF])
    return code, capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        (PAGES, "near: 'doc-8' of 'forums'"),
        ('{"source":"forum","id":"doc-8"}\n', "near: 'doc-8' of 'forums'"),
        ('{"source":"forums","id":"doc-88"}\n', "near: 'doc-8' of 'forums'"),
        ('{"source":"forms","id":"8"}\n', "sources: did you mean 'forums'? known: forums"),
        ('{"source":"forums","id":"something else"}\n', "no id of this source is near"),
    ],
)
def test_an_unknown_document_is_not_added_and_not_proven(
    mill: Mill, capsys: pytest.CaptureFixture[str], asked: str, near: str
) -> None:
    code, lines = run(mill, capsys, FORUMS + asked)
    [line] = [each for each in lines if each.startswith("not added: ")]
    assert (code, line.rpartition("; ")[2][: len(near)]) == (1, near)
    assert mill.store.read(LIST) == b'{"source":"forums","id":"doc-8","reason":"taken down"}\n'
    code, lines = run(mill, capsys, FORUMS + asked, "--prove")
    assert (code, len(lines)) == (1, 1)
    assert lines[0].startswith("asked for: not proven: ")
    assert near in lines[0]
    assert run(mill, capsys, FORUMS, "--prove")[0] == 0


def test_a_listed_name_is_no_proof_if_the_recipe_of_that_name_has_the_document_under_another_source(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    mill.store.put(LIST, b'{"source":"pages","id":"doc-8","reason":"x"}\n{"source":"old","id":"doc-8","reason":"x"}\n')
    code, [line] = run(mill, capsys, PAGES, "--prove")
    assert (code, line.endswith("; near: 'doc-8' of 'forums'")) == (1, True)
    code, lines = run(mill, capsys, '{"source":"old","id":"doc-8"}\n', "--prove")  # of a source that is gone
    assert (code, lines[0].partition(": ")[2][:6]) == (0, "listed")


def test_a_document_of_the_record_of_an_erasure_is_known(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    asked = '{"source":"forums","id":"https://tales.example/gone"}\n'
    assert run(mill, capsys, asked, "--prove")[1][0].startswith("asked for: not proven")
    record = {"schema": 1, "documents": [["forums", "https://tales.example/gone", "x"]], "objects": {}, "left": []}
    mill.store.put("withdrawn/0123456789abcdef.json", json.dumps({**record, "done": True}).encode())
    code, lines = run(mill, capsys, asked, "--prove")
    assert (code, lines[0].startswith(f"blocklist: not proven: {LIST}")) == (1, True)
    mill.store.put(LIST, b'{"source":"forums","id":"https://tales.example/gone","reason":"x"}\n')
    assert run(mill, capsys, asked, "--prove")[0] == 0
    assert run(mill, capsys, "", "--prove", "--scan", "--url", "https://tales.example/g*")[0] == 0


@pytest.mark.parametrize("words", [("--prove",), ()])
def test_an_unknown_url_or_digest_proves_nothing(
    mill: Mill, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, lines = run(mill, capsys, "", "--scan", "--url", "https://tale.example/8", *words)
    assert code == 1
    assert "did you mean 'https://tales.example/8' or" in lines[0]
    code, lines = run(mill, capsys, "", "--scan", "--content", "0" * 32, *words)
    assert (code, lines) == (1, [f"unknown: no document has a text of the digest {'0' * 32}"])
    assert mill.store.head(LIST) is None


def test_what_was_not_searched_makes_no_name_known(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.tag("words-1")
    mill.raw("a.jsonl.gz", [row(number, "forums") for number in range(11)])
    mill.convert()  # the attribute set is of ten documents yet
    asked = FORUMS + '{"source":"forums","id":"ghost"}\n'
    stale = "not searched: sources/pages/v0/attributes/words-1 (2024): made from another version of shard a"
    words = "'ghost' of 'forums' is unknown: no searched document, blocklist or record of an erasure names it"
    mend = "; not all was searched: make it (gristmill make), or takedown --scan; ask again"
    code, lines = run(mill, capsys, asked, command="erase")
    assert (code, [line.startswith(stale) for line in lines].count(True)) == (1, 1)
    assert f"not erased: {words}; no id of this source is near{mend}" in lines
    mill.store.delete([LIST])
    code, lines = run(mill, capsys, asked)
    assert (code, any(line.startswith(stale) for line in lines)) == (1, True)
    assert f"not added: {words}; no id of this source is near{mend}" in lines
    assert mill.store.read(LIST) == b'{"source":"forums","id":"doc-8","reason":"taken down"}\n'
    code, [line] = run(mill, capsys, asked, "--prove")
    assert (code, line.startswith(f"asked for: not proven: {words}"), f"{mend}; {stale}" in line) == (1, True, True)


def test_a_row_of_another_source_is_near_though_others_have_the_recipes_own(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    mill.raw("b.jsonl.gz", [row(number, "pages") for number in (20, 21)])
    mill.convert()
    code, [line] = run(mill, capsys, PAGES, "--prove")
    assert (code, line.endswith("; near: 'doc-8' of 'forums'")) == (1, True)
    mill.store.put(LIST, b'{"source":"pages","id":"doc-8","reason":"x"}\n')
    assert run(mill, capsys, PAGES, "--prove")[0] == 0  # a list names it, and the recipe has documents of this source


@pytest.mark.parametrize(("source", "code"), [("page", 1), ("pages", 0)])
@pytest.mark.parametrize("name", ["a0", "r0"])
def test_a_row_that_has_only_the_id_of_a_document_makes_no_misspelt_source_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, source: str, code: int
) -> None:
    """The clusters for people have a0; the quarantine has r0, which is nowhere else."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    refused = b'{"id": "r0", "source": "pages"}'
    texts = [
        "the mill stands at the river and grinds the corn of the whole valley",
        "nothing of this is said elsewhere",
    ]
    rows = [{"id": f"a{number}", "text": text, "source": "pages"} for number, text in enumerate([*texts, texts[0]])]
    mill.raw("a.jsonl.gz", [*rows, refused], snapshot="2024-01")
    resolved(mill, "dedupe/near-1")
    found, lines = run(mill, capsys, json.dumps({"source": source, "id": name}))
    assert any(("clusters.parquet: row" if name == "a0" else "quarantine") in line for line in lines)
    assert (found, any(line.startswith("not added: ") for line in lines)) == (code, bool(code))
    found, lines = run(mill, capsys, json.dumps({"source": source, "id": name}), "--prove")
    assert any(line.startswith("asked for: not proven: ") for line in lines) == bool(code)
