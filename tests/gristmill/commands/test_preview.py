import re
from pathlib import Path

import pytest
from testkit import Mill
from wholelake import REVISED, STREAM

from gristmill.__main__ import main
from gristmill.lake.address import attributes_beside
from gristmill.recipes.catalogue import read_catalogue
from gristmill.reports.sizes import size_in_words

SHELF = ["--shelves", "gristmill,testshelf"]


def previewed(whole: Mill, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["preview", str(whole.root), *arguments, *SHELF]) == 0
    return capsys.readouterr().out


def table_of(said: str) -> dict[str, list[str]]:
    """The table of reasons: the cells of each row, by its name."""
    rows = re.findall(
        r"^  (all|kept|[a-z-]+) +([\d,]+) +(\S+%) +([\d,]+) +([\d,]+)(?: +([\d,]+))?$", said, re.MULTILINE
    )
    return {name: [cell for cell in cells if cell] for name, *cells in rows}


@pytest.mark.slow
def test_a_preview_counts_what_the_build_made(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    said = previewed(whole, capsys, "even")
    assert said.startswith("columns are missing: ")
    table = table_of(said)
    assert (table["all"][:2], table["kept"][:2]) == (["16", "100.00%"], ["8", "50.00%"])
    assert (table["by-four"][:2], table["by-four"][-1]) == (["8", "50.00%"], "8")
    made = sum(shard.length for shard in whole.table(STREAM).values())
    assert table["kept"][2] == f"{made:,}"
    assert "tokens: bytes x " in said
    assert "columns are missing" not in previewed(whole, capsys, "even")


@pytest.mark.slow
def test_what_is_held_out_is_shown(
    whole: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mix = read_catalogue(("gristmill", "testshelf")).mixes["even"]
    assert "held out" not in previewed(whole, capsys, "even")
    monkeypatch.setitem(vars(mix), "validation", 0.25)
    assert "mix even: validation: about 2 of 8 documents are held out\n" in previewed(whole, capsys, "even")
    monkeypatch.setitem(vars(mix), "validation", 0.01)
    said = "mix even: validation: about 0.08 of 8 documents are held out: validation may be empty\n"
    assert said in previewed(whole, capsys, "even")


@pytest.mark.slow
def test_rows_that_are_changed_are_read_and_their_bytes_are_said(
    whole: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The written rows would lack a field: so documents and the set of the rule are read."""
    [stream] = read_catalogue(("gristmill", "testshelf")).mixes["even"].streams
    assert "bytes of documents" not in previewed(whole, capsys, "even")
    monkeypatch.setitem(vars(stream), "discard", ("created",))
    said = previewed(whole, capsys, "even")
    read = [
        *whole.table(REVISED).values(),
        *(s for name in stream.sets for s in whole.table(attributes_beside(REVISED, name)).values()),
    ]
    assert f"rows are changed: {size_in_words(sum(s.bytes for s in read))} of documents and sets are read" in said
    assert table_of(said)["kept"][0] == "8"


@pytest.mark.slow
def test_other_conditions_are_tried_and_nothing_is_written(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    previewed(whole, capsys, "even")
    before = whole.tree()
    assert table_of(previewed(whole, capsys, "even", "--where", "number < 20"))["where"][0] == "4"
    assert table_of(previewed(whole, capsys, "even", "--rule", "by-four=number % 8 = 0"))["kept"][0] == "4"
    assert whole.tree() == before


def test_a_version_is_previewed_with_the_overlap_of_its_rules(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    said = previewed(whole, capsys, "pages/v1", "--rows", "1")
    table = table_of(said)
    assert (table["english"][0], table["english"][-1]) == ("20", "16")  # 4 of the 20 French ones have one word
    assert (table["short"][0], table["short"][-1]) == ("4", "4")
    assert "english and short both drop 4 documents" in said
    assert "tokens: characters / 4" in said
    assert "words_1__count, documents at or above: 1: 100%, 2: 80%," in said
    assert "; short: < 2" in said
    assert said.count("    | word") == 3


def test_the_page_has_the_table_the_curves_and_the_examples(
    whole: Mill, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "preview.html"
    previewed(whole, capsys, "pages/v1", "--output", str(file), "--rule", "short=words_1__count < 2 OR '<b>' = 'x'")
    page = file.read_text()
    assert "<td>english</td><td class=n>20</td><td class=n>50.00%</td>" in page
    assert "<code>words_1__count &lt; 2 OR &#x27;&lt;b&gt;&#x27; = &#x27;x&#x27;</code>" in page
    assert page.count("<svg") == 1
    assert "short &lt; 2</text>" in page
    assert "<h3>Dropped by short</h3>" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_two_mixes_or_one_with_other_conditions_are_compared(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    said = previewed(whole, capsys, "even", "even", "--rule", "by-four=number % 8 = 4", "--rows", "1")
    assert "only even keeps:\n  mixes/even/documents/pages: 4 of 8 documents," in said
    assert "only even with the conditions asked for keeps:\n  mixes/even/documents/pages: 0 of 4 documents," in said
    assert len(re.findall(r"2024 [ab] row \d+  doc-000(08|16|24|32)\n      \| word", said)) == 1
    assert "keeps:\n  sources/pages/v1/documents: 8 of 16 documents" in previewed(whole, capsys, "pages/v1", "even")


def test_a_mix_that_would_keep_nothing_is_told_before_its_index_fails(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "no document is kept: the index of the mix will fail"
    assert words not in previewed(whole, capsys, "even")
    assert words in previewed(whole, capsys, "even", "--where", "1 = 0")


def test_documents_on_a_blocklist_are_not_shown(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    listed = [f'{{"source":"pages","id":"doc-{n:05d}","reason":"asked"}}\n' for n in range(39)]
    whole.store.put("blocklists/gone.jsonl", "".join(listed).encode())
    assert "doc-000" not in previewed(whole, capsys, "pages/v1").replace("doc-00039", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["odd"], "no 'odd' on this shelf; known: even"),
        (["even", "--stream", "x"], "has no stream 'x'"),
        (["even", "--snapshot", "1999"], "--snapshot 1999: not finished for pages/v1; 2024 are"),
        (["pages/v7"], "no version 'v7' is selected by rules; such versions: v1"),
        (["even", "--rows", "-1"], "--rows -1"),
        (["even", "--rule", "by-for=TRUE"], "no rule 'by-for' to change"),
        (["even", "--rule", "by-four"], "give NAME=SQL"),
        (["even", "--where", "words > 1"], "no column 'words'"),
        (["even", "even", "x"], "name a mix or a version"),
        (["even", "even", "--output", "x.html"], "a comparison has no page"),
    ],
)
def test_what_cannot_be_previewed_exits_with_2(
    whole: Mill, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["preview", str(whole.root), *arguments, "--shelves", "testshelf"]) == 2
    assert said in capsys.readouterr().err


def test_documents_that_are_not_made_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lake").mkdir()
    assert main(["preview", str(tmp_path / "lake"), "even", *SHELF]) == 2
    assert "sources/pages/v1/documents: no snapshot is finished; make it first" in capsys.readouterr().err
