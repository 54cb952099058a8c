"""The page about a resolution: excerpts at the right places, counted characters, and no markup of the data."""

import hashlib
import json
from pathlib import Path

import pytest
from dedupelake import known, put, resolved
from testkit import Mill

from gristmill.__main__ import main
from gristmill.errors import DataError
from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.stages.dedupe.cluster_excerpts import EXCERPT, ClusterExcerpt, read_cluster_excerpts
from gristmill.stages.dedupe.duplicate_characters import duplicate_characters, numbers_of_taken_snapshots
from gristmill.stages.dedupe.resolution import Resolution, read_resolution
from gristmill.stages.dedupe.resolution_report import resolution_report

SHELF = ["--shelves", "gristmill,testshelf,dedupeshelf"]
BOLD = "<b>bold</b> \u00e9"


@pytest.fixture
def pages(mill: Mill) -> Mill:
    """Lines: `<b>bold</b> é` occurs four times, a long one twice, and one once."""
    put(mill, "a", "x", f"first\n{BOLD}", f"{BOLD}\n{'long ' * 100}")
    put(mill, "b", "x", f"{BOLD}\n{BOLD}\n{'long ' * 100}")
    resolved(mill, "lines-1")
    return mill


def resolution(mill: Mill, name: str = "lines-1") -> Resolution:
    found = read_resolution(mill.store, name)
    assert found is not None
    return found


def excerpts(mill: Mill) -> list[ClusterExcerpt]:
    return read_cluster_excerpts(mill.store, known().dedupes["lines-1"], resolution(mill))


def test_excerpts_are_the_first_occurrences(pages: Mill) -> None:
    bold, long = excerpts(pages)
    assert (bold.cluster.times, bold.row, bold.start, bold.end, bold.excerpt) == (4, 0, 6, 6 + len(BOLD), BOLD)
    assert (long.cluster.times, long.row, long.excerpt) == (2, 1, ("long " * 100)[:EXCERPT])


def test_a_document_on_a_blocklist_is_not_shown(pages: Mill) -> None:
    row = {"source": "pages", "id": "x0", "reason": "asked for"}
    pages.store.put("blocklists/takedown.jsonl", json.dumps(row).encode())
    assert [each.excerpt is None for each in excerpts(pages)] == [True, False]
    page = resolution_report(pages.store, known().dedupes["lines-1"], resolution(pages))
    assert "bold" not in page
    assert "(a blocklist names this document)" in page


def test_the_page_says_that_the_bars_count_a_text_in_each_round_that_has_it(mill: Mill) -> None:
    """Three texts in two snapshots, and then in a third one, which is a round of its own."""
    recipe, said = known().dedupes["texts-1"], "units that several rounds have are counted in each of them"
    put(mill, "a", "x", "one", "two", "three")
    put(mill, "b", "y", "one", "two", "three")
    resolved(mill, "dedupe/texts-1")
    together = resolution(mill, "texts-1")
    page = resolution_report(mill.store, recipe, together)
    assert together.occurrences == (0, 3)
    assert "different units by the number of their occurrences" in page
    assert said not in page
    put(mill, "c", "z", "one", "two", "three")
    resolved(mill, "dedupe/texts-1")
    later = resolution(mill, "texts-1")
    page = resolution_report(mill.store, recipe, later)
    assert later.occurrences == (0, 6)  # two to three times in either round, and there are three texts
    assert "units of each of 2 rounds by their occurrences" in page
    assert "different units" not in page
    assert said in page


def test_changed_documents_are_not_taken_for_those_that_were_compared(pages: Mill) -> None:
    put(pages, "a", "x", "other\nother")
    resolved(pages, "sources/pages/v0/documents")
    assert [each.row for each in excerpts(pages)] == [None, None]
    page = resolution_report(pages.store, known().dedupes["lines-1"], resolution(pages))
    assert page.count("(the documents changed; resolve the recipe again)") == 2


def test_duplicate_characters_are_those_of_the_sets_that_are_made(pages: Mill) -> None:
    lines = known().dedupes["lines-1"]
    assert duplicate_characters(pages.store, lines, resolution(pages)) == [len(BOLD), 2 * len(BOLD) + 500]
    texts = known().dedupes["texts-1"]
    resolved(pages, "dedupe/texts-1")
    assert duplicate_characters(pages.store, texts, resolution(pages, "texts-1")) == [None, None]


def test_characters_that_a_mix_leaves_out_are_those_of_the_newest_edition(mill: Mill) -> None:
    """Of three editions the newest has a text of 3 characters twice, the others have it three times."""
    editions = known("replace")
    for snapshot, times in (("3.9", 3), ("3.10", 3), ("3.11", 2)):
        put(mill, snapshot, "x", *["abc"] * times)
    resolved(mill, "texts-1", catalogue=editions)
    found, recipe = resolution(mill, "texts-1"), editions.dedupes["texts-1"]
    by_rank = duplicate_characters(mill.store, recipe, found)
    assert sorted(each or 0 for each in by_rank) == [3, 6, 6]
    assert numbers_of_taken_snapshots(found, by_rank) == [3]
    page = resolution_report(mill.store, recipe, found)
    assert "leaves out 3 characters of the 1 of 1 snapshots whose attribute sets are made. It takes none of 2" in page


def test_near_duplicates_show_the_document_that_is_kept(mill: Mill) -> None:
    words = " ".join(f"w{number}" for number in range(40))
    put(mill, "a", "x", "", words, f"{words} end", f"{words} end")
    resolved(mill, "near-1")
    [found] = read_cluster_excerpts(mill.store, known().dedupes["near-1"], resolution(mill, "near-1"))
    assert (found.cluster.times, found.row, found.excerpt) == (3, 1, words[:EXCERPT])


def test_the_number_of_a_near_duplicate_is_that_of_a_document_and_not_of_a_band(mill: Mill) -> None:
    texts = [" ".join(f"{name}{number}" for number in range(40)) for name in "abcdefgh"]
    put(mill, "a", "x", "", *texts, *(f"{text} end" for text in texts[3:]))
    resolved(mill, "near-1")
    near, found = known().dedupes["near-1"], resolution(mill, "near-1")
    shown = {each.row: each.excerpt for each in read_cluster_excerpts(mill.store, near, found)}
    assert shown == {number + 1: texts[number][:EXCERPT] for number in range(3, 8)}
    page = resolution_report(mill.store, near, found)
    for words in ("bands compared", "duplicate documents", "<th>documents</th>", "share of the bands of a row"):
        assert words in page
    assert "occurrences</th>" not in page
    put(mill, "a", "x", "other words")
    resolved(mill, "sources/pages/v0/documents")
    assert "a/a x document with words 3" in resolution_report(mill.store, near, found).replace("pages/", "a/")


def test_documents_that_a_key_numbers_are_told_as_such_and_not_as_duplicates(mill: Mill) -> None:
    """Of three documents of one host two are numbered 2 or more; they have 6 characters, whichever they are."""
    rows = [{"id": f"x{n}", "text": "abc", "source": "pages", "metadata": {"host": "a"}} for n in range(3)]
    mill.raw("x.jsonl.gz", rows, snapshot="a")
    resolved(mill, "hosts-1")
    page = resolution_report(mill.store, known().dedupes["hosts-1"], resolution(mill, "hosts-1"))
    assert "<th>documents numbered 2 or more</th><th>characters of documents numbered 2 or more</th>" in page
    assert "<td>2</td><td>6</td>" in page
    assert "duplicate" not in page
    assert "leaves out" not in page


def test_the_command_writes_a_page_on_which_texts_are_text(
    pages: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(pages.root), "dedupe/lines-1", *SHELF]) == 0
    assert capsys.readouterr().out == "lines-1.html: 2 snapshots, 2 largest clusters\n"
    page = (tmp_path / "lines-1.html").read_text()
    assert page.count("<svg ") == 2
    assert "&lt;b&gt;bold&lt;/b&gt; \u00e9" in page
    assert "<b>" not in page
    assert f"leaves out {3 * len(BOLD) + 500:,} characters of the 2 of 2 snapshots" in page


def test_what_cannot_be_reported_is_told(pages: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        (["dedupe/line-1"], "no dedupe recipe 'line-1'; there are: "),
        (["dedupe/texts-1"], "run gristmill make texts-1 first"),
        (["dedupe/lines-1", "--snapshot", "a"], "a resolution is about all snapshots"),
    ):
        assert main(["report", str(pages.root), *words, *SHELF]) != 0
        assert message in capsys.readouterr().err


def test_a_span_that_no_document_has_is_refused(pages: Mill) -> None:
    found = resolution(pages)
    path = "dedupe/lines-1/resolution/resolution.json"
    span = b'"span":%d' % found.largest[0].span
    before = pages.store.read(path)
    after = before.replace(span, b'"span":900', 1)
    pages.store.put(path, after)
    ledger = ledger_of_asset("dedupe/lines-1/resolution")
    old, new = (hashlib.sha256(each).hexdigest().encode() for each in (before, after))
    pages.store.put(ledger, pages.store.read(ledger).replace(old, new))
    with pytest.raises(DataError, match="it has no hash 900"):
        excerpts(pages)
