"""Documents chosen by URL and by content: through columns and fingerprints, by a scan, and where neither is allowed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import xxhash
from dedupelake import resolved
from streams import stream
from testkit import SHELVES, SNAPSHOT, Mill, own_shelf

from gristmill.errors import RecipeError
from gristmill.lake.address import Place
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Revision
from gristmill.scores import document_columns
from gristmill.scores.document_columns import make_document_columns
from gristmill.stages.mixing.step import revision_step, stream_step
from gristmill.takedowns.chosen import find_documents_by_digest, find_documents_by_url
from gristmill.takedowns.places import Search

URLS = {"a0": "https://a.example/1", "a1": "https://a.example/2?x=*", "a2": "http://b.example/a.example/", "a3": None}


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", [_row(name, url, f"text {name}") for name, url in URLS.items()])
    return mill


def _row(name: str, url: object, text: str) -> dict[str, object]:
    return {"id": name, "text": text, "source": "pages", "metadata": {"url": url, "language": "en"}}


def put_columns(mill: Mill) -> None:
    shard = mill.table(mill.documents())["a"]
    make_document_columns(mill.store, mill.documents(), shard, ())


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("https://a.example/*", {"a0", "a1"}),
        ("*a.example*", {"a0", "a1", "a2"}),
        ("https://a.example/2?x=*", {"a1"}),
        ("https://a.example", set()),
        ("https://a.exampl./1", set()),
    ],
)
def test_urls_are_found_by_columns_and_by_a_scan(mill: Mill, pattern: str, expected: set[str]) -> None:
    mill.convert()
    search = Search()
    assert find_documents_by_url(mill.store, pattern, search, scan=False) == set()
    [skipped] = search.unsearched
    assert skipped.what.startswith("sources/pages/v0/documents (2024), shard a: it has no columns with its URLs")
    found = {("pages", each) for each in expected}
    search = Search()
    assert find_documents_by_url(mill.store, pattern, search, scan=True) == found
    assert not search.unsearched
    put_columns(mill)
    search = Search()
    assert find_documents_by_url(mill.store, pattern, search, scan=False) == found
    assert not search.unsearched
    mill.raw("a.jsonl.gz", [_row("a0", "https://a.example/1", "another text")])
    mill.convert()
    find_documents_by_url(mill.store, pattern, search := Search(), scan=False)
    assert len(search.unsearched) == 1


@pytest.mark.parametrize(
    ("odd", "unread"),
    [(7, 0), (True, 0), ([], 0), ([None, 7], 0), ([["https://a.example/3"]], 1), ({"at": "https://a.example/3"}, 1)],
)
@pytest.mark.parametrize("scan", [False, True])
def test_an_odd_url_hides_no_other_and_is_told_if_it_may_hold_urls(
    mill: Mill, odd: object, unread: int, *, scan: bool
) -> None:
    mill.raw("a.jsonl.gz", [_row("a0", "https://a.example/1", "x"), _row("odd", odd, "y"), _row("a1", None, "z")])
    mill.convert()
    if not scan:
        put_columns(mill)
    found = find_documents_by_url(mill.store, "https://a.example/*", search := Search(), scan=scan)
    assert found == {("pages", "a0")}
    told = (
        "shard a: documents with a `metadata.url` that is neither a text nor a list of texts, but may hold URLs: 1;"
        " choose them by ID"
    )
    assert [each.what for each in search.unsearched] == [f"sources/pages/v0/documents (2024), {told}"] * unread


@pytest.mark.parametrize("scan", [False, True])
def test_each_text_of_a_list_is_a_url(mill: Mill, *, scan: bool) -> None:
    lists = {"both": ["https://b.example/1", "https://a.example/1"], "other": ["https://b.example/2"], "none": []}
    rows = [_row(id_, urls, id_) for id_, urls in lists.items()]
    mill.raw("a.jsonl.gz", [_row("one", "https://a.example/2", "x"), *rows])
    mill.convert()
    if not scan:
        put_columns(mill)
    assert find_documents_by_url(mill.store, "https://a.example/*", search := Search(), scan=scan) == {
        ("pages", "one"), ("pages", "both")
    }  # fmt: skip
    assert not search.unsearched


def test_columns_of_the_older_format_are_not_trusted_for_urls(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    mill.convert()
    with monkeypatch.context() as older:
        older.setattr(document_columns, "DOCUMENT_FORMAT", 1)
        put_columns(mill)
    search = Search()
    assert not find_documents_by_url(mill.store, "*", search, scan=False)
    [skipped] = search.unsearched
    assert "it has no columns with its URLs" in skipped.what
    search = Search()
    assert len(find_documents_by_url(mill.store, "*", search, scan=True)) == 3
    assert not search.unsearched


def test_texts_are_found_by_fingerprints_and_by_a_scan(mill: Mill) -> None:
    mill.raw("b.jsonl.gz", [_row("b0", None, "text a2"), _row("b1", None, "other"), _row("b2", None, "")])
    mill.convert()
    digest = xxhash.xxh3_128_hexdigest(b"text a2")
    found = {("pages", "a2"), ("pages", "b0")}
    assert find_documents_by_digest(mill.store, digest, search := Search(), scan=False) == set()
    assert len(search.unsearched) == 2
    assert find_documents_by_digest(mill.store, digest, search := Search(), scan=True) == found
    assert not search.unsearched
    resolved(mill, "dedupe/texts-1")
    assert find_documents_by_digest(mill.store, digest, search := Search(), scan=False) == found
    assert find_documents_by_digest(mill.store, "0" * 32, search, scan=False) == set()
    assert not search.unsearched


def test_an_empty_text_is_found_by_a_scan_alone_because_no_fingerprint_has_it(mill: Mill) -> None:
    mill.raw("b.jsonl.gz", [_row("b0", None, ""), _row("b1", None, "other")])
    mill.convert()
    resolved(mill, "dedupe/texts-1")
    empty = xxhash.xxh3_128_hexdigest(b"")
    assert find_documents_by_digest(mill.store, empty, search := Search(), scan=False) == set()
    assert [each.what.partition("shard ")[2] for each in search.unsearched] == [
        f"{shard}: no dedupe has empty texts; --scan reads its rows" for shard in "ab"
    ]
    assert find_documents_by_digest(mill.store, empty, search := Search(), scan=True) == {("pages", "b0")}
    assert not search.unsearched


def test_columns_of_a_later_version_alone_find_urls(mill: Mill) -> None:
    mill.convert()
    mill.tag("words-1", "characters-1")
    mill.revise()
    later = mill.documents("v1")
    make_document_columns(mill.store, later, mill.table(later)["a"], ())
    kept = {row["id"] for row in mill.rows(later.shard("a"))}
    assert kept == {"a0", "a1", "a2", "a3"}
    found = find_documents_by_url(mill.store, "https://a.example/*", search := Search(), scan=False)
    assert found == {("pages", "a0"), ("pages", "a1")}
    [skipped] = search.unsearched
    assert skipped.what.startswith("sources/pages/v0/documents (2024), shard a: it has no columns")


LOWER = """from msgspec.structs import replace
from gristmill.recipes.edits.transform import Transform

def lower(row):
    return replace(row, text=row.text.lower(), metadata={**row.metadata, "url": row.metadata["url"].lower()})

LOWER = Transform(name="lower-1", document=lower)
"""
BY_URL = find_documents_by_url, "https://a.example/*"
BY_TEXT = find_documents_by_digest, xxhash.xxh3_128_hexdigest(b"one word")
Chosen = tuple[Callable[..., set[tuple[str, str]]], str]


@pytest.fixture
def make(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Place]:
    """Makes a version or a slice of two documents: `lower-1` alone gives a0 the URL and the text that are asked for."""
    monkeypatch.syspath_prepend(str(mill.root.parent))
    own_shelf(mill, "transforms", LOWER)
    shelves = (*SHELVES, "own_transforms")
    mill.raw("a.jsonl.gz", [_row("a0", "HTTPS://A.example/1", "ONE WORD"), _row("a1", "https://b.example/", "two")])
    mill.convert()
    mill.tag("words-1")

    def made(version: str, options: dict[str, Any]) -> Place:
        if version == "v1":
            pages = replace(mill.source(), revisions=(Revision(version="v1", **options),))
            mill.make(revision_step(pages, "v1", SNAPSHOT, shelves))
            return mill.documents("v1")
        mill.make(stream_step(Mix(name="blend", streams=(stream(**options),)), "pages", SNAPSHOT, shelves))
        return mill.stream()

    return made


def not_searched(mill: Mill, asked: Chosen) -> list[str]:
    """What is not searched without a scan, but for v0, which has neither columns nor fingerprints."""
    asked[0](mill.store, asked[1], search := Search(), scan=False)
    told = [each.what for each in search.unsearched]
    [first] = [each for each in told if each.startswith("sources/pages/v0/documents (2024), shard a: ")]
    return [each for each in told if each != first]


@pytest.mark.parametrize(
    ("version", "asked", "told"),
    [
        ("v1", BY_URL, "it has no columns with its URLs (gristmill preview makes them)"),
        ("v1", BY_TEXT, "no dedupe has its whole texts"),
        ("mix", BY_URL, "its stream has transforms"),
        ("mix", BY_TEXT, "its stream has transforms"),
    ],
)
def test_what_transforms_made_is_found_by_a_scan_or_told(
    mill: Mill, make: Callable[..., Place], version: str, asked: Chosen, told: str
) -> None:
    made = make(version, {"transforms": ("lower-1",)})
    assert not_searched(mill, asked) == [f"{made.asset} (2024), shard a: {told}; --scan reads its rows"]
    assert asked[0](mill.store, asked[1], search := Search(), scan=True) == {("pages", "a0")}
    assert not search.unsearched


@pytest.mark.parametrize("version", ["v1", "mix"])
def test_texts_that_edits_made_are_found_by_a_scan_or_told(
    mill: Mill, make: Callable[..., Place], version: str
) -> None:
    made = make(version, {"edits": (Edit(spans="words-1__first", replacement="1"),)})
    assert not_searched(mill, BY_URL) == []
    [told] = not_searched(mill, BY_TEXT)
    assert told.startswith(f"{made.asset} (2024), shard a: ")
    changed = xxhash.xxh3_128_hexdigest(b"1 WORD")
    assert find_documents_by_digest(mill.store, changed, search := Search(), scan=True) == {("pages", "a0")}
    assert not search.unsearched


@pytest.mark.parametrize("version", ["v1", "mix"])
@pytest.mark.parametrize("options", [{}, {"discard": ("metadata.language",)}, {"merge": ("words-1",), "origin": True}])
@pytest.mark.parametrize("asked", [BY_URL, BY_TEXT])
def test_copies_need_no_search(
    mill: Mill, make: Callable[..., Place], version: str, options: dict[str, Any], asked: Chosen
) -> None:
    made = make(version, options)
    assert not_searched(mill, asked) == []
    mill.store.delete([made.shard("a")])
    assert asked[0](mill.store, asked[1], search := Search(), scan=True) == set()
    assert not search.unsearched


def test_columns_of_a_version_tell_of_urls_that_transforms_made(mill: Mill, make: Callable[..., Place]) -> None:
    made = make("v1", {"transforms": ("lower-1",)})
    put_columns(mill)
    make_document_columns(mill.store, made, mill.table(made)["a"], ())
    assert find_documents_by_url(mill.store, BY_URL[1], search := Search(), scan=False) == {("pages", "a0")}
    assert not search.unsearched


@pytest.mark.parametrize("version", ["v1", "mix"])
def test_urls_that_transforms_made_unreadable_are_told(mill: Mill, make: Callable[..., Place], version: str) -> None:
    own_shelf(mill, "transforms", LOWER.replace('row.metadata["url"].lower()', '{"at": row.metadata["url"]}'))
    made = make(version, {"transforms": ("lower-1",)})
    found = find_documents_by_url(mill.store, BY_URL[1], search := Search(), scan=True)
    assert not found
    [told] = search.unsearched
    assert told.what.startswith(f"{made.asset} (2024), shard a: documents with a `metadata.url` that is neither")
    assert told.what.endswith(": 2; choose them by ID")
    assert told.area == ("documents" if version == "v1" else "mixes")


@pytest.mark.parametrize("digest", ["", "0" * 31, "G" * 32, "0" * 64])
def test_what_is_no_digest_is_refused(mill: Mill, digest: str) -> None:
    with pytest.raises(RecipeError, match="32 digits"):
        find_documents_by_digest(mill.store, digest, Search(), scan=True)


def test_a_shard_that_cannot_be_read_was_not_searched(mill: Mill) -> None:
    mill.convert()
    mill.store.delete([mill.documents().shard("a")])
    find_documents_by_url(mill.store, "*", search := Search(), scan=True)
    assert [each.area for each in search.unsearched] == ["documents"]
    assert SNAPSHOT in search.unsearched[0].what
