"""WET and WAT files of Common Crawl, and WARC files that are taken for one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from warcfile import packed, page, read, record

from gristmill.readers.web.wet import WatPages, WetPages

WET = WetPages(source="web")
WAT = WatPages(source="web")


def fact(kind: str = "response", number: int = 1, status: str = "200", **head: Any) -> bytes:
    envelope = {
        "WARC-Header-Metadata": {
            "WARC-Type": kind,
            "WARC-Record-ID": "<urn:uuid:page>",
            "WARC-Date": "2021-09-16T11:07:14Z",
            "WARC-Target-URI": "<https://example.org/>",
        },
        "Payload-Metadata": {
            "HTTP-Response-Metadata": {"Response-Message": {"Status": status}, "HTML-Metadata": {"Head": head}}
        },
    }
    content = json.dumps({"Container": {}, "Envelope": envelope}).encode()
    return record("metadata", content, number, Content_Type="application/json")


def test_the_text_of_a_wet_record_is_kept_as_it_is(tmp_path: Path) -> None:
    made = record("conversion", " Menü\r\nText\n".encode(), 3, WARC_Identified_Content_Language="deu,eng")
    found = read(WET, tmp_path, packed(record("warcinfo"), made))
    (document,) = found.documents
    assert (document.id, document.text, document.created) == (
        "<urn:uuid:3>",
        " Menü\r\nText\n",
        "2024-05-18T01:58:10.000Z",
    )
    assert (found.metadata()["url"], found.metadata()["language"]) == ("https://example.org/3", "de")
    assert found.metadata()["warc_headers"]["content-length"] == "13"
    assert found.left_out == {"warcinfo record": 1}


@pytest.mark.parametrize(
    ("made", "refused", "left_out"),
    [
        (record("conversion", b"\n"), [], {"empty page": 1}),
        (record("conversion", b"\xef\xbb\xbf\n"), [], {"empty page": 1}),
        (record("request"), [], {"request record": 1}),
        (record("conversion", b"caf\xe9"), ["not UTF-8"], {}),
        (record("conversion", b"a\0b"), ["text holds NUL"], {}),
        (record("conversion", b"text", WARC_Record_ID=None), ["no WARC-Record-ID"], {}),
        (page(), ["not a conversion record"], {}),
    ],
)
def test_other_records_of_a_wet_file_are_counted(
    tmp_path: Path, made: bytes, refused: list[str], left_out: dict[str, int]
) -> None:
    found = read(WET, tmp_path, packed(made))
    assert (found.documents, found.reasons, found.left_out) == ([], refused, left_out)


def test_a_wat_record_gives_title_and_description(tmp_path: Path) -> None:
    metas = [{"property": "og:description", "content": "Second."}, {"name": "Description", "content": " Flour. "}]
    found = read(WAT, tmp_path, packed(fact(Title="A\n mill", Metas=metas, Link=[{"url": "/a"}])))
    (document,) = found.documents
    assert (document.id, document.text, document.created) == (
        "<urn:uuid:1>",
        "A mill\n\nFlour.",
        "2021-09-16T11:07:14.000Z",
    )
    metadata = found.metadata()
    head = metadata.pop("envelope")["Payload-Metadata"]["HTTP-Response-Metadata"]["HTML-Metadata"]["Head"]
    assert head["Link"] == [{"url": "/a"}]
    assert metadata == {
        "url": "https://example.org/", "title": "A mill", "http_status": 200, "page_id": "<urn:uuid:page>",
    }  # fmt: skip
    bare = read(WatPages(source="web", envelope=False), tmp_path, packed(fact(Title="A", Metas=metas)))
    assert "envelope" not in bare.metadata()


@pytest.mark.parametrize(
    ("made", "refused", "left_out"),
    [
        (fact("request"), [], {"facts about a request record": 1}),
        (fact("novelty"), [], {"facts about another record": 1}),
        (fact(), [], {"page without HTML facts": 1}),
        (fact(Title=" ", Metas=[1, {"name": "description"}]), [], {"page without title and description": 1}),
        (fact(Title="a\0b"), ["text holds NUL"], {}),
        (record("metadata", b"{"), ["invalid JSON"], {}),
        (record("metadata", b"[1]"), ["no envelope"], {}),
        (record("conversion", b"text"), ["not a metadata record"], {}),
    ],
)
def test_other_records_of_a_wat_file_are_counted(
    tmp_path: Path, made: bytes, refused: list[str], left_out: dict[str, int]
) -> None:
    found = read(WAT, tmp_path, packed(record("warcinfo"), made))
    assert (found.documents, found.reasons, found.left_out) == ([], refused, {"warcinfo record": 1, **left_out})


@pytest.mark.skipif("GRISTMILL_SAMPLE_DATA" not in os.environ, reason="no sample data")
def test_the_real_files_of_one_page(tmp_path: Path) -> None:
    folder = Path(os.environ["GRISTMILL_SAMPLE_DATA"]) / "raw" / "common-crawl" / "2024-22"
    wet = read(WET, tmp_path, (folder / "whirlwind.warc.wet.gz").read_bytes())
    assert [document.id for document in wet.documents] == ["<urn:uuid:ba729a40-ff84-4085-8d48-0a5b2ee0c42d>"]
    assert len(wet.documents[0].text.encode()) == 4456
    assert wet.metadata()["language"] == "es"
    wat = read(WAT, tmp_path, (folder / "whirlwind.warc.wat.gz").read_bytes())
    assert (wat.documents, wat.refused) == ([], [])
    assert wat.left_out == {"warcinfo record": 1, "facts about a request record": 1}
