"""HTTP responses: what is undone to get the page's bytes, and within which bounds."""

import gzip
import zlib
from collections.abc import Callable
from io import BytesIO

import pytest
import zstandard
from fastwarc.stream_io import BrotliWriter
from warcfile import http

from gristmill.readers.text import Unfit
from gristmill.readers.web.http import parse_http_response, unpack_http_body, without_undeclared_gzip

PAGE = b"<html>" + b"<p>grist</p>" * 900


def brotli(body: bytes) -> bytes:
    file = BytesIO()
    writer = BrotliWriter(file)
    writer.write(body)
    writer.close()
    return file.getvalue()


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def chunked(body: bytes, size: int = 999) -> bytes:
    pieces = (body[at : at + size] for at in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in pieces) + b"0\r\n\r\n"


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("name", PACKERS)
def test_encodings_of_the_content_are_undone_within_a_bound(name: str) -> None:
    body = PACKERS[name](PAGE)
    assert unpack_http_body(parse_http_response(http(body, Content_Encoding=name)), 1 << 20) == PAGE
    assert (
        unpack_http_body(
            parse_http_response(http(chunked(body), Content_Encoding=name, Transfer_Encoding="chunked")), 1 << 20
        )
        == PAGE
    )
    assert (
        unpack_http_body(parse_http_response(http(PAGE, Content_Encoding=name)), 1 << 20) == PAGE
    )  # a crawler has undone it
    bomb = PACKERS[name](bytes(20 << 20))
    with pytest.raises(Unfit, match="page too long: more than 1000000 bytes"):
        unpack_http_body(parse_http_response(http(bomb, Content_Encoding=name)), 1_000_000)
    with pytest.raises(Unfit, match="damaged HTTP body"):
        unpack_http_body(parse_http_response(http(body[: len(body) // 2], Content_Encoding=name)), 1 << 20)


def test_deflate_without_a_frame_and_two_encodings() -> None:
    assert unpack_http_body(parse_http_response(http(raw_deflate(PAGE), Content_Encoding="deflate")), 1 << 20) == PAGE
    twice = gzip.compress(zlib.compress(PAGE), mtime=0)
    assert unpack_http_body(parse_http_response(http(twice, Content_Encoding="deflate, gzip")), 1 << 20) == PAGE


SKIPPABLE = b"\x50\x2a\x4d\x18\x03\0\0\0abc"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("gzip", gzip.compress(PAGE[:99], mtime=0) + gzip.compress(PAGE[99:], mtime=0)),
        (
            "gzip",
            gzip.compress(PAGE[:99], mtime=0)
            + gzip.compress(b"", mtime=0)
            + b"\0" * 9
            + gzip.compress(PAGE[99:], mtime=0)
            + b"rubbish",
        ),
        ("zstd", zstandard.compress(PAGE[:99]) + zstandard.compress(PAGE[99:])),
        ("zstd", SKIPPABLE + zstandard.compress(PAGE[:99]) + SKIPPABLE + zstandard.compress(PAGE[99:])),
    ],
)
def test_all_members_and_frames_are_read_within_the_bound(name: str, body: bytes) -> None:
    response = parse_http_response(http(body, Content_Encoding=name))
    assert unpack_http_body(response, len(PAGE)) == PAGE
    with pytest.raises(Unfit, match="page too long"):
        unpack_http_body(response, len(PAGE) - 1)


@pytest.mark.parametrize(
    ("body", "odd"),
    [
        (chunked(PAGE), []),
        (chunked(PAGE)[:-5], ["chunked body without its end"]),
        (chunked(PAGE)[:-7], ["chunked body without its end"]),
        (PAGE, ["chunked body without chunks"]),
    ],
)
def test_whole_bodies_are_taken_without_the_last_chunk_or_any(body: bytes, odd: list[str]) -> None:
    counted: list[str] = []
    assert (
        unpack_http_body(parse_http_response(http(body, Transfer_Encoding="chunked")), 1 << 20, counted.append) == PAGE
    )
    assert counted == odd
    assert (
        unpack_http_body(parse_http_response(http(b"Add " + PAGE, Transfer_Encoding="chunked")), 1 << 20)
        == b"Add " + PAGE
    )


def test_gzip_that_no_field_declares_is_unpacked_or_named() -> None:
    counted: list[str] = []
    assert without_undeclared_gzip(PAGE, 9, counted.append) == PAGE
    assert without_undeclared_gzip(gzip.compress(PAGE, mtime=0), len(PAGE), counted.append) == PAGE
    assert counted == ["gzip without Content-Encoding"]
    with pytest.raises(Unfit, match="page too long"):
        without_undeclared_gzip(gzip.compress(PAGE, mtime=0), 99, counted.append)
    with pytest.raises(Unfit, match="packed body without Content-Encoding: gzip: it is not complete"):
        without_undeclared_gzip(gzip.compress(PAGE, mtime=0)[:-9], 1 << 20, counted.append)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (http(b"", Content_Encoding="sdch"), "unknown Content-Encoding"),
        (http(b"", Content_Encoding="gzip, gzip, gzip, gzip"), "unknown Content-Encoding"),
        (http(b"5\r\nabc", Transfer_Encoding="chunked"), "damaged HTTP body"),
        (http(b"3\r\nabcxyz", Transfer_Encoding="chunked"), "damaged HTTP body"),
        (
            http(gzip.compress(PAGE, mtime=0) + gzip.compress(PAGE, mtime=0)[:-9], Content_Encoding="gzip"),
            "damaged HTTP body",
        ),
        (http(zstandard.compress(PAGE) * 2 + b"\x28\xb5\x2f\xfd", Content_Encoding="zstd"), "damaged HTTP body"),
    ],
)
def test_a_body_that_cannot_be_unpacked_is_unfit(response: bytes, reason: str) -> None:
    with pytest.raises(Unfit) as told:
        unpack_http_body(parse_http_response(response), 1 << 20)
    assert told.value.reason == reason


@pytest.mark.parametrize("content", [b"", b"<html>", b"HTTP/1.1 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b", b"x" * 99_999])
def test_what_is_no_response_is_unfit(content: bytes) -> None:
    with pytest.raises(Unfit, match="malformed HTTP"):
        parse_http_response(content)


def test_lines_that_are_no_fields_are_passed_over_as_browsers_do() -> None:
    response = parse_http_response(b"HTTP/1.1 404\nContent-Type: TEXT/HTML ; Charset='UTF-8'\nrubbish\n\nbody")
    assert (response.status, response.content_type, response.charset, response.body) == (
        404,
        "text/html",
        "UTF-8",
        b"body",
    )
