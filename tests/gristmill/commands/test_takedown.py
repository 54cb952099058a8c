"""`python -m gristmill takedown`: every place of a document, the blocklist, and what is due."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from releasekit import write_whole
from testkit import SNAPSHOT, Mill, link
from tracelake import declare_tokenizer, even, make_trace_lake, spell, where

from gristmill.__main__ import main
from gristmill.errors import RecipeError
from gristmill.lake.address import place
from gristmill.lake.store.open import open_store
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.mixing.step import stream_step

SHELF = ["--shelves", "gristmill,testshelf"]
LIST = "blocklists/takedowns.jsonl"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_trace_lake(tmp_path_factory.mktemp("trace") / "lake", even())


@pytest.fixture(autouse=True)
def on_the_shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    declare_tokenizer(monkeypatch)


@pytest.fixture
def mill(clean: Mill, tmp_path: Path) -> Mill:
    link(clean.root, tmp_path / "lake")
    return Mill(tmp_path / "lake")


def ids_file(mill: Mill, *numbers: int) -> str:
    path = mill.root.parent / "asked.jsonl"
    path.write_text("".join(json.dumps({"source": "pages", "id": f"doc-{number}"}) + "\n" for number in numbers))
    return str(path)


def taken(mill: Mill, capsys: pytest.CaptureFixture[str], *words: str, numbers: tuple[int, ...] = (8,)) -> Any:
    """The exit code and the lines of the command."""
    code = main(["takedown", str(mill.root), "--ids", ids_file(mill, *numbers), *words, *SHELF])
    return code, capsys.readouterr().out.splitlines()


def test_the_places_are_those_that_trace_shows(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = taken(mill, capsys, "--json", "--dry-run")
    found = [json.loads(line) for line in lines]
    traced = where(mill, 8)
    rows = [*traced.documents, *traced.attributes, *traced.mixes]
    of_rows = {each["where"] for each in found if each["area"] in {"documents", "attributes", "mixes"}}
    assert of_rows == {f"{row.path}: row {row.row}" for row in rows}
    [tokens] = [each["where"] for each in found if each["area"] == "token caches"]
    [place_of_tokens] = traced.token_caches
    start, end = place_of_tokens.tokens or (0, 0)
    assert (
        tokens == f"{place_of_tokens.part}: row {place_of_tokens.row}, tokens {start}-{end} of {place_of_tokens.split}"
    )
    [raw] = [each["where"] for each in found if each["area"] == "raw"]
    assert raw == "sources/pages/raw/2024/a.jsonl.gz: unpacked object 1075-1194"
    assert code == 0
    assert len(found) == len(of_rows) + 2


def test_a_document_is_added_once_and_its_slice_is_due(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    before = mill.store.read(LIST)
    code, lines = taken(mill, capsys, "--dry-run")
    assert (code, lines[-1]) == (0, f"1 of 1 documents would be added to {LIST}")
    assert mill.store.read(LIST) == before
    code, lines = taken(mill, capsys, "--reason", "by law")
    assert code == 0
    assert lines[0] == "'doc-8' of 'pages': 8 places"
    assert lines[-2:] == ["due: mixes/even/documents/pages (2024): a", f"1 of 1 documents added to {LIST}"]
    assert mill.store.read(LIST) == before + b'{"source":"pages","id":"doc-8","reason":"by law"}\n'
    assert taken(mill, capsys)[1][-1] == f"0 of 1 documents added to {LIST}"
    assert taken(mill, capsys, "--dry-run")[1][-1] == f"0 of 1 documents would be added to {LIST}"


def test_a_url_that_no_document_has_is_told(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["takedown", str(mill.root), "--url", "https://none.example/*", "--scan", *SHELF]) == 1
    [line] = [each for each in capsys.readouterr().out.splitlines() if each.startswith("unknown")]
    assert line.startswith("unknown: no document has a metadata.url like https://none.example/*, and no blocklist")
    assert line.endswith("; --ids takes ids that are addresses")


@pytest.mark.parametrize("which", [("--url", "https://none.example/*"), ("--content", "0" * 32)])
def test_what_was_not_searched_makes_no_name_unknown(
    mill: Mill, capsys: pytest.CaptureFixture[str], which: tuple[str, str]
) -> None:
    assert main(["takedown", str(mill.root), *which, *SHELF]) == 1
    said, *skipped = capsys.readouterr().out.splitlines()
    assert said.startswith("unknown: no searched document has a ")
    assert ("--scan searches all" in said) == (which[0] == "--url")
    assert len([each for each in skipped if each.startswith("not searched: sources/pages/v0/documents (2024)")]) == 3


def test_a_mix_that_names_no_such_list_is_wrong(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = taken(mill, capsys, "--blocklist", "others")
    assert code == 1
    assert lines[-2].startswith("WRONG: mixes/even/documents/pages (2024): a: its recipe does not name the blocklist, ")
    assert mill.store.head("blocklists/others.jsonl") is not None


def test_the_way_that_is_named_for_a_mix_without_the_list_works(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    others = ("--blocklist", "others")
    [wrong] = [line for line in taken(mill, capsys, *others)[1] if line.startswith("WRONG")]
    mend = wrong[wrong.index("a finished mix keeps its recipe: ") :]
    assert 'blocklists=("others",)' in mend
    assert mend.endswith("or remove its folders alone, add the list, and make it")
    [live] = [line for line in taken(mill, capsys, "--prove", *others)[1] if line.startswith("live lake: found")]
    assert f"; mixes/even/documents/pages: names no others, and {mend}" in live
    assert "make these slices" not in live
    mix = replace(even(), streams=(replace(even().streams[0], blocklists=("takedowns", "others")),))
    step = stream_step(mix, "pages", SNAPSHOT, ("gristmill", "testshelf"))
    with pytest.raises(RecipeError, match="made by another recipe of the same name"):
        mill.make(step)
    for folder in ("mixes/even", "token_caches/even"):
        shutil.rmtree(mill.root / folder)
    mill.make(step)
    spell(mill, mix)
    code, lines = taken(mill, capsys, "--prove", *others)
    assert (code, "live lake: absent: no shard of the finished slices has them" in "\n".join(lines)) == (0, True)


def test_a_slice_of_what_its_stream_read_before_is_made_by_no_recipe(
    mill: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream reads another source now, which has no 2024. What the line names is removed, and that is enough."""
    for name, value in (("name", "pages"), ("source", "stdlib"), ("version", "v0")):
        monkeypatch.setitem(vars(read_catalogue(("gristmill", "testshelf")).mixes["even"].streams[0]), name, value)
    code, lines = taken(mill, capsys)
    [wrong] = [
        line for line in lines if line.startswith("WRONG: mixes/even/documents/pages (2024): a: no recipe makes")
    ]
    mend = wrong.partition(": a: ")[2]
    assert mend.startswith("no recipe makes mixes/even/documents/pages (2024), token_caches/even/tiny-1/pages (2024): ")
    assert (code, [line for line in lines if line.startswith("due")]) == (1, [])
    [live] = [line for line in taken(mill, capsys, "--prove")[1] if line.startswith("live lake: found")]
    assert live.endswith(f"; {mend}")
    assert "make these slices" not in live
    assert main(["gc", str(mill.root), *SHELF]) == 0
    assert f"note   {mend}" in capsys.readouterr().out
    subprocess.run(["bash", "-c", f"rm -rf {mend.partition('; delete ')[2]}"], cwd=mill.root, check=True)
    proven_now = proven(mill, capsys, 8)[1]
    assert (proven_now["live lake"], proven_now["strays"]) == ("absent", "absent")
    assert main(["gc", str(mill.root), *SHELF]) == 0
    assert "mixes/even" not in capsys.readouterr().out


def test_a_document_that_is_nowhere_is_told(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = taken(mill, capsys, numbers=(8, 1000))
    assert code == 1
    assert "'doc-1000' of 'pages': 0 places" in lines


def test_what_was_not_made_again_was_not_searched(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    taken(mill, capsys)
    mill.make(stream_step(even(), "pages", SNAPSHOT, ("gristmill", "testshelf")))
    code, lines = taken(mill, capsys)
    assert code == 1
    stale = (
        "not searched: token_caches/even/tiny-1/pages (2024): made from another version of shard a, so its documents"
    )
    assert any(line.startswith(stale) for line in lines)
    assert not any(line.startswith("  mixes") for line in lines)


@pytest.mark.parametrize("asset", ["sources/pages/v0/documents", "mixes/even/documents/pages"])
def test_without_an_index_nothing_is_said_to_be_absent(
    mill: Mill, capsys: pytest.CaptureFixture[str], asset: str
) -> None:
    mill.store.delete([place(asset, SNAPSHOT).index("a")])
    code, lines = taken(mill, capsys)
    assert code == 1
    assert any(line.startswith(f"not searched: {asset} (2024), shard a: ") for line in lines)
    code, lines = taken(mill, capsys, "--scan")
    assert code == 0
    assert sum(line.startswith("  ") for line in lines) == 8


def test_a_scan_reads_a_set_of_other_documents(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.raw("a.jsonl.gz", [{"id": "doc-8", "text": "one", "source": "pages"}])
    mill.convert()
    found = {}
    for words in ([], ["--scan"]):
        code, lines = taken(mill, capsys, "--dry-run", *words)
        found[len(words)] = [line for line in lines if "v0/attributes" in line]
    old = "sources/pages/v0/attributes/words-1"
    assert f"  attributes    {old}/2024/a.jsonl.gz: row 8" in found[1]
    assert [line for line in found[0] if line.startswith(f"not searched: {old} (2024): made from another version")]
    assert not [line for line in found[1] if line.startswith("not searched")]
    assert code == 0


@pytest.mark.slow
def test_a_bucket_is_searched_as_the_folder_is(mill: Mill, capsys: pytest.CaptureFixture[str], endpoint: str) -> None:
    store = open_store("s3://mill/takedown", {"endpoint": endpoint})
    for entry in mill.store.list(""):
        store.put(entry.path, mill.store.read(entry.path))
    there = ["s3://mill/takedown", "--option", f"endpoint={endpoint}", "--ids", ids_file(mill, 8), *SHELF]
    assert main(["takedown", *there]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == taken(mill, capsys)[1]
    assert store.read(LIST) == mill.store.read(LIST)


def test_refused_rows_excerpts_and_labelled_rows_are_places(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.raw("d.jsonl", b'{"id":"doc-8","text":1,"source":"pages"}\n{"id":"doc-900","text":"right","source":"pages"}\n')
    mill.store.put("labels/quiz/rows.jsonl", b'{"text":"x"}\n{"source":"pages","id":"doc-8","label":"good"}\n')
    example = {"label": "words", "end": "highest", "value": 3, "shard": "a", "row": 8, "source": "pages"}
    file = {"contents": {}, "examples": [{**example, "id": "doc-8", "excerpt": "the text"}]}
    there = place("sources/pages/v0/attributes/words-1", SNAPSHOT)
    mill.store.put(f"{there.ledger_stem}.examples.json", json.dumps(file).encode())
    mill.convert()
    _, lines = taken(mill, capsys)
    assert any(
        line.startswith("  quarantine    sources/pages/v0/quarantine/2024/d.jsonl.gz: row 0 (") for line in lines
    )
    assert "  labels        labels/quiz/rows.jsonl: row 1" in lines
    assert f"  examples      {there.ledger_stem}.examples.json: an excerpt (highest words)" in lines


def test_a_row_of_a_set_that_people_brought_is_a_place(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    """It has the name of the set as its source. But it makes no misspelt source known."""
    mill.store.put("labels/quiz/rows.jsonl", b'{"source":"quiz","id":"doc-8","label":"good","text":"x"}\n')
    _, lines = taken(mill, capsys)
    assert "  labels        labels/quiz/rows.jsonl: row 0" in lines
    path = mill.root.parent / "misspelt.jsonl"
    path.write_text('{"source": "pagse", "id": "doc-8"}\n')
    assert main(["takedown", str(mill.root), "--prove", "--ids", str(path), *SHELF]) == 1
    assert "asked for: not proven" in capsys.readouterr().out


def test_a_wrong_file_of_ids_ends_with_2(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    path = mill.root.parent / "asked.jsonl"
    path.write_text('{"id": 1}\n')
    assert main(["takedown", str(mill.root), "--ids", str(path), *SHELF]) == 2
    assert "asked.jsonl: row 0: " in capsys.readouterr().err


def proven(mill: Mill, capsys: pytest.CaptureFixture[str], *numbers: int) -> tuple[int, dict[str, str]]:
    """The exit code of a proof, and the state of each part of the lake."""
    code, lines = taken(mill, capsys, "--prove", "--json", numbers=numbers)
    return code, {line["what"]: line["state"] for line in map(json.loads, lines)}


@pytest.mark.slow
def test_a_proof_names_what_is_left_to_do(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    left = {"versions and sets": "remains", "excerpts and labels": "absent", "quarantine": "absent", "raw": "remains"}
    left |= {"tokenizers and models": "remains", "strays": "absent", "foreign files": "absent"}
    parts, good = "old parts and releases of exports", {"releases": "absent", **left}
    before = {"blocklist": "not proven", "live lake": "found", parts: "absent", **good}
    assert proven(mill, capsys, 8) == (1, before)
    taken(mill, capsys)
    assert proven(mill, capsys, 8) == (1, {**before, "blocklist": "listed"})
    mill.make(stream_step(even(), "pages", SNAPSHOT, ("gristmill", "testshelf")))
    assert proven(mill, capsys, 8)[1]["live lake"] == "not proven"  # the token cache
    spell(mill, even())
    assert proven(mill, capsys, 8) == (1, {**before, "blocklist": "listed", "live lake": "absent", parts: "not proven"})
    _, lines = taken(mill, capsys, "--prove")
    [old] = [line for line in lines if line.startswith("old parts")]
    assert "/part-00001-3201eb1abf37acf3/: no ledger names it; remove it with gristmill gc" in old
    mill.store.put("releases/first.json", b'{"parts": ["part-00001-3201eb1abf37acf3"]}')
    assert proven(mill, capsys, 8)[1]["releases"] == "not proven"
    [old] = [line for line in taken(mill, capsys, "--prove")[1] if line.startswith("old parts")]
    assert "but releases/first.json, so gc keeps it; gristmill erase --release first, then gristmill gc" in old
    mill.store.delete(["releases/first.json"])
    assert main(["gc", str(mill.root)]) == 0
    capsys.readouterr()
    assert proven(mill, capsys, 8) == (0, {**before, "blocklist": "listed", "live lake": "absent"})


@pytest.mark.parametrize("damaged", [LIST, "blocklists/others.jsonl"])
def test_a_damaged_list_is_a_line_of_the_proof(mill: Mill, capsys: pytest.CaptureFixture[str], damaged: str) -> None:
    mill.store.put(damaged, b"no row\n")
    code, lines = taken(mill, capsys, "--prove", numbers=(8, 999))
    assert code == 1
    assert [line for line in lines if ": not proven: " in line and f"{damaged}: row 0" in line]


def test_a_proof_trusts_no_index_that_was_changed(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    index = place("mixes/even/documents/pages", SNAPSHOT).index("a")
    data = bytearray(mill.store.read(index))
    data[-1] ^= 1
    mill.store.put(index, bytes(data))
    assert proven(mill, capsys, 1)[1]["live lake"] == "not proven"


def test_a_slice_and_a_cache_that_no_recipe_makes_are_not_due_but_wrong(
    mill: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the mix has no tokenizer any more, then no stream `pages`."""
    catalogue = read_catalogue(("gristmill", "testshelf"), checked=False)
    monkeypatch.setitem(vars(catalogue.mixes["even"]), "tokenizers", ())
    code, lines = taken(mill, capsys)
    cache = "token_caches/even/tiny-1/pages/ token_caches/even/tiny-1/ledgers/pages/"
    due = [line for line in lines if line.startswith(("due", "WRONG"))]
    assert (code, due[0]) == (1, "due: mixes/even/documents/pages (2024): a")
    assert due[1].startswith("WRONG: token_caches/even/tiny-1/pages (2024): no recipe of --shelves makes token_caches/")
    assert due[1].endswith(f"; or delete {cache}")
    monkeypatch.setitem(vars(catalogue.mixes["even"].streams[0]), "name", "other")
    code, lines = taken(mill, capsys)
    [wrong] = [line for line in lines if line.startswith(("due", "WRONG"))]
    assert (code, wrong.partition(": no ")[0]) == (1, "WRONG: mixes/even/documents/pages (2024): a")
    assert wrong.endswith(f"; or delete mixes/even/documents/pages/ mixes/even/ledgers/pages/ {cache}")
    assert main(["gc", str(mill.root), *SHELF]) == 0
    assert f"note   no {wrong.partition(': no ')[2]}\n" in capsys.readouterr().out


def test_the_advice_to_delete_what_no_recipe_makes_names_the_release_that_has_it(
    mill: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mix has no tokenizer any more; the takedown, its proof, `gc` and `verify` say what to do about the cache."""
    write_whole(mill)
    catalogue = read_catalogue(("gristmill", "testshelf"), checked=False)
    monkeypatch.setitem(vars(catalogue.mixes["even"]), "tokenizers", ())
    mend = "or withdraw the releases that name its objects (gristmill erase --release first), then delete token_caches/"
    assert [mend in line for line in taken(mill, capsys)[1] if line.startswith("WRONG")] == [True]
    assert [mend in line for line in taken(mill, capsys, "--prove")[1] if line.startswith("live lake")] == [True]
    assert main(["gc", str(mill.root), *SHELF]) == 0
    assert f"{mend}even/tiny-1/pages/" in capsys.readouterr().out
    mill.store.delete([place("token_caches/even/tiny-1/pages", SNAPSHOT).table])
    assert main(["verify", str(mill.root), "--asset", "token_caches", *SHELF]) == 1
    assert f"{mend}even/tiny-1/pages/" in capsys.readouterr().out


@pytest.mark.slow
def test_a_proof_says_what_to_do_about_a_mix_without_a_recipe(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    def live(*packages: str) -> str:
        words = ["--prove", "--ids", ids_file(mill, 8), "--shelves", ",".join(packages)]
        main(["takedown", str(mill.root), *words])
        [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("live lake")]
        return line

    assert live("gristmill", "testshelf").endswith("; make these slices")
    line = live("gristmill")
    assert "no recipe of --shelves makes mixes/even/documents/pages, token_caches/even/tiny-1/pages, so" in line
    deleted = "mixes/even/documents/pages/ mixes/even/ledgers/pages/ token_caches/even/tiny-1/pages/"
    assert line.endswith(f"; or delete {deleted} token_caches/even/tiny-1/ledgers/pages/")
    assert "make these slices" not in line
    taken(mill, capsys)
    mill.make(
        stream_step(even(), "pages", SNAPSHOT, ("gristmill", "testshelf"))
    )  # the token cache is of another mix now
    assert "not proven: token_caches/even/tiny-1/pages" in live("gristmill")
    assert "no recipe of --shelves makes token_caches/even/tiny-1/pages, so" in live("gristmill")
