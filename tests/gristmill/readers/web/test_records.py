"""WARC records: none is lost in silence, whatever is wrong with the file. fastwarc reads the same sound files."""

import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from fastwarc.warc import ArchiveIterator
from warcfile import Reading, http, packed, page, read, record

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.web.records import WarcRecord, parse_warc_header, read_warc_records
from gristmill.recipes.raw_object import Converted, Limits, RawObject

PAGES = [page(n) for n in range(5)]


def as_documents(raw: RawObject) -> Iterator[Converted]:
    """Each record as a document of its bytes; requests are left out."""
    for each in read_warc_records(raw, lambda found: "request" if found.get("warc-type") == "request" else "", "crawl"):
        yield Document(each.id, each.content.decode("latin-1"), "web") if isinstance(each, WarcRecord) else each


def read_records(root: Path, data: bytes, limits: Limits | None = None) -> Reading:
    return read(as_documents, root, data, limits=limits)


def ids(found: Reading) -> str:
    return "".join(document.id.strip("<>").removeprefix("urn:uuid:") for document in found.documents)


@pytest.mark.parametrize(
    "data",
    [
        b"".join(PAGES),
        packed(*PAGES),
        gzip.compress(b"".join(PAGES), mtime=0),
        packed(PAGES[0] + PAGES[1], b"".join(PAGES[2:])),
        packed(PAGES[0][:50], PAGES[0][50:] + PAGES[1][:700], PAGES[1][700:] + b"".join(PAGES[2:])),
        zstandard.compress(b"".join(PAGES)),
        b"".join(PAGES).replace(b"WARC/1.0\r\n", b"WARC/1.1 \r\n").removesuffix(b"\r\n\r\n"),
    ],
    ids=["plain", "by record", "whole", "by two", "across", "zstd", "no end"],
)
def test_all_records_are_read_however_they_are_packed(tmp_path: Path, data: bytes) -> None:
    found = read_records(tmp_path, data)
    assert (ids(found), found.refused, found.left_out) == ("01234", [], {})
    whole = data if data.startswith(b"WARC") else b"".join(PAGES)
    begins = [at for at in range(len(whole)) if whole.startswith(b"WARC/1", at)]
    ends = [at - 4 for at in begins[1:]] + [len(whole.removesuffix(b"\r\n\r\n"))]
    assert found.spans == [RawSpan(*each) for each in zip(begins, ends, strict=True)]


@pytest.mark.skipif("GRISTMILL_SAMPLE_DATA" not in os.environ, reason="no sample data")
def test_fastwarc_finds_the_same_records_in_real_files(tmp_path: Path) -> None:
    files = sorted((Path(os.environ["GRISTMILL_SAMPLE_DATA"]) / "raw").glob("*-crawl/*/*.gz"))
    assert len(files) == 7
    for file in files:
        data = file.read_bytes()
        theirs = [
            (r.headers["WARC-Record-ID"], r.content_length) for r in ArchiveIterator(io.BytesIO(data), parse_http=False)
        ]
        ours = read(
            lambda raw: (as_row(each) for each in read_warc_records(raw, lambda _: "", "crawl")), tmp_path, data
        )
        assert [(document.id, len(document.text)) for document in ours.documents] == theirs


def as_row(each: object) -> Document:
    assert isinstance(each, WarcRecord)
    return Document(each.id, each.content.decode("latin-1"), "web")


@pytest.mark.parametrize("packing", [packed, lambda *made: b"".join(made)])
def test_a_file_cut_at_any_place_inside_a_record_is_an_error(tmp_path: Path, packing: object) -> None:
    data = packing(*PAGES[:2])  # type: ignore[operator]
    for cut in range(len(data) - 5, len(data) // 2 + 3, -13):
        with pytest.raises(DataError, match=r"a\.warc\.gz: "):
            read_records(tmp_path, data[:cut])


def test_a_damaged_member_is_refused_and_the_others_are_kept(tmp_path: Path) -> None:
    """fastwarc's own loop says nothing of the kind: this is why records are cut here."""
    parts = [gzip.compress(each, mtime=0) for each in PAGES]
    for number in range(4):
        start = sum(map(len, parts[:number]))
        for at in (12, len(parts[number]) // 2, len(parts[number]) - 6):
            data = bytearray(b"".join(parts))
            data[start + at] ^= 0x04
            found = read_records(tmp_path, bytes(data))
            assert ids(found) == "01234".replace(str(number), "")
            assert found.reasons == ["damaged record"]
            assert f"bytes {start}-{start + len(parts[number])} of the file" in found.refused[0].where
            assert found.refused[0].size == len(parts[number])


def test_damage_in_the_last_member_is_an_error(tmp_path: Path) -> None:
    data = bytearray(packed(*PAGES))
    data[-6] ^= 1
    with pytest.raises(DataError, match="next record cannot be found; acquire it again"):
        read_records(tmp_path, bytes(data))


def test_damage_after_records_of_the_same_member_is_an_error(tmp_path: Path) -> None:
    both = PAGES[0] + record("response", bytes(3 << 20), 1)
    data = bytearray(packed(both, PAGES[2]))
    data[len(packed(both)) - 6] ^= 1  # the checksum of both is wrong
    with pytest.raises(DataError, match="damaged at record"):
        read_records(tmp_path, bytes(data))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (page(9).replace(b"Content-Length: ", b"Content-Length: 9"), "record shorter than its Content-Length"),
        (record("response", http(b"abc"), Content_Length="5"), "record longer than its Content-Length"),
        (record("response", Content_Length="-1"), "no Content-Length"),
        (record("response", Content_Length="1e9"), "no Content-Length"),
        (record("response", Content_Length=None), "no Content-Length"),
        (b"GET / HTTP/1.1\r\n\r\n", "not a WARC record"),
        (b"WARC/1.0\r\nno field\r\n\r\n", "not a WARC record"),
        (b"WARC/1.0\r\nA: " + b"x" * 70_000 + b"\r\n\r\n", "record header too long"),
        (record("response", b"abc", WARC_Block_Digest="sha1:" + "A" * 32), "wrong checksum"),
        (record("response", b"abc", WARC_Block_Digest="md5:" + "0" * 32), "wrong checksum"),
    ],
)
def test_a_malformed_record_is_refused_and_the_next_is_read(tmp_path: Path, bad: bytes, reason: str) -> None:
    found = read_records(tmp_path, packed(PAGES[0], bad, PAGES[1]))
    assert (ids(found), found.reasons) == ("01", [reason])
    assert f"member at byte {len(packed(PAGES[0]))}" in found.refused[0].where
    if reason != "wrong checksum":  # a plain file does not tell where the next record begins
        with pytest.raises(DataError, match=r"a\.warc\.gz: .*acquire it again"):
            read_records(tmp_path, PAGES[0] + bad + PAGES[1])


def test_a_digest_of_an_unknown_algorithm_is_not_compared(tmp_path: Path) -> None:
    found = read_records(tmp_path, packed(record("response", b"abc", 1, WARC_Block_Digest="blake9:abc")))
    assert ids(found) == "1"


def test_a_record_that_is_too_long_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    long = record("response", http(bytes(5_000)), 7)
    found = read_records(tmp_path, packed(PAGES[0], long, PAGES[1]), Limits(row=2_000))
    assert (ids(found), found.reasons) == ("01", ["row too long"])
    assert found.refused[0].size > 5_000
    assert "row_limit is 2000" in found.refused[0].where


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    found = read_records(tmp_path, packed(record("request"), PAGES[0], record("request", b"x" * 99)))
    assert (ids(found), found.left_out) == ("0", {"request": 2})


def test_a_bomb_is_an_error(tmp_path: Path) -> None:
    data = 300 * packed(record("request", bytes(1 << 20)))
    with pytest.raises(DataError, match="as a decompression bomb does"):
        read_records(tmp_path, data, Limits(unpack=10))


def test_names_and_continued_lines_are_read_as_rfc_822_says() -> None:
    assert parse_warc_header([b"A: 1\r", b"b:2", b"\t3", b"a: \xe9"]) == {"a": "1, é", "b": "2 3"}
    with pytest.raises(ValueError, match="nothing"):
        parse_warc_header([b"nothing"])
