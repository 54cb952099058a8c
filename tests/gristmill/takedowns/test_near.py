"""Near duplicates of wanted documents, through the clusters of a dedupe by MinHash."""

from dataclasses import replace
from pathlib import Path

import pytest
from countedreads import CountedReads
from dedupelake import SHELVES, known, put, resolved
from onenumber import numbered_alike
from testkit import Mill

from gristmill.__main__ import main
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.address import place
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.rules import Rule, field
from gristmill.recipes.source import Revision
from gristmill.stages.dedupe.resolution import read_dedupe_order, steps_of_resolution
from gristmill.stages.near_duplicates.step import ClustersStep
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.near import near_documents
from gristmill.takedowns.places import Search
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import Shelves
from gristmill.transforms.whitespace import WHITESPACE

WORDS = "the mill stands at the river and grinds the corn of the whole valley every day".split()  # noqa: SIM905 - words read best in a row
OTHERS = ("quite other words are written on this page", " ".join(["and", *WORDS]))


def found(mill: Mill, *ids: str) -> Search:
    return Finder(mill.store, Wanted({("pages", each): "" for each in ids}), Shelves(("testshelf",), {})).run()


def near(mill: Mill, search: Search) -> set[tuple[str, str]]:
    return near_documents(mill.store, search, {each.pair for each in search.found})


class CountedLedgers(CountedReads):
    """Notes ledgers too."""

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        return super().read_tagged(self.readable(path))


def told(what: str) -> str:
    return f"{what}: no dedupe by MinHash has compared it as it is now; name what is near it by --ids"


def made(tmp_path: Path, catalogue: Catalogue | None = None) -> Mill:
    """Row 0 of the first snapshot is near its row 2, and near row 1 of the second snapshot."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    again = " ".join([*WORDS, "again"])
    put(mill, "2024-01", "a", " ".join(WORDS), "nothing of this is said anywhere else at all", again)
    put(mill, "2024-02", "b", *OTHERS)
    resolved(mill, "dedupe/near-1", catalogue=catalogue)
    return mill


def test_a_lake_without_clusters_says_so(tmp_path: Path) -> None:
    mill = Mill(tmp_path)
    put(mill, "2024-01", "a", " ".join(WORDS))
    search = found(mill, "a0")
    assert near(mill, search) == set()
    assert search.unsearched[0].what.startswith("near documents: the lake has no clusters")


def test_the_cluster_of_a_document_is_near_it(tmp_path: Path) -> None:
    mill = made(tmp_path)
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a2"), ("pages", "b1")}
    assert not search.unsearched
    assert {each.area for each in search.found} == {"documents", "raw", "dedupe"}
    assert near(mill, found(mill, "a1")) == set()
    put(mill, "2024-03", "c", " ".join(WORDS))
    mill.convert(snapshot="2024-03")
    search = found(mill, "c0")
    assert near(mill, search) == set()
    assert [each.what for each in search.unsearched] == [told("near 'c0' of 'pages'")]


def test_near_documents_are_read_by_snapshot_and_shard_not_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    mill, text, reads = Mill(tmp_path / "lake"), " ".join(WORDS), list[int]()
    put(mill, "2024-01", "a", *[text] * 4)
    put(mill, "2024-02", "b", *[text] * 3)
    resolved(mill, "dedupe/near-1")
    search, store = found(mill, "a0"), CountedLedgers(mill.store)
    assert len(near_documents(store, search, {("pages", "a0")})) == 6
    for snapshot, shard in (("2024-01", "a"), ("2024-02", "b")):
        documents = place("sources/pages/v0/documents", snapshot)
        reads += [store.read_objects.count(path) for path in (documents.ledger, documents.shard(shard))]
    assert reads == [3, 1, 3, 1]  # ledgers: what was compared, what was not, and the ids


def test_what_was_not_compared_with_a_document_is_not_searched(tmp_path: Path) -> None:
    mill = made(tmp_path)
    put(mill, "2024-03", "c", " ".join(WORDS))
    mill.convert(snapshot="2024-03")
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a2"), ("pages", "b1")}
    assert [each.what.partition(":")[0] for each in search.unsearched] == [
        "near documents in sources/pages/v0/documents (2024-03)"
    ]


@pytest.mark.parametrize("lost", [("r00001",), ("r00002",), ("r00001", "r00002")])
def test_a_round_whose_clusters_have_lost_their_ledger_is_not_searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lost: tuple[str, ...]
) -> None:
    """The ledger of the second round names the fingerprints of the first one too."""
    mill = made(tmp_path)
    put(mill, "2024-03", "c", " ".join(WORDS))
    resolved(mill, "dedupe/near-1")
    (tmp_path / "ids").write_text('{"source":"pages","id":"a0"}\n')
    words = ["takedown", str(mill.root), "--ids", str(tmp_path / "ids"), "--near", "--shelves", "gristmill,testshelf"]
    assert main([*words, "--dry-run"]) == 0
    capsys.readouterr()
    for number in lost:
        (mill.root / place("dedupe/near-1/clusters", number).ledger).unlink()
    for way in ("--dry-run", "--prove"):
        assert main([*words, way]) == 1
        shown = capsys.readouterr().out
        for number in lost:
            assert f"dedupe near-1 ({number}): it has no clusters; run dedupe/near-1/resolution again" in shown
    resolved(mill, "dedupe/near-1")
    assert main([*words, "--dry-run"]) == 0


@pytest.mark.parametrize("catalogue", [known("replace"), known(scope="source"), known(scope="snapshot")])
def test_what_a_dedupe_does_not_compare_by_its_rule_is_not_searched(tmp_path: Path, catalogue: Catalogue) -> None:
    """Editions are never compared; nor are other snapshots with `scope="snapshot"`."""
    mill = made(tmp_path, catalogue)
    search, scope = found(mill, "a0"), catalogue.dedupes["near-1"].scope
    assert near(mill, search) == {("pages", "a2")} | ({("pages", "b1")} if scope == "source" else set())
    untold = [] if scope == "source" else ["near documents in sources/pages/v0/documents (2024-02)"]
    assert [each.what.partition(":")[0] for each in search.unsearched] == untold


OTHER = "quite another story is told of a lighthouse far out in the cold and stormy northern sea"


@pytest.mark.parametrize("alike", [False, True])
def test_a_cluster_with_the_same_number_is_not_near(tmp_path: Path, alike: bool) -> None:  # noqa: FBT001 - a case
    """The first document of either cluster is `a0`, in two snapshots of one round."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    put(mill, "2024-01", "a", " ".join(WORDS), "nothing of this is said anywhere else", " ".join([*WORDS, "again"]))
    put(mill, "2024-02", "a", OTHER, OTHER + " again")
    resolved(mill, "dedupe/near-1")
    if alike:
        numbered_alike(mill, "r00001")
    search = found(mill, "a2")
    assert near(mill, search) == {("pages", "a0")}
    assert not search.unsearched


def test_a_document_without_words_counts_as_a_row(tmp_path: Path) -> None:
    """`a1` is in no cluster of its own round: `b1` of the next one is near it."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    put(mill, "2024-01", "a", "...", " ".join(WORDS))
    resolved(mill, "dedupe/near-1")
    put(mill, "2024-02", "b", *OTHERS)
    resolved(mill, "dedupe/near-1")
    assert near(mill, found(mill, "a1")) == {("pages", "b1")}
    assert near(mill, found(mill, "b1")) == {("pages", "a1")}
    assert near(mill, found(mill, "a0")) == set()


def test_a_round_whose_clusters_are_of_others_than_the_first_has_now_is_not_searched(tmp_path: Path) -> None:
    """A run that was stopped after the first of two rounds."""
    mill = made(tmp_path)
    put(mill, "2024-03", "c", " ".join(WORDS))
    resolved(mill, "dedupe/near-1")
    put(mill, "2024-01", "a", "an innocent page", " ".join(WORDS))
    resolved(mill, "dedupe/near-1/fingerprints/pages")
    recipe = known().dedupes["near-1"]
    for step in steps_of_resolution(recipe, read_dedupe_order(mill.store, "near-1")[0], SHELVES):
        make(step, mill.lake, Inline(), f"run-{step.makes[0]}-{step.snapshot}", print)
        if isinstance(step, ClustersStep):
            break
    search = found(mill, "a1")
    assert near(mill, search) == {("pages", "b1")}
    stale = "its clusters are not of those of the rounds before; run dedupe/near-1/resolution again"
    assert f"dedupe near-1 (r00002): {stale}" in [each.what for each in search.unsearched]
    resolved(mill, "dedupe/near-1")
    assert near(mill, found(mill, "a1")) == {("pages", "b1"), ("pages", "c0")}


def test_of_an_erased_document_nobody_knows_what_was_near(tmp_path: Path) -> None:
    mill = made(tmp_path)
    search = Search()
    assert near_documents(mill.store, search, [("pages", "a9")]) == set()
    assert [each.what for each in search.unsearched] == [told("near 'a9' of 'pages'")]


def test_clusters_of_older_documents_name_no_document_of_today(tmp_path: Path) -> None:
    """A row more, in front: what was row 1 of the second snapshot, and is near, is row 2 now."""
    mill = made(tmp_path)
    put(mill, "2024-02", "b", "an innocent page", *OTHERS)
    mill.convert(snapshot="2024-02")
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a2")}
    changed = "near documents in sources/pages/v0/documents (2024-02)"
    assert changed in [each.what.partition(":")[0] for each in search.unsearched]
    resolved(mill, "dedupe/near-1/fingerprints/pages")
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a2")}
    assert [each.what.partition(":")[0] for each in search.unsearched] == [changed]
    assert near(mill, found(mill, "b0")) == set()
    resolved(mill, "dedupe/near-1")
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a2"), ("pages", "b2")}
    assert not search.unsearched


PAGES = {"a0": WORDS, "a1": [*WORDS, "again"], "a2": ["and", *WORDS], "a3": ["?!"], "a4": ["?!"]}


def revised(tmp_path: Path, *drops: str) -> Mill:
    """Five pages, of which each version drops those of one language; the dedupe compares the last version."""
    (tmp_path / "lake").mkdir()
    mill, catalogue, lang = Mill(tmp_path / "lake"), known(), field("metadata.lang")
    put_pages(mill)
    rules = {f"v{n}": Rule("other", f"lang = '{drop}'", "for another mix") for n, drop in enumerate(drops, start=1)}
    revisions = tuple(Revision(version=version, columns=(lang,), exclude=(rule,)) for version, rule in rules.items())
    pages = replace(catalogue.sources["pages"], revisions=revisions)
    near_1 = replace(catalogue.dedupes["near-1"], sources=(f"pages/v{len(drops)}",))
    resolved(mill, "dedupe/near-1", catalogue=replace(catalogue, sources={"pages": pages}, dedupes={"near-1": near_1}))
    return mill


def put_pages(mill: Mill, second: str = "fr") -> None:
    langs = {"a2": second}
    rows = [
        {"id": each, "text": " ".join(words), "source": "pages", "metadata": {"lang": langs.get(each, "en")}}
        for each, words in PAGES.items()
    ]
    mill.raw("a.jsonl.gz", rows)


def never(count: int) -> str:
    return (
        f"near documents in sources/pages/v0/documents (2024): {count} of its 5 documents were never compared, as they"
        " are now, with these; make a dedupe by MinHash that compares them, or name what is near there by --ids"
    )


@pytest.mark.parametrize("drops", [("fr",), ("de", "fr"), ("fr", "de")])
def test_what_a_later_version_drops_was_never_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], drops: tuple[str, ...]
) -> None:
    """A mix of the first version has `a2`, which is near `a0`."""
    mill = revised(tmp_path, *drops)
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a1")}
    assert [each.what for each in search.unsearched] == [never(1)]
    (tmp_path / "ids").write_text('{"source":"pages","id":"a0"}\n')
    words = ["takedown", str(mill.root), "--ids", str(tmp_path / "ids"), "--near", "--shelves", "gristmill,testshelf"]
    for way in ("--dry-run", "--prove"):
        assert main([*words, way]) == 1
        assert f"not searched: {never(1)}\n" in capsys.readouterr().out


def test_a_later_version_with_all_rows_stands_for_the_first_one(tmp_path: Path) -> None:
    """But not if the first one was made again since, though it has as many rows."""
    mill = revised(tmp_path, "de")
    search, store = found(mill, "a0"), CountedLedgers(mill.store)
    assert near_documents(store, search, {("pages", "a0")}) == {("pages", "a1"), ("pages", "a2")}
    assert not search.unsearched
    reads = [store.read_objects.count(mill.documents(version).ledger) for version in ("v0", "v1")]
    assert reads == [2, 3]  # what v1 was selected from, what was not compared; and as above
    put_pages(mill, "it")
    mill.convert()
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a1"), ("pages", "a2")}
    assert [each.what for each in search.unsearched] == [never(5)]


def test_what_a_later_version_has_edited_was_not_compared_as_it_is_in_the_first_one(tmp_path: Path) -> None:
    """Two of three pages lose white space in the version that the dedupe compares."""
    (tmp_path / "lake").mkdir()
    mill, catalogue, text = Mill(tmp_path / "lake"), known(), " ".join(WORDS)
    texts = (text, f"{text}\n\n\n\n\nagain   ", f"and   \n\n\n\n\n{text}")
    mill.raw("a.jsonl.gz", [{"id": f"a{n}", "text": each, "source": "pages"} for n, each in enumerate(texts)])
    pages = replace(catalogue.sources["pages"], revisions=(Revision(version="v1", transforms=("whitespace-1",)),))
    near_1 = replace(catalogue.dedupes["near-1"], sources=("pages/v1",))
    catalogue = replace(catalogue, transforms={"whitespace-1": WHITESPACE})
    resolved(mill, "dedupe/near-1", catalogue=replace(catalogue, sources={"pages": pages}, dedupes={"near-1": near_1}))
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a1"), ("pages", "a2")}
    assert [each.what for each in search.unsearched] == [never(2).replace("its 5", "its 3")]


def test_what_one_dedupe_lacks_another_may_have_compared(tmp_path: Path) -> None:
    mill = revised(tmp_path, "fr")
    near_2 = replace(known().dedupes["near-1"], name="near-2")
    resolved(mill, "dedupe/near-2", catalogue=replace(known(), dedupes={"near-2": near_2}))
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a1"), ("pages", "a2")}
    assert not search.unsearched
    search = found(mill, "a0", "a2")
    assert near(mill, search) == {("pages", "a1")}
    assert not search.unsearched


def test_a_document_without_a_signature_was_never_compared(tmp_path: Path) -> None:
    """`a4` has the text of `a3`."""
    mill = revised(tmp_path, "de")
    search = found(mill, "a0", "a3")
    assert near(mill, search) == {("pages", "a1"), ("pages", "a2")}
    assert [each.what for each in search.unsearched] == [told("near 'a3' of 'pages'")]


def test_a_refused_document_was_never_compared(tmp_path: Path) -> None:
    """Its place in the quarantine names the compared version too."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    rows = [{"id": "a0", "text": " ".join(WORDS), "source": "pages"}, {"id": "a1", "text": 7, "source": "pages"}]
    mill.raw("a.jsonl.gz", rows)
    resolved(mill, "dedupe/near-1")
    search = found(mill, "a1")
    assert {each.area for each in search.found} == {"quarantine"}
    assert near(mill, search) == set()
    assert [each.what for each in search.unsearched] == [told("near 'a1' of 'pages'")]
