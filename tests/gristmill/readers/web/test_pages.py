"""Pages of a crawl: which records become documents, and under which reason each other one is counted."""

import gzip
import os
from collections import Counter
from pathlib import Path

import pytest
from msgspec import UNSET
from warcfile import DATE, WORDS, html, http, packed, page, read, record

from gristmill.errors import RecipeError
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.web.extraction import extractor_version
from gristmill.readers.web.pages import WarcPages

PAGES = WarcPages(source="web")


def test_a_page_becomes_a_document_with_its_identity(tmp_path: Path) -> None:
    made = record(
        "response", http(html().encode()), 7, WARC_Target_URI="<https://example.org/a?b=c>", WARC_IP_Address="10.0.0.1"
    )
    found = read(PAGES, tmp_path, packed(record("warcinfo"), made))
    (document,) = found.documents
    assert (document.id, document.text, document.source) == ("<urn:uuid:7>", WORDS.strip(), "web")
    assert document.created == "2024-05-18T01:58:10.000Z"
    metadata = found.metadata()
    headers = metadata.pop("warc_headers")
    assert metadata == {
        "url": "https://example.org/a?b=c",
        "title": "Mill",
        "html_lang": "en",
        "content_type": "text/html",
        "charset": "utf-8",
        "http_status": 200,
    }
    assert headers["warc-date"] == DATE
    assert headers["warc-target-uri"] == "<https://example.org/a?b=c>"
    assert headers["warc-block-digest"].startswith("sha1:")
    assert "warc-ip-address" not in headers
    start = len(record("warcinfo"))
    assert found.spans == [RawSpan(start, start + len(made) - 4)]


LEFT_OUT = {
    "warcinfo record": record("warcinfo"),
    "request record": record("request"),
    "metadata record": record("metadata"),
    "revisit record": record("revisit"),
    "resource record that is not HTML": record("resource", b"log", Content_Type="text/plain"),
    "response that is not HTTP": record("response", b"dns", Content_Type="text/dns"),
    "cut by the crawler": record("response", http(html().encode()), WARC_Truncated="length"),
    "redirect": record("response", http(html().encode(), status="301 Moved")),
    "HTTP status 4xx": record("response", http(html().encode(), status="404 Not Found")),
    "HTTP status 5xx": record("response", http(html().encode(), status="503")),
    "HTTP status 2xx": record("response", http(b"", status="204 No Content")),
    "not HTML: image": record("response", http(b"GIF89a", "image/gif")),
    "not HTML: text": record("response", http(b"words", "text/plain; charset=utf-8")),
    "not HTML: application": record("response", http(b"{}", "application/json")),
    "not HTML: other": record("response", http(b"x", "unk")),
    "not HTML: by its first bytes": record("response", http(b"%PDF-1.7 ...")),
    "empty page": record("response", http(b" \r\n")),
    "no main text": record("response", http(b"<html><body><script>run()</script></body></html>")),
}
REFUSED = {
    "conversion record": record("conversion", b"text"),
    "record in segments": record("continuation", b"text"),
    "unknown record type": record("novelty", b"text"),
    "no WARC-Record-ID": record("response", http(html().encode()), WARC_Record_ID=None),
    "malformed HTTP": record("response", b"nothing of HTTP"),
    "undecodable page": record("response", http(bytes(range(128, 256)) * 9)),
    "unknown Content-Encoding": record("response", http(b"x", Content_Encoding="sdch")),
    "damaged HTTP body": record("response", http(b"\x1f\x8b\x08not gzip", Content_Encoding="gzip")),
    "packed body without Content-Encoding": record("response", http(b"\x1f\x8b\x08not gzip")),
    "page too long": record("response", http(b"<p>" + b"x" * (16 << 20))),
    "nested too deeply": record("response", http(b"<div>" * 3000 + b"x")),
}


@pytest.mark.parametrize("reason", LEFT_OUT)
def test_records_that_are_no_pages_are_counted_under_their_reason(tmp_path: Path, reason: str) -> None:
    found = read(PAGES, tmp_path, packed(LEFT_OUT[reason], page(2)))
    assert (len(found.documents), found.reasons, found.left_out) == (1, [], {reason: 1})


@pytest.mark.parametrize("reason", REFUSED)
def test_pages_that_cannot_be_read_are_refused_with_their_place(tmp_path: Path, reason: str) -> None:
    found = read(PAGES, tmp_path, packed(page(2), REFUSED[reason]))
    assert (len(found.documents), found.reasons, found.left_out) == (1, [reason], {})
    assert found.refused[0].where.startswith("a.warc.gz record 1 (bytes ")
    assert len(found.refused[0].raw) <= 4096


def test_html_is_known_by_its_first_bytes_or_by_its_record(tmp_path: Path) -> None:
    bare = record("response", http(html().encode(), content_type=""), 1)
    resource = record(
        "resource", html("Наша мельница. " * 9).encode("cp1251"), 2, Content_Type="text/html; charset=cp1251"
    )
    found = read(PAGES, tmp_path, packed(bare, resource, record("response", http(b"words", content_type=""), 3)))
    assert [document.id for document in found.documents] == ["<urn:uuid:1>", "<urn:uuid:2>"]
    assert found.metadata(1)["charset"] == "cp1251"
    assert "http_status" not in found.metadata(1)
    assert found.left_out == {"not HTML: by its first bytes": 1}


def test_pages_that_are_packed_without_a_word_are_judged_unpacked(tmp_path: Path) -> None:
    made = [gzip.compress(html().encode(), mtime=0), gzip.compress(b"%PDF-1.7 ...", mtime=0)]
    found = read(PAGES, tmp_path, packed(*(record("response", http(body), n) for n, body in enumerate(made))))
    assert [document.id for document in found.documents] == ["<urn:uuid:0>"]
    assert (found.reasons, found.left_out) == ([], {"not HTML: by its first bytes": 1})


def test_what_a_recipe_may_choose(tmp_path: Path) -> None:
    cut = packed(LEFT_OUT["cut by the crawler"])
    reader = WarcPages(
        source="web", truncated="keep", added="2024-06-01T00:00:00.000Z", options={"main_content": False}
    )
    (document,) = read(reader, tmp_path, cut).documents
    assert document.added == "2024-06-01T00:00:00.000Z"
    assert document.text.startswith("Menu")
    with pytest.raises(RecipeError, match=r"resiliparse has no option depth"):
        WarcPages(source="web", options={"depth": 1})
    with pytest.raises(RecipeError, match=r"extractor is 'lynx'; give resiliparse, trafilatura"):
        WarcPages(source="web", extractor="lynx")  # type: ignore[arg-type]


def test_another_version_of_the_extractor_than_the_recipe_asks_for_is_an_error(tmp_path: Path) -> None:
    installed = extractor_version("resiliparse")
    assert read(WarcPages(source="web", extractor_version=installed), tmp_path, packed(page())).documents
    with pytest.raises(RecipeError, match=rf"asks for resiliparse 0\.1, and {installed} is installed"):
        read(WarcPages(source="web", extractor_version="0.1"), tmp_path, packed(page()))


def test_a_date_that_is_not_complete_is_left_to_the_header(tmp_path: Path) -> None:
    found = read(PAGES, tmp_path, packed(record("response", http(html().encode()), WARC_Date="2024-05")))
    assert found.documents[0].created is UNSET
    assert found.metadata()["warc_headers"]["warc-date"] == "2024-05"


REAL = {
    "common-crawl/2020-34/warcfile.warc.gz": (16, {"request record": 17, "metadata record": 16, "warcinfo record": 1}),
    "common-crawl/2024-22/whirlwind.warc.gz": (1, {"request record": 1, "metadata record": 1, "warcinfo record": 1}),
    "wget-crawl/2013-10/IAH-urls-wget.warc.gz": (
        2,
        {
            "request record": 16,
            "redirect": 9,
            "not HTML: image": 3,
            "not HTML: text": 2,
            "resource record that is not HTML": 3,
            "warcinfo record": 1,
        },
    ),
    "wget-crawl/2024-04/sample-0000.warc.gz": (
        22,
        {"request record": 22, "resource record that is not HTML": 2, "metadata record": 1, "warcinfo record": 1},
    ),
    "wget-crawl/2024-04/sample-0001.warc.gz": (
        15,
        {"request record": 15, "resource record that is not HTML": 2, "metadata record": 1, "warcinfo record": 1},
    ),
}
"""Counted by hand in the lists of records of these files."""


@pytest.mark.parametrize("name", REAL)
@pytest.mark.skipif("GRISTMILL_SAMPLE_DATA" not in os.environ, reason="no sample data")
def test_real_crawls_give_the_pages_that_were_counted_by_hand(tmp_path: Path, name: str) -> None:
    pages, left_out = REAL[name]
    found = read(PAGES, tmp_path, (Path(os.environ["GRISTMILL_SAMPLE_DATA"]) / "raw" / name).read_bytes())
    assert (len(found.documents), found.reasons, found.left_out) == (pages, [], Counter(left_out))
    if "2020-34" in name:
        charsets = Counter(found.metadata(n)["charset"] for n in range(16))
        assert charsets == {"utf-8": 7, "gb18030": 6, "cp1252": 2, "cp1251": 1}
    if name.startswith("wget-crawl/2024"):
        assert all(found.metadata(n)["url"].startswith("https://") for n in range(pages))
