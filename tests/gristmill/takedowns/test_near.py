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


def found(mill: Mill, *ids: str) -> Search:
    return Finder(mill.store, Wanted({("pages", each): "" for each in ids}), Shelves(("testshelf",), {})).run()


def test_the_cluster_of_a_document_is_near_it(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    near = " ".join([*WORDS, "again"])
    put(mill, "2024-01", "a", " ".join(WORDS), "nothing of this is said anywhere else at all", near)
    put(mill, "2024-02", "b", "quite other words are written on this page", " ".join(["and", *WORDS]))
    search = found(mill, "a0")
    assert near_documents(mill.store, search) == set()
    assert search.unsearched[0].what.startswith("near documents: the lake has no clusters")
    resolved(mill, "dedupe/near-1")
    search = found(mill, "a0")
    assert near_documents(mill.store, search) == {("pages", "a2"), ("pages", "b1")}
    assert not search.unsearched
    assert {each.area for each in search.found} == {"documents", "raw", "dedupe"}
    assert near_documents(mill.store, found(mill, "a1")) == set()
    put(mill, "2024-03", "c", " ".join(WORDS))
    mill.convert(snapshot="2024-03")
    search = found(mill, "c0")
    assert near_documents(mill.store, search) == set()
    assert [each.what for each in search.unsearched] == ["near 'c0' of 'pages': the dedupe near-1 has not compared it"]
