"""What a proof does not read: files that are not of the lake, strays in its places, and what is not finished."""

import gzip
import json
import os
import shutil

import pytest
from testkit import Mill, make_documents, own_shelf

from gristmill.__main__ import main
from gristmill.lake.ledger.derived import columns_path
from gristmill.lake.ledger.files import read_ledger
from gristmill.scores.document_columns import make_document_columns
from gristmill.takedowns.accounted import find_unread_objects
from gristmill.takedowns.foreign import search_foreign, why_not_in_rows
from gristmill.takedowns.raw_objects import CHANGED, NEVER_READ
from gristmill.takedowns.wanted import Wanted

LIST = "blocklists/takedowns.jsonl"
ROW = b'{"source":"pages","id":"doc-00003"}\n'


@pytest.fixture
def mill(mill: Mill) -> Mill:
    mill.store.put(LIST, ROW.replace(b"}", b',"reason":"x"}'))
    return mill


def proven(mill: Mill, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, str]]:
    """The exit code, and the lines that are about what was not read."""
    asked = mill.root.parent / "asked.jsonl"
    asked.write_bytes(ROW)
    code = main(
        [
            "takedown",
            str(mill.root),
            "--prove",
            "--json",
            "--ids",
            str(asked),
            "--shelves",
            "gristmill,testshelf",
            *words,
        ]
    )
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    return code, {each["what"]: f"{each['state']}: {each['why']}" for each in lines}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("sources/pages/v0/documents/2024/b.jsonl.gz", "no ledger names it"),
        ("sources/pages/v0/documents/2023/a.jsonl.gz", "no ledger names it"),
        ("sources/pages/v0/quarantine/2024/a.jsonl.gz", "no ledger names it"),
        ("sources/pages/v0/ledgers/documents/2024.receipts/b.json", "a run is at work there, or was killed"),
        ("sources/pages/v0/ledgers/documents/2024.columns/b.parquet", "no ledger names it"),
        ("mixes/even/ledgers/pages/2024.receipts/.items-x.gz", "a run is at work there, or was killed"),
        ("dedupe/d-1/clusters/1/part-00000-0a/clusters.parquet", "no ledger names it"),
        ("labels/quiz/old.csv", "its index does not name it"),
        (".incoming/77-0", "a file that is not finished"),
    ],
)
def test_a_stray_in_a_place_of_the_lake_is_not_searched(
    mill: Mill, capsys: pytest.CaptureFixture[str], path: str, why: str
) -> None:
    assert proven(mill, capsys)[0] == 0
    file = mill.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(ROW)
    code, lines = proven(mill, capsys, "--scan", "--exclude", path)
    assert (code, lines["foreign files"]) == (1, "absent: the lake has none")
    assert lines["strays"].startswith(f"not proven: not searched: {file.relative_to(mill.root)}: {why}") or (
        lines["strays"].startswith(f"not proven: not searched: {os.path.dirname(path)}/: no ledger")  # noqa: PTH120
    )


def test_a_foreign_file_is_read_or_excluded_by_name(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.store.put("copies/of/pages.jsonl.gz", gzip.compress(b'{"source":"pages","id":"doc-00009"}\n' + ROW, mtime=0))
    mill.store.put("sources/pages/v0/notes.txt", b"a note of somebody")
    code, lines = proven(mill, capsys)
    assert code == 1
    assert lines["foreign files"].startswith(
        "not proven: not searched: copies/of/pages.jsonl.gz: not a file of the lake"
    )
    code, lines = proven(mill, capsys, "--scan", "--exclude", "sources/pages/v0/notes.txt")
    assert (code, lines["foreign files"].partition(";")[0]) == (1, "found: copies/of/pages.jsonl.gz: row 1")
    mill.store.put("copies/of/pages.jsonl.gz", gzip.compress(b'{"source":"pages","id":"doc-00009"}\n', mtime=0))
    code, lines = proven(mill, capsys, "--scan")
    assert code == 1
    assert "notes.txt: its rows are no JSON objects with an id" in lines["foreign files"]
    code, lines = proven(mill, capsys, "--scan", "--exclude", "sources/pages/v0/notes.txt")
    read = "1 files have no row with these ids; not read, but excluded by name: sources/pages/v0/notes.txt"
    assert (code, lines["foreign files"]) == (0, f"absent: {read}")
    code, lines = proven(mill, capsys, "--exclude", "copies/", "--exclude", "sources/pages/v0/notes.txt")
    assert code == 0
    assert lines["foreign files"].endswith("excluded by name: copies/of/pages.jsonl.gz; sources/pages/v0/notes.txt")


def test_a_name_is_a_whole_file_or_folder(mill: Mill) -> None:
    mill.store.put("copies/a.jsonl", ROW.replace(b'"source":"pages",', b""))
    wanted = Wanted({("pages", "doc-00003"): ""})
    files = search_foreign(mill.store, {"copies/a.jsonl": "why"}, wanted, scan=True, exclude=["cop", "copies/a"])
    assert (files.found, files.excluded) == (["copies/a.jsonl: row 0"], [])


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (b'{"id":"tree-1","source":"pages","turns":[{"id":"doc-00003"}]}', True),
        (b'{"id":"doc-00003","source":"pages","id":"tree-1"}', True),
        (b'{"id":"doc-00003","source":"pages","source":"others"}', True),
        (b'{"id":"doc-00003","source":""}', True),
        (b'{"id":"tree-1","of":"doc\\u002d00003"}', True),
        (b'{"id":"tree-1","row":"{\\"id\\":\\"doc-00003\\"}"}', True),
        (b'{"id":"tree-1","row":"5\\" {\\"id\\":\\"doc-00003\\"}"}', True),
        (b'{"id":"tree-1","rows":["[{\\"row\\":\\"{\\\\\\"id\\\\\\":\\\\\\"doc-00003\\\\\\"}\\"}]"]}', True),
        (b'{"id":"doc-00003","source":"others","row":"{\\"id\\":\\"doc-00003\\"}"}', True),
        (b'{"id":"tree-1","row":"{\\"id\\":\\"doc-00004\\"}"}', False),
        (b'{"id":"tree-1","text":"see doc-00003"}', False),
        (b'{"id":"doc-00003","source":"others"}', False),
        (b'{"id":"tree-1","source":"pages","turns":[{"id":"doc-00004"}]}', False),
    ],
)
def test_an_id_anywhere_in_a_row_is_found(
    mill: Mill, capsys: pytest.CaptureFixture[str], row: bytes, *, found: bool
) -> None:
    mill.store.put("blocklists/trees.txt", row + b"\n")
    mill.store.put("labels/quiz/trees.jsonl", row + b"\n")
    code, lines = proven(mill, capsys, "--scan")
    assert (code, lines["foreign files"].partition(":")[0]) == ((1, "found") if found else (0, "absent"))
    assert lines["excerpts and labels"].partition(":")[0] == ("remains" if found else "absent")


UNUSED = (
    "sources/pages/raw/2024/.backup/old.jsonl",
    "sources/pages/raw/2024/a.jsonl.gz.bak",
    "sources/pages/raw/2025/a.jsonl",
    "sources/pages/raw/a.jsonl.gz",
    "sources/others/raw/2024/a.jsonl",
)


@pytest.mark.parametrize("path", UNUSED)
def test_raw_objects_that_no_document_was_made_from_are_not_proven(
    mill: Mill, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    raw = ROW.replace(b'"source":"pages","id"', b'"id":"else","uuid"')  # the converter may take any field
    packed = gzip.compress if path.endswith(".gz") else bytes
    mill.store.put(path, packed(raw))
    left = find_unread_objects(mill.store, ())
    assert (list(left.raw), left.old, left.strays, left.foreign) == ([path], {}, {}, [])
    code, lines = proven(mill, capsys)
    assert code == 1
    assert lines["raw"].startswith(f"not proven: not searched: {path}: {left.raw[path]}")
    code, lines = proven(mill, capsys, "--scan")
    assert code == 1
    assert lines["raw"].startswith(f"found: {path}: row 0; ")
    mill.store.delete([path])
    erased(mill)
    mill.store.put(path, packed(b"checksums"))
    assert proven(mill, capsys, "--scan")[1]["raw"].startswith(f"not proven: not searched: {path}: its rows are no")
    code, lines = proven(mill, capsys, "--exclude", path)
    assert (code, lines["raw"].partition("; data outside")[0]) == (
        0,
        f"absent: no row of 1 partitions of documents was made of them; not searched: {path}, excluded by name",
    )
    mill.store.put(path, packed(b'{"id":"doc-00009","source":"pages"}\n'))
    code, lines = proven(mill, capsys, "--scan")
    assert (code, lines["raw"].partition("; not searched")[0]) == (
        0,
        "absent: no row of 1 partitions of documents was made of them, and 1 other objects have no row with these ids",
    )


@pytest.mark.parametrize("name", ["2024/.hidden.jsonl", "2024/data.csv", "loose.jsonl"])
def test_raw_objects_that_make_never_reads_are_not_to_be_made(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    own_shelf(mill, "sources", PICKY)
    monkeypatch.syspath_prepend(str(mill.root.parent))
    shelf = ("--shelves", "gristmill,own_sources")
    never, due = f"sources/pages/raw/{name}", "sources/pages/raw/2024/b.jsonl"
    mill.store.put(never, b"x")
    said = f"not proven: not searched: {never}: {NEVER_READ}; look there, and remove them; --scan reads"
    assert proven(mill, capsys, *shelf)[1]["raw"].startswith(said)
    mill.store.put(due, b"x")
    assert "make those that a recipe takes (gristmill make), or remove them" in proven(mill, capsys, *shelf)[1]["raw"]


def erased(mill: Mill) -> None:
    """The raw data without the document, and the documents made of them."""
    mill.raw("a.jsonl.gz", make_documents(3))
    mill.convert()


def test_a_raw_object_that_was_put_back_is_not_proven(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    path = "sources/pages/raw/2024/a.jsonl.gz"
    old = mill.store.read(path)
    erased(mill)
    new = mill.store.read(path)
    assert proven(mill, capsys)[0] == 0
    mill.store.put(path, old)
    code, lines = proven(mill, capsys)
    assert (code, lines["raw"].partition(";")[0]) == (1, f"not proven: not searched: {path}: {CHANGED}")
    code, lines = proven(mill, capsys, "--scan")
    assert (code, lines["raw"].partition(";")[0]) == (1, f"found: {path}: row 3")
    mill.store.put(path, new)  # another file with the same bytes
    code, lines = proven(mill, capsys)
    assert (code, lines["raw"].partition(":")[0]) == (0, "absent")


def test_raw_data_that_cannot_be_listed_are_not_proven(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    erased(mill)
    (mill.root / "sources/pages/raw/2023").symlink_to(mill.root.parent / "unmounted")
    code, lines = proven(mill, capsys, "--exclude", "nothing")
    assert (code, lines["raw"].partition(": the target")[0]) == (1, "not proven: not searched: sources/pages/raw/2023")


def test_raw_data_outside_of_the_lake_are_said_to_be_there(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    erased(mill)
    shutil.move(mill.root / "sources/pages/raw", mill.root.parent / "elsewhere")
    code, lines = proven(mill, capsys)
    said = "not searched: sources/pages/raw, which is outside of the lake or gone; data outside of the lake"
    assert (code, said in lines["raw"], lines["raw"].partition(":")[0]) == (0, True, "absent")


def test_columns_of_an_earlier_shard_are_searched(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    there = mill.documents()
    path = columns_path(there, "a")
    [shard] = read_ledger(mill.store, there)[1]
    make_document_columns(mill.store, there, shard, ())
    old = mill.store.read(path)
    erased(mill)
    [shard] = read_ledger(mill.store, there)[1]
    make_document_columns(mill.store, there, shard, ())
    assert proven(mill, capsys)[1]["versions and sets"].partition(":")[0] == "absent"
    mill.store.put(path, old)
    assert proven(mill, capsys)[1]["versions and sets"] == f"remains: {path}; a takedown leaves these"
    mill.store.put(path, ROW)
    code, lines = proven(mill, capsys)
    said = f"not proven: {path}: is damaged ("
    assert (code, lines["versions and sets"].startswith(said)) == (1, True)


def test_a_shard_that_was_put_back_is_not_searched(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    path = mill.documents().shard("a")
    old = mill.store.read(path)
    erased(mill)
    new = mill.store.read(path)
    mill.store.put(path, old)
    code, lines = proven(mill, capsys)
    said = f"not proven: not searched: {path}: it is not the object that its ledger names"
    assert (code, lines["strays"].partition(",")[0]) == (1, said)
    mill.store.put(path, new)  # another file with the same bytes
    assert proven(mill, capsys)[0] == 0


READERS = {
    "fields": 'JsonLines(source="fields", id_template="{number}-{key}")',
    "rows": 'JsonLines(source="rows", id_key=None)',
    "keys": 'JsonLines(source="keys", id_key="key")',
    "code": "lambda raw: iter(())",
}
PICKY = """
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Source

PAGES = Source(name="pages", convert=DolmaLines("pages"), select=r"[.]jsonl([.]gz)?$")
"""

RECIPE = """
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.source import Source

RECIPE = Source(name="{}", convert={})
"""


def test_rows_need_not_have_the_ids_that_a_reader_makes(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, reader in READERS.items():
        own_shelf(mill, "sources", RECIPE.format(name, reader))
        recipe = mill.root.parent / "own_sources" / "sources" / "recipe.py"
        recipe.rename(recipe.with_stem(name))
    monkeypatch.syspath_prepend(str(mill.root.parent))

    def why(source: str, id_: str) -> str:
        shelves, assets = ("testshelf", "own_sources"), {"sources/old/v0/documents"}
        return why_not_in_rows(Wanted({(source, id_): ""}), shelves, assets).partition(",")[0]

    makes = "the reader of source {!r} makes its ids"
    assert why("fields", "7-k7") == makes.format("fields")
    assert why("rows", "2024/a.jsonl.gz:7") == makes.format("rows")
    assert why("code", "7") == makes.format("code")
    assert why("keys", "7") == makes.format("keys")  # it may stand there as a number
    assert why("old", "k7") == "no recipe of --shelves reads source 'old'"
    assert why("keys", "k7") == why("pages", "7") == why("never-heard-of", "7") == ""


def test_a_file_that_may_have_the_document_under_another_id_is_not_read(mill: Mill) -> None:
    mill.store.put("copy.jsonl", b'{"id":"7","text":"its words"}\n')
    wanted = Wanted({("pages", "doc-00003"): ""})
    found = search_foreign(mill.store, {"copy.jsonl": ""}, wanted, scan=True, made_ids="ids are made")
    assert (found.read, found.unread) == ([], {"copy.jsonl": "ids are made"})
    assert search_foreign(mill.store, {"copy.jsonl": ""}, wanted, scan=True).read == ["copy.jsonl"]


def test_a_row_that_has_the_id_of_one_document_and_names_another_is_found(mill: Mill) -> None:
    mill.store.put("threads.jsonl", b'{"id":"doc-5","source":"elsewhere","turns":[{"id":"doc-4"}]}\n')
    wanted = Wanted({("pages", "doc-4"): "", ("pages", "doc-5"): ""})
    assert search_foreign(mill.store, {"threads.jsonl": ""}, wanted, scan=True).found == ["threads.jsonl: row 0"]
