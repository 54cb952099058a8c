"""Raw rows that a reader left out or refused, and that have the id of a document: found, or named as not searched."""

import gzip

import pytest
from testkit import SNAPSHOT, Mill, lines, own_shelf
from warcfile import http, page, record

from gristmill.__main__ import main
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep

CELLS = """
from gristmill.readers.delimited import DelimitedRows
from gristmill.recipes.source import Source

CELLS = Source(name="cells", convert=DelimitedRows(source="cells", id_key="id"), quarantine_limit=1.0)
"""
OWN = """
from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import LeftOut, Refused
from gristmill.recipes.source import Source


def read(raw):
    for line in b"".join(raw.plain_chunks()).decode().splitlines():
        if "secret" in line:
            yield LeftOut("secret")
        elif "long" in line:
            yield Refused("row too long", "", b"", 9)
        else:
            yield Document(id=line, text=line, source="cells")


CELLS = Source(name="cells", convert=read, quarantine_limit=1.0)
"""
SHELVES = ("own_sources",)
RAW = f"sources/cells/raw/{SNAPSHOT}/a.csv.gz"
KEPT, LEFT_OUT, RAGGED, LAST = b"c-1,one\n", b'c-3,"  "\n', b"c-4,four,4\n", b"c-9,see c-3\n"


def made(mill: Mill, monkeypatch: pytest.MonkeyPatch, recipe: str, data: bytes) -> Mill:
    own_shelf(mill, "sources", recipe)
    monkeypatch.syspath_prepend(str(mill.root.parent))
    mill.store.put(RAW, gzip.compress(data, mtime=0))
    mill.store.put("blocklists/takedowns.jsonl", b"")
    remade(mill)
    return mill


def remade(mill: Mill) -> None:
    mill.make(ConversionStep(find_recipe("sources", Source, SHELVES, "cells"), SNAPSHOT, SHELVES))


@pytest.fixture
def cells(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> Mill:
    """A table with a row that is kept, one without text, one of three fields, and one that names another's id."""
    return made(mill, monkeypatch, CELLS, b"id,text\n" + KEPT + LEFT_OUT + RAGGED + LAST)


def asked(mill: Mill, verb: str, name: str, *more: str) -> int:
    path = mill.root.parent / "asked.jsonl"
    path.write_bytes(lines([{"source": "cells", "id": name}]))
    return main([verb, str(mill.root), "--ids", str(path), "--shelves", SHELVES[0], *more])


def raw_line(mill: Mill, name: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    asked(mill, "takedown", name)
    capsys.readouterr()
    asked(mill, "takedown", name, "--prove", *more)
    return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("raw: "))


def test_a_row_that_was_left_out_is_found_and_cut(cells: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    cells.store.put("blocklists/takedowns.jsonl", lines([{"source": "cells", "id": "c-3", "reason": "asked"}]))
    assert raw_line(cells, "c-3", capsys).startswith(f"raw: remains: {RAW}: unpacked object 16-24 (empty text)")
    assert asked(cells, "erase", "c-3") == 0
    assert gzip.decompress(cells.store.read(RAW)) == b"id,text\n" + KEPT + RAGGED + LAST
    remade(cells)
    assert raw_line(cells, "c-3", capsys).startswith("raw: absent: ")


def test_a_row_of_another_id_that_was_left_out_stays(cells: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(cells, "erase", "c-1") == 0
    assert gzip.decompress(cells.store.read(RAW)) == b"id,text\n" + LEFT_OUT + RAGGED + LAST
    remade(cells)
    assert raw_line(cells, "c-1", capsys).startswith("raw: absent: ")


def test_a_refused_row_of_a_table_is_found(cells: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(cells, "erase", "c-4") == 1
    assert "not erased: sources/cells/v0/quarantine/2024/a.csv.gz.jsonl.gz: row 0 (a.csv.gz" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (b"secret", f"not searched: {RAW}: records of it were left out, and nobody knows their ids (secret: 1)"),
        (b"long", "the quarantine has no byte of it"),
    ],
)
def test_what_nobody_knows_the_id_of_is_not_searched(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], row: bytes, words: str
) -> None:
    made(mill, monkeypatch, OWN, b"c-1\nc-2\n" + row)
    assert asked(mill, "erase", "c-2", "--dry-run") == 1
    assert words in capsys.readouterr().out
    mill.store.put("blocklists/takedowns.jsonl", lines([{"source": "cells", "id": "c-7", "reason": "asked"}]))
    asked(mill, "takedown", "c-7", "--prove")
    proof = capsys.readouterr().out
    assert words in proof
    assert "not proven" in proof


def test_an_object_with_records_that_were_left_out_is_excluded_by_name(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made(mill, monkeypatch, OWN, b"c-1\nc-2\nsecret")
    mill.store.put("blocklists/takedowns.jsonl", lines([{"source": "cells", "id": "c-7", "reason": "asked"}]))
    line = raw_line(mill, "c-7", capsys, "--exclude", RAW)
    assert line.startswith("raw: absent: ")
    assert f"not searched: {RAW}, excluded by name" in line


def test_what_remains_beside_records_that_nobody_knows_is_not_proven(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made(mill, monkeypatch, OWN, b"c-1\nc-2\nsecret")
    asked(mill, "takedown", "c-2")
    capsys.readouterr()
    assert asked(mill, "takedown", "c-2", "--prove") == 1
    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("raw: ")]
    assert line.startswith(f"raw: not proven: {RAW} (")
    assert f"; a takedown leaves these; not searched: {RAW}: records of it were left out" in line
    assert asked(mill, "takedown", "c-2", "--prove", "--exclude", RAW) == 0
    assert "not proven" not in capsys.readouterr().out


READS = """
from gristmill.readers.{module} import {reader}
from gristmill.recipes.source import Source

CELLS = Source(name="cells", convert={reader}(source="cells"))
"""
PAGE = (
    "<page><title>{0}</title><ns>{1}</ns><id>{2}</id><revision><id>{2}</id><text>words of {0}</text></revision></page>"
)
DUMP = [PAGE.format("Rye", 0, 1), PAGE.format("Talk:Rye", 1, 2), PAGE.format("Oats", 0, 3)]


@pytest.mark.parametrize("name", ["web", "wiki"])
def test_a_document_beside_pages_that_were_left_out_is_erased_and_that_is_proven(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A crawl has requests and pages without text, a dump has discussions: each with an id of its own."""
    pages = [page(1), record("request", b"GET / HTTP/1.1", 2), record("response", http(b"  "), 3), page(4)]
    data, first, recipe = {
        "web": (b"".join(pages), "<urn:uuid:1>", ("web.pages", "WarcPages")),
        "wiki": (f"<mediawiki>{''.join(DUMP)}</mediawiki>".encode(), "1", ("wiki.pages", "MediaWikiPages")),
    }[name]
    made(mill, monkeypatch, READS.format(module=recipe[0], reader=recipe[1]), data)
    assert asked(mill, "erase", first) == 0
    left = gzip.decompress(mill.store.read(RAW))
    cut = pages[0] if name == "web" else DUMP[0].encode()
    assert (len(left), left.find(cut)) == (len(data) - len(cut), -1)
    remade(mill)
    assert asked(mill, "takedown", first, "--prove") == 0
    assert asked(mill, "erase", first) == 0
