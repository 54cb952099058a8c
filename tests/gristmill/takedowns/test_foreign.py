"""What a proof does not read: files that are not of the lake, strays in its places, and what is not finished."""

import gzip
import json
import os
from pathlib import Path

import pytest
from testkit import SNAPSHOT, Mill, make_documents

from gristmill.__main__ import main
from gristmill.takedowns.accounted import unread
from gristmill.takedowns.foreign import search_foreign
from gristmill.takedowns.wanted import Wanted

LIST = "blocklists/takedowns.jsonl"
ROW = b'{"source":"pages","id":"doc-00003"}\n'


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", make_documents(10))
    mill.convert()
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
    files = search_foreign(mill.store, ["copies/a.jsonl"], wanted, scan=True, exclude=["cop", "copies/a"])
    assert (files.found, files.excluded) == (["copies/a.jsonl: row 0"], [])


def test_raw_objects_that_no_document_was_made_from_are_named(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.store.put("sources/pages/raw/2024/.backup/old.jsonl", ROW)
    mill.store.put("sources/pages/raw/2025/a.jsonl", ROW)
    left = unread(mill.store)
    assert left.raw == ["sources/pages/raw/2024/.backup/old.jsonl", "sources/pages/raw/2025/a.jsonl"]
    assert (left.old, left.strays, left.foreign) == ({}, {}, [])
    mill.raw("a.jsonl.gz", make_documents(3))
    mill.convert()
    words = (
        f"no row of 1 partitions of documents was made of them; not searched: {'; '.join(left.raw)}, which no document"
    )
    assert proven(mill, capsys)[1]["raw"].startswith(f"absent: {words}")
    assert mill.documents().snapshot == SNAPSHOT
