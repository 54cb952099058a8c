"""Raw places by the format of the raw object: the range of a document holds the record that it was made from."""

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from testkit import SNAPSHOT, Mill, lines, make_documents
from warcfile import packed, page

from gristmill.lake.rows.raw_parts import RawPart
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.parts.bzip2 import bz2_units
from gristmill.readers.texts import TextFiles
from gristmill.readers.web.pages import WarcPages
from gristmill.readers.wiki.pages import MediaWikiPages
from gristmill.recipes.source import Split
from gristmill.stages.conversion import grinder as conversion_grinder
from gristmill.stages.conversion.step import ConversionStep
from gristmill.tracing.raw import RawPlace, Shelves
from gristmill.tracing.trace import trace_document

SHELVES = ("gristmill", "testshelf")
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    (tmp_path / "lake").mkdir()
    return Mill(tmp_path / "lake")


def raw_of(mill: Mill, source: str, id_: str) -> RawPlace:
    (found,) = trace_document(mill.store, source, id_, Shelves(SHELVES, {}))
    assert found.raw is not None
    return found.raw


def wiki_page(n: int) -> str:
    """A page of a dump."""
    revision = f"<revision><id>9{n}</id><text>Mühle {n}</text></revision>"
    return f"<page><title>P{n}</title><ns>0</ns><id>{n}</id>{revision}</page>"


def converted_by(mill: Mill, monkeypatch: pytest.MonkeyPatch, convert: Callable[..., Any], **options: Any) -> None:
    """Converts the raw data of `pages` by another reader."""
    source = replace(mill.source(), convert=convert, select=None, **options)
    monkeypatch.setattr(conversion_grinder, "find_recipe", lambda *_: source)
    mill.make(ConversionStep(source, SNAPSHOT, SHELVES))


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2"])
def test_of_a_page_of_a_wiki_the_range_holds_the_page(mill: Mill, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    texts = [wiki_page(n) for n in range(1, 5)]
    dump = f"<mediawiki>\n{''.join(texts)}</mediawiki>".encode()
    mill.raw(f"d.xml{ending}", PACK[ending](dump))
    converted_by(mill, monkeypatch, MediaWikiPages(source="pages"))
    raw = raw_of(mill, "pages", "3")
    assert raw.range is not None
    assert raw.counted_in == ("unpacked object" if ending else "object")
    assert dump[slice(*raw.range)].decode() == texts[2]


@pytest.mark.parametrize("ending", ["", ".gz", ".zst", ".bz2", ".xz"])
def test_of_a_line_the_range_counts_unpacked_bytes(mill: Mill, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    plain = lines(make_documents(5))
    mill.raw(f"a.jsonl{ending}", PACK[ending](plain))
    converted_by(mill, monkeypatch, JsonLines(source="pages"))
    raw = raw_of(mill, "pages", "doc-00003")
    assert raw.range is not None
    assert raw.counted_in == ("unpacked object" if ending else "object")
    assert msgspec.json.decode(plain[slice(*raw.range)])["id"] == "doc-00003"


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_of_a_warc_record_the_range_holds_the_record(mill: Mill, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    pages = [page(n) for n in range(4)]
    mill.raw(f"a.warc{ending}", packed(*pages) if ending else b"".join(pages))
    converted_by(mill, monkeypatch, WarcPages(source="pages"))
    raw = raw_of(mill, "pages", "<urn:uuid:2>")
    assert raw.range is not None
    assert raw.counted_in == ("unpacked object" if ending else "object")
    assert b"".join(pages)[slice(*raw.range)].rstrip() == pages[2].rstrip()


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".tar.bz2"])
def test_of_a_member_of_a_tar_the_range_is_one_of_the_member(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    buffer = io.BytesIO()
    mode = "w:" + ending[5:]
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]  # any mode
        for name in ("a.txt", "b.txt"):
            info = tarfile.TarInfo(name)
            info.size = 6
            archive.addfile(info, io.BytesIO(b"Words."))
    mill.raw(f"texts{ending}", buffer.getvalue())
    converted_by(mill, monkeypatch, TextFiles(source="pages"))
    raw = raw_of(mill, "pages", f"texts{ending}/b.txt")
    assert (raw.member, raw.range, raw.counted_in) == ("b.txt", (0, 6), "member")


@pytest.mark.parametrize("reader", ["lines", "wiki"])
def test_of_a_part_of_a_bz2_object_the_range_counts_from_its_first_block(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    convert: Callable[..., Any]
    if reader == "lines":
        plain, convert = lines(make_documents(400)), JsonLines(source="pages")
    else:
        plain, convert = (
            f"<mediawiki>\n{''.join(map(wiki_page, range(400)))}</mediawiki>".encode(),
            MediaWikiPages(source="pages"),
        )
    data = b"".join(bz2.compress(plain[at : at + 4000]) for at in range(0, len(plain), 4000))
    mill.raw("a.xml.bz2", data)
    converted_by(mill, monkeypatch, convert, shards=Split(bytes=len(data) // 3))
    raw = raw_of(mill, "pages", "doc-00300" if reader == "lines" else "300")
    assert raw.range is not None
    assert raw.part is not None
    assert raw.begins is not None
    assert raw.counted_in == "unpacked part"
    assert 0 < raw.part[0] <= raw.begins
    behind = bz2_units(iter([data[raw.begins :]]), "a.bz2", RawPart(raw.begins, len(data)))
    found = b"".join(each for each in behind if isinstance(each, bytes))[slice(*raw.range)]
    assert (b'"doc-00300"' if reader == "lines" else b"<id>300</id>") in found
    assert found.startswith(b"{" if reader == "lines" else b"<page>")
