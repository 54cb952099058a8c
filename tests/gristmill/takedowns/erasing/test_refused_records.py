"""Refused raw records of a document whose id is not in them as it is, are cut off, or in another encoding."""

import gzip
import json

import pytest
from testkit import SNAPSHOT, Mill, lines, own_shelf

from gristmill.__main__ import main
from gristmill.lake.rows.row_blocks import HEAD
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep

RECIPE = """
from gristmill.lake.rows.document import Document
from gristmill.readers.books.gutenberg import GutenbergTexts
from gristmill.readers.delimited import DelimitedRows
from gristmill.readers.forum.stack_exchange import StackExchangePosts
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.papers.jats import JatsArticles
from gristmill.readers.texts import TextFiles
from gristmill.readers.web.pages import WarcPages
from gristmill.readers.wiki.pages import MediaWikiPages
from gristmill.recipes.raw_object import Refused
from gristmill.recipes.source import Source


def read(raw):
    yield Refused("not mine", raw.name, raw.read())


S = Source(name="s", convert={reader}, quarantine_limit=1.0)
"""
SHELVES = ("own_sources",)
CSV = 'DelimitedRows(source="s", id_key="name"{more})'
JSON = 'JsonLines(source="s")'
PAGE = "<page><title>A</title><ns>0</ns><id>7</id><revision><text>words</text><sha1>1</sha1></revision></page>"
WIKI = f"<mediawiki><siteinfo><dbname>bgwiki</dbname></siteinfo>{PAGE}</mediawiki>"
POST = f'<posts><row Id="7" PostTypeId="1" Body="{"&lt;b&gt;" * 1500}" Title="A"/></posts>'
ANSWER = '<posts><row Id="9" PostTypeId="2" ParentId="7" Body="an answer"/></posts>'
PAPER = '<article><front><article-meta><article-id pub-id-type="pmc">7</article-id></article-meta></front></article>'
LONG = json.dumps({"text": None, "pad": "y" * HEAD, "id": "😀\t7"})
LATIN = "name,text\nMüller-7,one,1\n".encode("latin-1")


def page(name: str) -> bytes:
    """A record of a crawl, whose checksum is that of other bytes."""
    head = f"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:{name}>\r\nContent-Type: text/html\r\n"
    return f"{head}WARC-Block-Digest: sha1:{'A' * 32}\r\nContent-Length: 9\r\n\r\n<p>words\n\r\n\r\n".encode()


WARC = page("6") + page("7") + page("8")

FOUND = {
    "a page of a crawl": ("WarcPages(source='s')", "a.warc", WARC, "<urn:7>"),
    "a path": ("TextFiles(source='s')", "a.txt", b"caf\xe9", "a.txt"),
    "a wiki": ("MediaWikiPages(source='s', ids='wiki', wrong_sha1='refuse')", "a.xml", WIKI, "bgwiki:7"),
    "a site": ("StackExchangePosts(source='s', site='m.se')", "a.xml", POST, "m.se/7"),
    "an answer of a site": ("StackExchangePosts(source='s', site='m.se')", "a.xml", ANSWER, "m.se/7"),
    "a paper": ("JatsArticles(source='s')", "a.xml", PAPER, "PMC7"),
    "a book": ("GutenbergTexts(source='s')", "a.txt", "[EBook #7]\nno start of the book", "gutenberg-7"),
    "another encoding": (CSV.format(more=", encoding='latin-1'"), "a.csv", LATIN, "Müller-7"),
    "doubled quotes": (CSV.format(more=""), "a.csv", 'name,text\n"A ""B"" C",one,1\n', 'A "B" C'),
    "an escape": (CSV.format(more=", escape='~'"), "a.csv", 'name,text\n"A ~"B~" C",one,1\n', 'A "B" C'),
    "escapes of JSON": (JSON, "a.jsonl", json.dumps({"id": "😀\t7", "text": None}), "😀\t7"),
}
NOT_SEARCHED = {
    "a long row": (JSON, "a.jsonl", LONG, "😀\t7"),
    "a reader of one's own": ("read", "a.txt", "words", "7"),
    "a subclass": (
        "type('Mine', (TextFiles,), {'__call__': lambda self, raw: TextFiles.__call__(self, raw)})(source='s')",
        "a.txt",
        b"caf\xe9",
        "a.txt",
    ),
    "made of fields": ("DelimitedRows(source='s', id_template='{name}/{text}')", "a.csv", "name,text\na,b,c\n", "a/b"),
    "not in its encoding": (CSV.format(more=""), "a.csv", LATIN, "Müller-7"),
    "UTF-16": (JSON, "a.jsonl", '{"id":"Müller-7"}'.encode("utf-16"), "Müller-7"),
    "a book without a number": ("GutenbergTexts(source='s')", "a.txt", "no start of the book", "gutenberg-7"),
}
ANOTHER = {
    "an answer by its own id": (*FOUND["an answer of a site"][:3], "m.se/9"),
    "a path": ("TextFiles(source='s')", "a.txt", b"caf\xe9", "b.txt"),
    "a wiki": (*FOUND["a wiki"][:3], "bgwiki:77"),
    "a site": (*FOUND["a site"][:3], "m.se/77"),
    "another encoding": (*FOUND["another encoding"][:3], "Müller-8"),
    "not in its encoding": (*NOT_SEARCHED["not in its encoding"][:3], "c-7"),
    "escapes of JSON": (*FOUND["escapes of JSON"][:3], "😀7"),
    "zeros": (JSON, "a.jsonl", b"\0" * 9, "c-7"),
}
Case = tuple[str, str, str | bytes, str]


def made(mill: Mill, monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    """A lake with one raw object, whose only record is refused; the document is on the blocklist."""
    reader, name, data, wanted = case
    own_shelf(mill, "sources", RECIPE.replace("{reader}", reader))
    monkeypatch.syspath_prepend(str(mill.root.parent))
    plain = data.encode() if isinstance(data, str) else data
    mill.store.put(f"sources/s/raw/{SNAPSHOT}/{name}.gz", gzip.compress(plain, mtime=0))
    mill.make(ConversionStep(find_recipe("sources", Source, SHELVES, "s"), SNAPSHOT, SHELVES))
    mill.store.put("blocklists/takedowns.jsonl", lines([{"source": "s", "id": wanted, "reason": "asked"}]))


def asked(mill: Mill, capsys: pytest.CaptureFixture[str], case: Case, *words: str) -> tuple[int, dict[str, str]]:
    """The exit code, and the lines of a command by their first words."""
    path = mill.root.parent / "asked.jsonl"
    path.write_bytes(lines([{"source": "s", "id": case[3]}]))
    capsys.readouterr()
    code = main([words[0], str(mill.root), "--ids", str(path), "--shelves", SHELVES[0], *words[1:]])
    return code, dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if ": " in line)


@pytest.mark.parametrize("case", FOUND.values(), ids=FOUND)
def test_a_refused_record_is_found_by_the_id_that_its_document_would_have(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: Case
) -> None:
    made(mill, monkeypatch, case)
    said = asked(mill, capsys, case, "takedown", "--prove")[1]
    assert said["quarantine"].startswith("remains: sources/s/v0/quarantine/2024/")
    code, said = asked(mill, capsys, case, "erase")
    cut = f"erased 1 records of sources/s/raw/2024/{case[1]}.gz" in said
    assert (code, "not erased" in said) == ((0, False) if cut else (1, True))


OTHER_PAGES = PAGE.replace(">7<", ">6<"), PAGE.replace(">7<", ">8<")
PAGES = f"<mediawiki>{OTHER_PAGES[0]}{PAGE}\n{OTHER_PAGES[1]}</mediawiki>"
CUT = {
    "a page of a crawl": (FOUND["a page of a crawl"], page("6") + page("8")),
    "a page of a wiki": (
        ("MediaWikiPages(source='s', wrong_sha1='refuse')", "a.xml", PAGES, "7"),
        f"<mediawiki>{OTHER_PAGES[0]}\n{OTHER_PAGES[1]}</mediawiki>".encode(),
    ),
    "no UTF-8": ((JSON, "a.jsonl", b'{"id":"7","text":"caf\xe9"}\n{"id":"8"}\n', "7"), b'{"id":"8"}\n'),
    "longer than its copy": ((JSON, "a.jsonl", f'{{"id":"7","pad":"{LONG}"}}\n{{"id":"8"}}\n', "7"), b'{"id":"8"}\n'),
}


@pytest.mark.parametrize(("case", "left"), CUT.values(), ids=CUT)
def test_a_refused_record_is_cut_where_its_reader_says_that_it_ends(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: Case, left: bytes
) -> None:
    made(mill, monkeypatch, case)
    path = f"sources/s/raw/{SNAPSHOT}/{case[1]}.gz"
    before = mill.store.read(path)
    assert asked(mill, capsys, case, "erase", "--dry-run")[0] == 0
    assert mill.store.read(path) == before
    assert asked(mill, capsys, case, "erase")[0] == 0
    assert gzip.decompress(mill.store.read(path)) == left
    assert asked(mill, capsys, case, "erase")[0] == 0  # it is not erased a second time


def test_a_dry_run_says_what_the_run_cannot_erase(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the first line, the ids of the others would be other ones."""
    case = ("JsonLines(source='s', id_key=None)", "a.jsonl", '{"text":"a"}\n{"text":"b"}\n', f"{SNAPSHOT}/a.jsonl.gz:0")
    made(mill, monkeypatch, case)
    code, said = asked(mill, capsys, case, "erase", "--dry-run")
    assert (code, "row 0 of the others would be another one" in said["not erased"]) == (1, True)
    assert asked(mill, capsys, case, "erase")[1]["not erased"] == said["not erased"]


@pytest.mark.parametrize("case", NOT_SEARCHED.values(), ids=NOT_SEARCHED)
def test_a_refused_record_that_may_be_of_the_document_is_told_and_may_be_excluded(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: Case
) -> None:
    made(mill, monkeypatch, case)
    path = next(each.path for each in mill.store.list("sources/s/v0/quarantine/"))
    code, said = asked(mill, capsys, case, "takedown", "--prove")
    assert code == 1
    assert said["quarantine"].startswith(f"not proven: not searched: {path}: row 0 (")
    assert said["raw"].startswith(f"not proven: not searched: {path}: row 0 (")
    code, said = asked(mill, capsys, case, "erase")
    assert (code, said["not searched"].startswith(f"{path}: row 0 (")) == (1, True)
    code, said = asked(mill, capsys, case, "takedown", "--prove", "--exclude", path)
    assert (code, said["quarantine"].endswith(f"not searched: {path}, excluded by name")) == (0, True)


@pytest.mark.parametrize("case", ANOTHER.values(), ids=ANOTHER)
def test_a_refused_record_that_is_surely_another_document_hinders_no_proof(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: Case
) -> None:
    made(mill, monkeypatch, case)
    code, said = asked(mill, capsys, case, "takedown", "--prove")
    assert (code, said["quarantine"].partition(":")[0], said["raw"].partition(":")[0]) == (0, "absent", "absent")
