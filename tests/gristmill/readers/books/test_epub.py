"""Books from a package file and chapters in XHTML."""

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.books.epub import EpubBooks
from gristmill.recipes.raw_object import LeftOut, Limits, RawObject, Refused

OPF = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" unique-identifier="uid"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="other">urn:isbn:978-3-16-148410-0</dc:identifier><dc:identifier id="uid">https://example.org/mill</dc:identifier>
<dc:title>The  Mill</dc:title><dc:creator>Ann</dc:creator><dc:creator>Ben</dc:creator><dc:language>en-GB</dc:language>
<dc:date>2014-05-25T00:00:00Z</dc:date><dc:rights>See http://creativecommons.org/publicdomain/zero/1.0/.</dc:rights>
</metadata><manifest><item id="t" href="text/titlepage.xhtml" media-type="application/xhtml+xml"/>
<item id="two" href="text/ch%202.xhtml" media-type="application/xhtml+xml"/><item id="one" href="text/ch1.xhtml"/>
<item id="css" href="a.css" media-type="text/css"/></manifest>
<spine><itemref idref="t"/><itemref idref="two"/><itemref idref="one"/></spine></package>"""
ONE = """<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><section><h2>One</h2>
<p>The <em>wheel</em>
turned.<br/>Twice.</p><blockquote><p>Q</p></blockquote><pre>a
  b</pre><table><tr><td>1</td><td>2</td></tr></table></section></body></html>"""
TWO = "<!DOCTYPE html><html><body><p>Two</p></body></html>"
FILES = {
    "epub/content.opf": OPF,
    "epub/text/titlepage.xhtml": ONE,
    "epub/text/ch1.xhtml": ONE,
    "epub/text/ch 2.xhtml": TWO,
}
FIRST = "One\n\nThe wheel turned.\nTwice.\n\nQ\n\na\n  b\n\n1\t2"


def tarred(tmp_path: Path, files: dict[str, str]) -> RawObject:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return talk_file(tmp_path, "mill.tar.gz", buffer.getvalue())


def read(raw: RawObject, **options: Any) -> list[Any]:
    return list(EpubBooks(source="talks", **options)(raw))


def test_a_book_is_read_in_the_order_of_its_spine(tmp_path: Path) -> None:
    assert read(tarred(tmp_path, FILES)) == [
        LeftOut("matter around the text"),
        Document(
            id="https://example.org/mill",
            text=f"Two\n\n{FIRST}\n",
            source="talks",
            created="2014-05-25T00:00:00Z",
            metadata={
                "kind": "book",
                "identifiers": ["urn:isbn:978-3-16-148410-0", "https://example.org/mill"],
                "isbn": ["urn:isbn:978-3-16-148410-0"],
                "title": "The Mill",
                "authors": ["Ann", "Ben"],
                "language": "en-GB",
                "rights": "See http://creativecommons.org/publicdomain/zero/1.0/.",
                "license": "CC0-1.0",
            },
        ),
    ]


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [
        ("application/xhtml+xml", []),
        ("text/html", []),
        ("application/x-dtbook+xml", []),
        ("text/x-oeb1-document", []),
        ("Application/XHTML+xml; charset=utf-8", []),
        ("application/octet-stream", []),
        ('image/svg+xml" fallback="one', []),
        ("image/svg+xml", [LeftOut("pictures in the spine")]),
        ('image/svg+xml" fallback="two', [LeftOut("pictures in the spine")]),
    ],
)
def test_a_text_of_the_spine_is_read_whatever_type_the_book_gives_it(
    tmp_path: Path, kind: str, left_out: list[LeftOut]
) -> None:
    two = 'href="text/ch%202.xhtml" media-type="'
    files = {**FILES, "epub/content.opf": OPF.replace(f"{two}application/xhtml+xml", f"{two}{kind}")}
    if left_out or "fallback" in kind:
        del files["epub/text/ch 2.xhtml"]
    *others, book = read(tarred(tmp_path, files))
    assert others == [*left_out, LeftOut("matter around the text")]
    assert book.text == ("" if "image" in kind else "Two\n\n") + f"{FIRST}\n"


def test_chapters_have_ids_and_spans_of_their_own(tmp_path: Path) -> None:
    raw = tarred(tmp_path, FILES)
    found = [(each, raw.take_raw_span()) for each in EpubBooks(source="talks", unit="chapter", without=())(raw)]
    assert [
        (each.id, each.metadata["chapter"], span)
        for each, span in found
        if isinstance(each, Document) and isinstance(each.metadata, dict)
    ] == [
        ("https://example.org/mill#text/titlepage.xhtml", 1, RawSpan(0, len(ONE), "epub/text/titlepage.xhtml")),
        ("https://example.org/mill#text/ch1.xhtml", 3, RawSpan(0, len(ONE), "epub/text/ch1.xhtml")),
        ("https://example.org/mill#text/ch 2.xhtml", 2, RawSpan(0, len(TWO), "epub/text/ch 2.xhtml")),
    ]


def test_an_epub_file_is_a_book(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
    _, made = read(talk_file(tmp_path, "mill.epub", buffer.getvalue()))
    assert made.text == f"Two\n\n{FIRST}\n"


@pytest.mark.parametrize(
    ("files", "reason", "where"),
    [
        (FILES | {"epub/text/ch1.xhtml": ONE[:-20]}, "malformed xml", "epub/text/ch1.xhtml: line 4"),
        (
            FILES | {"epub/text/ch1.xhtml": "<!DOCTYPE h [<!ENTITY a 'b'>]><html/>"},
            "xml declares entities",
            "ch1.xhtml: line 1",
        ),
        (FILES | {"epub/text/ch1.xhtml": "<html/>"}, "no body", "ch1.xhtml"),
        ({name: FILES[name] for name in list(FILES)[:3]}, "text of the book missing", "entry epub/text/ch 2.xhtml"),
        (FILES | {"epub/content.opf": OPF.replace('idref="one"', 'idref="x"')}, "spine names no item", "'x'"),
        (FILES | {"epub/content.opf": "<package/>"}, "no package of a book", "content.opf"),
        (
            FILES | {"epub/content.opf": OPF.replace("dc:identifier", "dc:x")},
            "no identifier of the book",
            "content.opf",
        ),
    ],
)
def test_a_damaged_book_is_refused_and_gives_no_part_of_it(
    tmp_path: Path, files: dict[str, str], reason: str, where: str
) -> None:
    (bad,) = [each for each in read(tarred(tmp_path, files)) if not isinstance(each, LeftOut)]
    assert isinstance(bad, Refused)
    assert (bad.reason, bad.where.startswith("mill.tar.gz entry"), where in bad.where) == (reason, True, True)


def test_what_is_refused_has_the_id_of_its_document(tmp_path: Path) -> None:
    """So a takedown finds it. The book's id stands in its package."""
    empty = {name: text if name.endswith(".opf") else "<html><body/></html>" for name, text in FILES.items()}
    broken = FILES | {"epub/text/ch1.xhtml": "<html/>"}
    missing = {name: FILES[name] for name in list(FILES)[:3]}
    for files in (empty, broken, missing):
        ids = [each.id for each in read(tarred(tmp_path, files)) if isinstance(each, Refused)]
        assert ids == ["https://example.org/mill"]
    raw = tarred(tmp_path, missing | {"epub/text/ch1.xhtml": "<html/>"})
    found = [each.id for each in EpubBooks(source="talks", unit="chapter")(raw) if isinstance(each, Refused)]
    assert found == [f"https://example.org/mill#text/{name}.xhtml" for name in ("ch1", "ch 2")]


def test_a_book_above_the_limit_is_refused(tmp_path: Path) -> None:
    raw = tarred(tmp_path, FILES | {name: TWO.replace("Two", "Two" * 600) for name in list(FILES)[1:]})
    raw.limits = Limits(row=3000)
    (bad,) = [each for each in read(raw, without=()) if not isinstance(each, LeftOut)]
    assert isinstance(bad, Refused)
    assert (bad.reason, bad.size > 3000, bad.id) == ("row too long", True, "https://example.org/mill")


def test_an_archive_without_a_package_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mill\.tar\.gz: 0 package files"):
        read(tarred(tmp_path, {"a.txt": ""}))


def test_texts_beside_the_spine_are_counted_and_an_item_named_twice_is_refused(tmp_path: Path) -> None:
    others, *_ = read(tarred(tmp_path, {**FILES, "epub/text/notes.xhtml": TWO, "epub/nav.html": TWO}))
    assert others == LeftOut("not in the spine", 2)
    (bad,) = read(tarred(tmp_path, {**FILES, "epub/content.opf": OPF.replace('id="css"', 'id="one"')}))
    assert bad.reason == "manifest names an item twice"
