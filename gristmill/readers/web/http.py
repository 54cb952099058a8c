"""An HTTP response as a WARC record holds it: status, header fields, and the body without its transfer's encodings."""

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import zstandard

from gristmill.extras import extra
from gristmill.readers.text import Unfit
from gristmill.readers.web.records import HEADER_LIMIT, parse_warc_header

_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})(?: .*)?\r?")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]{0,4000})?\r?\n")
_PADDING = re.compile(rb"\0*")
_GZIP, _ZSTD, _SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_STEP = 64 << 10
_PACKED_STEP = 4 << 10  # zstd unpacks all of its input at once; and what is behind a member is copied
_MOST_ENCODINGS = 3


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response.

    Attributes:
        status: its status code.
        headers: values of the fields, by their names in lower case.
        body: content as it was sent.
    """

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        """The media type that it declares, in lower case, such as `text/html`; empty without one."""
        return media_type_of_header(self.headers.get("content-type", ""))

    @property
    def charset(self) -> str:
        """The charset that it declares; empty without one."""
        return charset_of_content_type(self.headers.get("content-type", ""))


def media_type_of_header(content_type: str) -> str:
    """The media type of a Content-Type.

    >>> media_type_of_header("Text/HTML; charset=utf-8")
    'text/html'
    """
    return content_type.partition(";")[0].partition(",")[0].strip().lower()


def charset_of_content_type(content_type: str) -> str:
    """The charset of a Content-Type; empty without one.

    >>> charset_of_content_type("text/html; charset=windows-1251")
    'windows-1251'
    """
    match = _CHARSET.search(content_type)
    return match[1] if match else ""


def parse_http_response(content: bytes) -> HttpResponse:
    r"""The response that a record holds: its status, header and body.

    Args:
        content: its bytes.

    Raises:
        Unfit: "malformed HTTP": no status line, or no end of the header in its first 64 KiB.

    >>> parse_http_response(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Hi").body
    b'<p>Hi'
    """
    end, width = content.find(b"\r\n\r\n", 0, HEADER_LIMIT), 4
    if end < 0:
        end, width = content.find(b"\n\n", 0, HEADER_LIMIT), 2
    first, _, rest = content[: max(end, 0)].partition(b"\n")
    status = _STATUS.fullmatch(first)
    if end < 0 or status is None:
        raise Unfit("malformed HTTP", f"it begins with {content[:32]!r}")
    lines = [line for line in rest.split(b"\n") if b":" in line or line[:1] in {b" ", b"\t"}]
    try:
        headers = parse_warc_header(lines)
    except ValueError as error:
        raise Unfit("malformed HTTP", f"a line of its header is no field: {error}") from error
    return HttpResponse(int(status[1]), headers, content[end + width :])


def unpack_http_body(response: HttpResponse, most: int, count: Callable[[str], None] = lambda _: None) -> bytes:
    """The body without chunks and compression.

    Some crawlers undo them and leave the fields as they were sent, so a body that does not begin as declared is taken
    as it is.

    Args:
        response: the response.
        most: most bytes of the result.
        count: function that receives the name of each oddity of a body that is taken, such as chunks without their end.

    Raises:
        Unfit: "damaged HTTP body", "unknown Content-Encoding", or "page too long".
    """
    body = response.body
    if "chunked" in response.headers.get("transfer-encoding", "").lower():
        body = join_http_chunks(body, count)
    names = [each.strip().lower() for each in response.headers.get("content-encoding", "").split(",")]
    encodings = [name for name in names if name not in {"", "identity", "none", "utf-8"}]
    if len(encodings) > _MOST_ENCODINGS:
        raise Unfit("unknown Content-Encoding", f"{len(encodings)} of them")
    for name in reversed(encodings):
        unpack = _UNPACK.get(name)
        if unpack is None:
            raise Unfit("unknown Content-Encoding", name[:40])
        try:
            body = unpack(body, most + 1)
        except _DAMAGES as error:
            raise Unfit("damaged HTTP body", f"{name}: {error}") from error
        if len(body) > most:
            break
    if len(body) > most:
        raise Unfit("page too long", f"more than {most} bytes")
    return body


def without_undeclared_gzip(body: bytes, most: int, count: Callable[[str], None]) -> bytes:
    """A body that is packed by gzip though no field says so, unpacked; any other as it is.

    Args:
        body: content as the fields of the header say, without chunks.
        most: most bytes of the result.
        count: function that receives a name for each packed body.

    Raises:
        Unfit: "packed body without Content-Encoding": it cannot be unpacked; or "page too long".
    """
    if not body.startswith(_GZIP):
        return body
    try:
        body = _unpack_gzip_body(body, most + 1)
    except _DAMAGES as error:
        raise Unfit("packed body without Content-Encoding", f"gzip: {error}") from error
    if len(body) > most:
        raise Unfit("page too long", f"more than {most} bytes")
    count("gzip without Content-Encoding")
    return body


def join_http_chunks(body: bytes, count: Callable[[str], None] = lambda _: None) -> bytes:
    r"""A body without the lengths of its chunks.

    Args:
        body: content as it was sent. If it does not begin with the length of a chunk, the crawler has undone the
            chunks.
        count: function that receives a name for each body without chunks, and of one that ends behind a whole chunk,
            without the last, empty one.

    Raises:
        Unfit: "damaged HTTP body".

    >>> join_http_chunks(b"4\r\nWiki\r\n5;x=1\r\npedia\r\n0\r\n\r\n")
    b'Wikipedia'
    >>> join_http_chunks(b"Wikipedia")
    b'Wikipedia'
    """
    parts: list[bytes] = []
    at = 0
    while True:
        match = _CHUNK.match(body, at)
        if match is None and not at:
            count("chunked body without chunks")
            return body
        if match is None and not body[at:].strip(b"\r\n"):
            count("chunked body without its end")
            return b"".join(parts)
        if match is None:
            raise Unfit("damaged HTTP body", f"no chunk at byte {at}")
        size = int(match[1], 16)
        if not size:
            return b"".join(parts)
        chunk = body[match.end() : match.end() + size]
        if len(chunk) < size:
            raise Unfit("damaged HTTP body", f"the chunk at byte {at} is not complete")
        parts.append(chunk)
        at = match.end() + size
        at += 2 if body[at : at + 2] == b"\r\n" else 1


def _unpack_gzip_body(body: bytes, most: int) -> bytes:
    """All members of it; what is behind them is no part of the body."""
    if not body.startswith(_GZIP):
        return body  # it was unpacked by the crawler
    plain, at = bytearray(), 0
    while len(plain) < most and body.startswith(_GZIP, at):
        at = _unpack_deflate_member(body, at, plain, most, zlib.MAX_WBITS | 16)
        padding = _PADDING.match(body, at)
        at = padding.end() if padding else at
    return bytes(plain)


def _unpack_deflate_body(body: bytes, most: int) -> bytes:
    """`deflate` means zlib's form, but some servers send it without its frame."""
    framed = body[:1] and body[0] & 0x0F == zlib.DEFLATED and int.from_bytes(body[:2], "big") % 31 == 0
    plain = bytearray()
    try:
        _unpack_deflate_member(body, 0, plain, most, zlib.MAX_WBITS if framed else -zlib.MAX_WBITS)
    except zlib.error:
        if not framed and body.lstrip()[:1] == b"<":
            return body
        raise
    return bytes(plain)


def _unpack_deflate_member(body: bytes, at: int, plain: bytearray, most: int, bits: int) -> int:
    """Unpacks one member from a byte on to the end of `plain`, until that has so many bytes. Tells the byte behind."""
    unpacker = zlib.decompressobj(bits)
    while len(plain) < most and not unpacker.eof:
        piece = body[at : at + _PACKED_STEP]
        if not piece:
            raise EOFError("it is not complete")
        plain += unpacker.decompress(piece, most - len(plain))
        at += len(piece)
    return at - len(unpacker.unused_data)


def _unpack_brotli_body(body: bytes, most: int) -> bytes:
    if body.lstrip()[:1] == b"<":
        return body
    with extra():
        from fastwarc.stream_io import BrotliReader  # noqa: PLC0415 - an extra
    with BrotliReader(BytesIO(body)) as reader:
        return _read_limited(reader.read, most)


def _unpack_zstd_body(body: bytes, most: int) -> bytes:
    """All frames of it; what is behind them is no part of the body."""
    if not body.startswith(_ZSTD) and not _SKIPPABLE.match(body):
        return body
    plain, at = bytearray(), 0
    while len(plain) < most:
        if _SKIPPABLE.match(body, at):
            at += 8 + int.from_bytes(body[at + 4 : at + 8], "little")
        elif body.startswith(_ZSTD, at):
            at = _unpack_zstd_frame(body, at, plain, most)
        else:
            break
    return bytes(plain[:most])


def _unpack_zstd_frame(body: bytes, at: int, plain: bytearray, most: int) -> int:
    """Unpacks one frame from a byte on to the end of `plain`, until that has so many bytes. Tells the byte behind."""
    frame = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj()
    while len(plain) < most and not frame.eof:
        piece = body[at : at + _PACKED_STEP]
        if not piece:
            raise EOFError("it is not complete")
        plain += frame.decompress(piece)
        at += len(piece)
    return at - len(frame.unused_data)


def _read_limited(read: Callable[[int], bytes], most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < most:
        part = read(min(_STEP, most - size))
        if not part:
            break
        parts.append(bytes(part))
        size += len(part)
    return b"".join(parts)


_DAMAGES = (zlib.error, zstandard.ZstdError, OSError, EOFError, ValueError)
_UNPACK: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _unpack_gzip_body,
    "x-gzip": _unpack_gzip_body,
    "deflate": _unpack_deflate_body,
    "br": _unpack_brotli_body,
    "zstd": _unpack_zstd_body,
}
