"""Parts of a MediaWiki dump have its pages, each once, behind what the dump says about its wiki."""

import bz2
import gzip
import random
import re
from collections.abc import Iterator

import pytest
from partkit import Held, flattened, read_parts

from gristmill.lake.rows.raw_parts import RawPart, cut_into_parts
from gristmill.readers.parts.pages import PartPages, read_wiki_head
from gristmill.recipes.raw_object import RawObject

HEAD = b'<mediawiki xml:lang="en">\n  <siteinfo>\n    <dbname>enwiki</dbname>\n  </siteinfo>'


def dump(pages: int, seed: int = 1) -> bytes:
    draw = random.Random(seed)
    made = [
        b"\n  <page>\n    <id>%d</id><text>%s &lt;page&gt;</text></page>" % (n, b"x" * draw.choice([0, 9, 70, 900]))
        for n in range(pages)
    ]
    return HEAD + b"".join(made) + b"\n</mediawiki>\n"


def packed(text: bytes, ending: str) -> bytes:
    if ending == ".gz":
        return gzip.compress(text, mtime=0)
    return bz2.compress(text) if ending else text


def pages_of(raw: RawObject) -> Iterator[bytes]:
    """The pages in the bytes of a part, which must be a dump with its head and its end."""
    if raw.part is None:
        return
    text = b"".join(PartPages(raw, raw.part).pieces())
    if text:
        assert text.startswith(HEAD)
        assert text.rstrip().endswith(b"</mediawiki>")
        assert text.count(b"</mediawiki>") == text.count(b"<mediawiki") == 1
    yield from re.findall(rb"<page>.*?</page>", text, re.DOTALL)


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2"])
def test_parts_have_each_page_once(ending: str) -> None:
    for seed in range(6):
        text = dump(40, seed)
        draw = random.Random(seed)
        at = sorted(draw.randrange(len(text)) for _ in range(9))
        pieces = [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)]
        data = b"".join(packed(each, ending) for each in pieces)
        whole = re.findall(rb"<page>.*?</page>", text, re.DOTALL)
        for size in (len(data) // 30 + 1, len(data) // 4, len(data) - 1):
            for piece in (17, 1 << 20):
                assert flattened(read_parts(pages_of, f"a.xml{ending}", data, size, piece)) == whole


def test_a_dump_in_utf_16_or_without_pages_is_the_first_part() -> None:
    for text in (dump(9).decode().encode("utf-16"), HEAD.replace(b"siteinfo", b"site") + b"</mediawiki>" * 9):
        first, *others = [
            b"".join(PartPages(raw, part).pieces())
            for part in cut_into_parts(len(text), len(text) // 3 + 1)
            for raw in [RawObject(Held(text), "a.xml", "a@", len(text), part=part)]
        ]
        assert first == text
        assert others == [b"<mediawiki/>"] * 2


def test_places_lead_back_to_the_object() -> None:
    data = dump(30)
    part = RawPart(1000, 3000)
    pages = PartPages(RawObject(Held(data), "a.xml", "a@", len(data), part=part), part)
    text = b"".join(pages.pieces())
    for match in re.finditer(rb"<page>.*?</page>", text, re.DOTALL):
        start, end = match.span()
        assert data[start + pages.shift : end + pages.shift] == match[0]


def test_the_head_is_read_from_the_begin_alone() -> None:
    data = bz2.compress(dump(4000), 1)
    held = Held(data)
    assert read_wiki_head(RawObject(held, "a.xml.bz2", "a", len(data))) == HEAD
    assert read_wiki_head(RawObject(Held(b"text" * 9), "a.xml", "a", 36)) is None
