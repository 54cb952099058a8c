"""Near duplicates of wanted documents, through the clusters of a dedupe by MinHash."""

from pathlib import Path

from dedupelake import put, resolved
from testkit import Mill

from gristmill.takedowns.finder import Finder
from gristmill.takedowns.near import near_documents
from gristmill.takedowns.places import Search
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import Shelves

WORDS = "the mill stands at the river and grinds the corn of the whole valley every day".split()  # noqa: SIM905 - words read best in a row
OTHERS = ("quite other words are written on this page", " ".join(["and", *WORDS]))


def found(mill: Mill, *ids: str) -> Search:
    return Finder(mill.store, Wanted({("pages", each): "" for each in ids}), Shelves(("testshelf",), {})).run()


def near(mill: Mill, search: Search) -> set[tuple[str, str]]:
    return near_documents(mill.store, search, {each.pair for each in search.found})


def told(what: str) -> str:
    return f"{what}: no dedupe by MinHash has compared it as it is now; name what is near it by --ids"


def made(tmp_path: Path) -> Mill:
    """Row 0 of the first snapshot is near its row 2, and near row 1 of the second snapshot."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    again = " ".join([*WORDS, "again"])
    put(mill, "2024-01", "a", " ".join(WORDS), "nothing of this is said anywhere else at all", again)
    put(mill, "2024-02", "b", *OTHERS)
    resolved(mill, "dedupe/near-1")
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


def test_what_was_not_compared_with_a_document_is_not_searched(tmp_path: Path) -> None:
    mill = made(tmp_path)
    put(mill, "2024-03", "c", " ".join(WORDS))
    mill.convert(snapshot="2024-03")
    search = found(mill, "a0")
    assert near(mill, search) == {("pages", "a2"), ("pages", "b1")}
    assert [each.what.partition(":")[0] for each in search.unsearched] == [
        "near documents in sources/pages/v0/documents (2024-03)"
    ]


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
