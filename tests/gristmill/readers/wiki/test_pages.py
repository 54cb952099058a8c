"""Pages of MediaWiki dumps, made here and real: documents, and every other page under its reason."""

import bz2
import gzip
import os
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from msgspec import UNSET
from partkit import flattened, read_parts, read_whole
from talklake import talk_file
from warcfile import Reading, read

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.wiki.pages import MediaWikiPages
from gristmill.recipes.raw_object import Limits, Refused

WIKI = MediaWikiPages(source="wiki")
SITE = (
    "<siteinfo><dbname>ltgwiki</dbname><base>https://ltg.wikipedia.org/wiki/Suoku_puslopa</base><namespaces>"
    '<namespace key="0"/><namespace key="6">Fails</namespace></namespaces></siteinfo>'
)


def page(text: str, number: int = 1, *, ns: int = 0, more: str = "", **revision: str) -> str:
    fields = {"id": f"90{number}", "timestamp": "2017-04-10T12:33:45Z", "model": "wikitext"} | revision
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items() if value)
    return (
        f"<page><title>Rudzi {number}</title><ns>{ns}</ns><id>{number}</id>{more}"
        f"<revision>{inner}<text>{escape(text)}</text></revision></page>"
    )


def dump(*pages: str) -> bytes:
    return f'<mediawiki version="0.10">{SITE}{"".join(pages)}</mediawiki>'.encode()


def read_dump(root: Path, data: bytes, reader: MediaWikiPages = WIKI, limits: Limits | None = None) -> Reading:
    return read(reader, root, data, "d.xml.bz2", limits)


@pytest.mark.parametrize("ending", ["", ".bz2", ".gz"])
def test_parts_of_a_dump_have_its_pages(ending: str) -> None:
    texts = [page("Rudzi " * (number % 90), number, ns=number % 5 and 0) for number in range(1, 60)]
    data = dump(*texts)
    if ending:
        pack = bz2.compress if ending == ".bz2" else gzip.compress
        data = b"".join(pack(data[at : at + 3000]) for at in range(0, len(data), 3000))
    whole = read_whole(WIKI, f"d.xml{ending}", data)
    assert len(whole) == 59
    for size in (len(data) // 20, len(data) // 3, len(data) - 1):
        assert flattened(read_parts(WIKI, f"d.xml{ending}", data, size)) == whole
    wide = dump(*texts).decode().encode("utf-16")
    assert [len(rows) for rows in read_parts(WIKI, "d.xml", wide, len(wide) // 2 + 1)] == [59, 0]


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, bytes], ids=["bzip2", "gzip", "plain"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_page_becomes_a_document(tmp_path: Path, pack: type[bytes], encoding: str) -> None:
    whole = dump(page("'''Rudzi''' [[Fails:a.jpg]]irā <b>zuoļaugs</b> & maize."))
    found = read_dump(tmp_path, pack(whole.decode().encode(encoding)))
    assert found.documents == [
        Document(
            id="1",
            text="Rudzi irā zuoļaugs & maize.",
            source="wiki",
            created="2017-04-10T12:33:45.000Z",
            metadata={
                "title": "Rudzi 1",
                "namespace": 0,
                "revision": "901",
                "url": "https://ltg.wikipedia.org/wiki/Rudzi_1",
                "wiki": "ltgwiki",
                "language": "ltg",
            },
        )
    ]
    if encoding == "utf-8":
        assert found.spans == [RawSpan(whole.index(b"<page>"), whole.index(b"</page>") + 7)]


RUDZI = "ib4cm3x1mo0sjk5b86tifdfkzmxynuj"
"""Base 36 of the SHA-1 of `Rudzi`."""


@pytest.mark.parametrize(
    ("made", "differs"),
    [
        (page("Rudzi", sha1=RUDZI), False),
        (page("Rudzi!", sha1=RUDZI), True),
        (page("Rudzi", sha1="no base 36"), True),
        (page("Rudzi", sha1="x" * 5000), True),
        (page("Rudzi"), False),
        (page("Rudzi").replace("</id><timestamp", "</id><sha1/><timestamp"), False),
        (page("Rudzi!", sha1=RUDZI).replace("<text>", "<content><text>aside</text></content><text>"), False),
        (page("Rudzi", sha1="1").replace("<text>", f'<text sha1="{RUDZI}">'), False),
        (page("Rudzi", sha1=RUDZI).replace("<text>", '<text sha1="1">'), True),
    ],
)
def test_a_text_with_another_sha1_than_stated_is_counted_or_refused(
    tmp_path: Path,
    made: str,
    differs: bool,  # noqa: FBT001 - a parameter of the table above
) -> None:
    raw = talk_file(tmp_path, "d.xml", dump(made))
    assert [type(each) for each in WIKI(raw)] == [Document]
    assert raw.counts == ({"other sha1 than stated": 1} if differs else {})
    raw = talk_file(tmp_path, "d.xml", dump(made, page("Maize", 2)))
    first, second = MediaWikiPages(source="wiki", wrong_sha1="refuse")(raw)
    assert isinstance(second, Document)
    if differs:
        assert isinstance(first, Refused)
        assert (first.reason, first.id, first.row) == ("other sha1 than stated", "1", 0)
        assert first.where.startswith("d.xml row 0 (bytes ")
    else:
        assert isinstance(first, Document)
    assert raw.counts == {}


REDIRECT = f"<redirect title={quoteattr('Maize & co')} />"


@pytest.mark.parametrize(
    ("made", "refused", "left_out"),
    [
        (page("x", ns=14), [], {"namespace 14": 1}),
        (page("#REDIRECT [[Maize]]", more=REDIRECT), [], {"redirect": 1}),
        (page("return 1", model="Scribunto"), [], {"content model Scribunto": 1}),
        (page("x", model="of a stranger"), [], {"another content model": 1}),
        (page("x", ns=4711), [], {"another namespace": 1}),
        (page("{{empty}}"), [], {"page without text": 1}),
        ("<page><title>a</title><id>7</id></page>", [], {"page without a revision": 1}),
        (page("").replace("<text>", '<text deleted="deleted">'), [], {"deleted text": 1}),
        (page("<b>" * 20_000), ["malformed wikitext"], {}),
        (page("words").replace("<id>1</id>", ""), ["no page id"], {}),
        (page("x" * 3000), ["row too long"], {}),
    ],
)
def test_other_pages_are_counted(tmp_path: Path, made: str, refused: list[str], left_out: dict[str, int]) -> None:
    reader = MediaWikiPages(source="wiki", page_limit=70_000 if "&lt;b" in made else 2000)
    found = read_dump(tmp_path, dump(made, page("words", 2)), reader)
    assert (len(found.documents), found.reasons, found.left_out) == (1, refused, left_out)
    for row in found.refused:
        assert row.where.startswith("d.xml.bz2 row 0 (bytes ")


def test_what_a_recipe_may_choose(tmp_path: Path) -> None:
    reader = MediaWikiPages(source="wiki", namespaces=(0, 14), redirects="keep", ids="wiki", added="2017-05-01")
    made = dump(page("x", ns=14), page("#REDIRECT", 2, more=REDIRECT), page("y", 3, timestamp="soon"))
    found = read_dump(tmp_path, made, reader)
    assert [(each.id, each.text, each.added) for each in found.documents] == [
        ("ltgwiki:1", "x", "2017-05-01"),
        ("ltgwiki:2", "Rudzi 2", "2017-05-01"),
        ("ltgwiki:3", "y", "2017-05-01"),
    ]
    assert found.metadata(1)["redirect"] == "Maize & co"
    assert found.documents[2].created is UNSET


def test_a_dump_that_does_not_name_its_wiki_gives_no_ids_with_its_name(tmp_path: Path) -> None:
    made = dump(page("x")).replace(b"<dbname>ltgwiki</dbname>", b"")
    assert [each.id for each in read_dump(tmp_path, made).documents] == ["1"]
    with pytest.raises(DataError, match=r"d\.xml\.bz2: it does not name its wiki \(no dbname .* take ids=\"page\""):
        read_dump(tmp_path, made, MediaWikiPages(source="wiki", ids="wiki"))


def test_of_several_revisions_the_last_one_is_read(tmp_path: Path) -> None:
    made = page("new").replace("<revision>", "<revision><id>1</id><text>old</text></revision><revision>")
    found = read_dump(tmp_path, dump(made))
    assert ([each.text for each in found.documents], found.left_out) == (["new"], {"older revision": 1})


def test_the_newest_revision_is_that_with_the_latest_time(tmp_path: Path) -> None:
    old = "<revision><id>1</id><timestamp>2001-01-01T00:00:00Z</timestamp><text>old</text></revision>"
    made = page("new").replace("</revision>", f"</revision>{old}")
    found = read_dump(tmp_path, dump(made))
    assert ([each.text for each in found.documents], found.left_out) == (["new"], {"older revision": 1})


def test_old_dumps_tell_namespaces_and_redirects_by_words(tmp_path: Path) -> None:
    titles = ("Rudzi", "Fails:a.jpg", "CSI: Miami", "Kukuruza")
    texts = ("words", "words", "words", "#redirect: [[Maize_corn#x|y]]")
    made = [
        f"<page><title>{title}</title><id>{n}</id><revision><text>{text}</text></revision></page>"
        for n, (title, text) in enumerate(zip(titles, texts, strict=True), start=1)
    ]
    found = read_dump(tmp_path, dump(*made))
    assert [each.id for each in found.documents] == ["1", "3"]
    assert found.left_out == {"namespace 6": 1, "redirect": 1}
    kept = read_dump(tmp_path, dump(*made), MediaWikiPages(source="wiki", namespaces=(0, 6), redirects="keep"))
    assert [kept.metadata(n)["namespace"] for n in range(4)] == [0, 6, 0, 0]
    assert (kept.documents[3].text, kept.metadata(3)["redirect"]) == ("Kukuruza", "Maize corn")


def test_a_page_that_is_too_long_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    found = read_dump(tmp_path, dump(page("x" * 99_999), page("words", 2)), limits=Limits(row=20_000))
    assert ([each.id for each in found.documents], found.reasons) == (["2"], ["row too long"])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (dump(page("x"))[:-5], "malformed xml"),
        (bz2.compress(dump(page("x")))[:-5], "truncated"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]>' + dump(page("x")), "xml declares entities"),
        (b"<html></html>", "no pages"),
        (b"", "malformed xml"),
    ],
)
def test_a_dump_that_is_damaged_or_hostile_is_an_error(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_dump(tmp_path, data)


REAL = {
    "ltgwiki/ltgwiki-pages-articles.xml.bz2": (
        895,
        {
            "redirect": 147,
            "page without text": 8,
            "namespace 4": 28,
            "namespace 8": 12,
            "namespace 10": 347,
            "namespace 14": 539,
            "namespace 828": 28,
        },
    ),
    "bgwiki/bgwiki-pages-articles-shortened.xml.bz2": (1, {"namespace 4": 2}),
}
"""Pages and their namespaces as `grep` counts them in the dumps; redirects of namespace 0 alone."""


@pytest.mark.parametrize(
    "name", [each if "bgwiki" in each else pytest.param(each, marks=pytest.mark.slow) for each in REAL]
)
@pytest.mark.skipif("GRISTMILL_SAMPLE_DATA" not in os.environ, reason="no sample data")
def test_real_dumps_give_the_pages_that_were_counted_by_hand(tmp_path: Path, name: str) -> None:
    pages, left_out = REAL[name]
    found = read_dump(tmp_path, (Path(os.environ["GRISTMILL_SAMPLE_DATA"]) / "raw" / "wiki" / name).read_bytes())
    assert (len(found.documents), found.reasons, found.left_out) == (pages, [], left_out)
    broken = [each.id for each in found.documents if "[[" in each.text and "]]" in each.text]
    assert broken in ([], ["262"], ["74", "262"])  # tables that are never closed stay as they are
