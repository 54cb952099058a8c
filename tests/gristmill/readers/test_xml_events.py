import tracemalloc
from collections.abc import Iterator

import pytest
from cpu_time import cpu_seconds

from gristmill.readers.text import Unfit
from gristmill.readers.xml_events import XmlElement, parse_wanted_elements, parse_xml_document

PAGES = "<wiki>\n" + "".join(f"<page><id>{n}</id><text>Mühle {n}/></text></page >\n" for n in range(3)) + "</wiki>"


def reason(data: bytes, **options: int) -> tuple[str, str]:
    with pytest.raises(Unfit) as caught:
        list(parse_wanted_elements([data], {"page"}, where="w.xml", **options))
    return caught.value.reason, caught.value.detail


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_elements_come_with_their_bytes_in_every_encoding_and_piece(encoding: str, size: int) -> None:
    declared = {"latin-1": "iso-8859-1", "cp1252": "windows-1252"}.get(encoding, encoding[:6].rstrip("-"))
    data = f'<?xml version="1.0" encoding="{declared}"?>{PAGES}'.encode(encoding)
    found = list(
        parse_wanted_elements([data[n : n + size] for n in range(0, len(data), size)], {"page"}, where="w.xml")
    )
    assert [page.text() for page in found] == [f"{n}Mühle {n}/>" for n in range(3)]
    plain = (
        encoding.removesuffix("-sig")
        if "utf-16" not in encoding
        else ("utf-16-be" if data[0] in {0, 254} else "utf-16-le")
    )
    assert [data[page.start : page.end].decode(plain) for page in found] == PAGES.split("\n")[1:-1]
    assert [page.line for page in found] == [2, 3, 4]


def test_elements_of_one_tag_end_where_the_tag_ends() -> None:
    data = b"<page><page/></page><page a='/'></page><page b='>'/><page><page/></page>"
    found = list(parse_wanted_elements([b"<w>", data, b"</w>"], {"page"}, where="w.xml"))
    assert [data[page.start - 3 : page.end - 3] for page in found] == [
        b"<page><page/></page>", b"<page a='/'></page>", b"<page b='>'/>", b"<page><page/></page>",
    ]  # fmt: skip


def test_names_lose_their_prefix_and_paths_find_elements() -> None:
    tree = parse_xml_document([b"<a xmlns:m='u'><m:b x:y='1'>t<c/>u</m:b><b><c>2</c></b></a>"], where="w.xml")
    first = tree.find("b")
    assert isinstance(first, XmlElement)
    assert (first.attributes, first.text(), [each.name for each in first.elements()]) == ({"x:y": "1"}, "tu", ["c"])
    assert tree.find("b", "d") is None
    assert [each.text() for each in tree.descendants("c")] == ["", "2"]


@pytest.mark.parametrize(
    "subset",
    [
        b'<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">',
        b'<!ENTITY x SYSTEM "file:///etc/passwd">',
        b'<!ENTITY % p SYSTEM "http://example.org/x.dtd"> %p;',
        b'<!ENTITY gif SYSTEM "a.gif" NDATA gif>',
        b"<!ATTLIST page big CDATA 'aaaaaaaa'>",
    ],
)
def test_declarations_that_bombs_are_made_of_are_refused(subset: bytes) -> None:
    data = b"<!DOCTYPE w [\n" + subset + b"]>\n<w><page>&b;</page></w>"
    found, detail = reason(data)
    assert found == "xml declares entities"
    assert detail.startswith("w.xml: line 2, byte ")


def test_a_dtd_that_is_only_named_is_not_read_and_its_characters_are_known() -> None:
    begin = b'<!DOCTYPE w PUBLIC "-//X" "x.dtd"><w>'
    (page,) = parse_wanted_elements(
        [begin, b"<page a='&amp;&#65;'>&alpha;&nbsp;&lt;", b"</page></w>"],
        {"page"},
        where="w",
    )
    assert (page.attributes, page.text()) == ({"a": "&A"}, "\N{GREEK SMALL LETTER ALPHA}\xa0<")
    assert reason(begin + b"<page>&mine;</page></w>") == (
        "unknown entity in xml", f"w.xml: line 1, byte {len(begin) + 6}: &mine;",
    )  # fmt: skip
    assert reason(begin + b"<page a='&mine;'/></w>")[1].endswith("&mine; in an attribute")
    assert reason(b"<w><page>&nbsp;</page></w>")[0] == "malformed xml"


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (b"<w><page>\n<b></page>", "w.xml: line 2, byte 15: mismatched tag"),
        (b"<w><page>\nabc", "w.xml: line 2, byte 13: no element found"),
        (b"", "w.xml: line 1, byte 0: no element found"),
        (b"<w/><w/>", "w.xml: line 1, byte 4: junk after document element"),
        (b"<w>\xff</w>", "w.xml: line 1, byte 3: not well-formed (invalid token)"),
        (b"<w>a\0b</w>", "w.xml: line 1, byte 4: not well-formed (invalid token)"),
        (b"<?xml version='1.0' encoding='klingon'?><w/>", "unknown encoding"),
        (b"<?xml version='1.0' encoding='gbk'?><w/>", "encoding"),
        (b"<?xml version='1.0' encoding='utf-16'?><w/>", "encoding"),
        ("<w>é".encode("utf-16")[:-1], "w.xml: line 1, byte"),
    ],
)
def test_malformed_xml_is_named_with_its_place(data: bytes, detail: str) -> None:
    found, words = reason(data)
    assert found == "malformed xml"
    assert detail in words


def test_a_large_element_is_marked_and_the_next_one_is_read() -> None:
    data = b"<w><page><b>%b</b></page><page>ok</page></w>" % (b"word <i/>" * 20_000)
    large, small = parse_wanted_elements([data], {"page"}, where="w.xml", limit=10_000)
    assert (large.too_large, large.content, data[large.start : large.end][-16:]) == (
        True,
        [],
        b" <i/></b></page>",
    )
    assert small.text() == "ok"
    with pytest.raises(Unfit, match="row too long"):
        parse_xml_document([data], where="w.xml", limit=10_000)


def test_depth_is_limited() -> None:
    assert reason(b"<a>" * 300) == (
        "xml nested too deeply", "w.xml: line 1, byte 768: more than 256 elements inside each other",
    )  # fmt: skip


def test_memory_is_that_of_one_element() -> None:
    def dump() -> Iterator[bytes]:
        yield b"<w>"
        for _ in range(300):
            yield b"<page>%b</page>" % (b"x" * 20_000)
        yield b"</w>"

    tracemalloc.start()
    assert sum(len(page.text()) for page in parse_wanted_elements(dump(), {"page"}, where="w.xml")) == 6_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_a_tag_that_never_ends_is_refused_in_linear_time() -> None:
    def refuse() -> None:
        found, detail = reason(b"<w a='" + b"x" * 20_000_000, limit=10_000_000)
        assert (found, detail.endswith("a tag or comment is longer than 10000000 bytes")) == ("malformed xml", True)

    assert cpu_seconds(refuse) < 2
