"""Reads the HTML pages of a crawl in WARC files: the main text of each page is a document."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta

from gristmill.errors import RecipeError
from gristmill.extras import Needs, needs
from gristmill.lake.rows.document import Document
from gristmill.readers.text import Unfit, fit_text
from gristmill.readers.web.charsets import decode_page
from gristmill.readers.web.extraction import Extractor, check_options, extract_main_text, extractor_version
from gristmill.readers.web.http import (
    HttpResponse,
    charset_of_content_type,
    media_type_of_header,
    parse_http_response,
    unpack_http_body,
    without_undeclared_gzip,
)
from gristmill.readers.web.part_members import gzip_members
from gristmill.readers.web.records import WarcRecord, read_warc_records
from gristmill.recipes.option_types import Json, check_types
from gristmill.recipes.raw_object import Converted, LeftOut, RawObject
from gristmill.recipes.reader import Reader

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TOP = frozenset({"image", "audio", "video", "font", "text", "application"})
_FOUND = frozenset({200, 203})
_REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
_OTHER_FILES = (b"%PDF", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04", b"\x1f\x8b", b"RIFF", b"\0\0\1\0")
_BEGINNINGS = (b"<!doctype html", b"<html", b"<head", b"<!--", b"<?xml")
_KEPT = (
    "warc-date", "warc-target-uri", "warc-payload-digest", "warc-block-digest", "warc-refers-to", "warc-concurrent-to",
    "warc-warcinfo-id", "warc-truncated", "warc-identified-payload-type", "warc-identified-content-language",
)  # fmt: skip
"""Fields of a record's header that identify it and its content."""


@dataclass(frozen=True, kw_only=True)
class WarcPages(Reader):
    """Reads WARC files of any crawler: Common Crawl, wget, Heritrix. Use it as the `convert` of a source.

    The id is the WARC-Record-ID as written; `created` is the WARC-Date. Metadata: `url`, `title`, `html_lang` (the
    language that the page declares), `content_type`, `charset`, `http_status`, and the fields of the record's header
    that identify it, in `warc_headers`.

    Counted as left out: requests, metadata and other records that are not pages, revisits, redirects, other HTTP
    statuses than 200, everything that is not HTML, pages that the crawler cut, and pages without a main text. Refused:
    damaged records, pages that cannot be decoded or unpacked, and pages that are too long or too deep.

    Attributes:
        source: name of the source.
        extractor: the library that finds the main text: `resiliparse`, or `trafilatura` (an extra to install).
        options: options of the extractor, by the names of its own function: `extract_plain_text` of resiliparse (by
            default `main_content=True, alt_texts=False`), `extract` of trafilatura (by default
            `include_comments=False`).
        extractor_version: the version of the extractor's package that makes these documents. With another one installed
            the conversion stops, because texts may differ. None: any.
        truncated: choice about pages that the crawler cut (WARC-Truncated): leave them out, or keep them.
        page_limit: longest page in bytes, unpacked.
        added: date on which the crawl was acquired, for the documents' `added`.
    """

    needs: ClassVar[Needs] = needs("fastwarc", "resiliparse")

    source: str
    extractor: Extractor = "resiliparse"
    options: Json = field(default_factory=dict)
    extractor_version: str | None = None
    truncated: Literal["leave out", "keep"] = "leave out"
    page_limit: Annotated[int, Meta(ge=1)] = 16 << 20
    added: str | None = None

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one of them has another type, or is unknown to the extractor.
        """
        what = f"WarcPages of source {self.source!r}"
        check_types(self, what)
        check_options(self.extractor, self.options, what)

    def cut_by(self, name: str) -> str:
        """The units at which a file of this name is cut, `gzip members`; empty if it is never cut. See Split."""
        return gzip_members(name)

    def check(self) -> None:
        """Checks what is installed. It is asked before anything is ground, and again by each worker.

        Raises:
            RecipeError: a package or the extractor is not installed, or in another version than the recipe asks for.
        """
        super().check()
        installed = extractor_version(self.extractor)
        if self.extractor_version not in {None, installed}:
            raise RecipeError(
                f"WarcPages of source {self.source!r}: the recipe asks for {self.extractor} {self.extractor_version},"
                f" and {installed} is installed; install that version, or take the next source version"
            )

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per record. See gristmill.recipes.source.Source.convert.

        Raises:
            RecipeError: see check().
        """
        self.check()
        for record in read_warc_records(raw, self._leave_out, self.source):
            yield self._convert_page(record, raw.count) if isinstance(record, WarcRecord) else record

    def _leave_out(self, headers: dict[str, str]) -> str:
        kind = headers.get("warc-type", "").lower()
        if kind in {"request", "metadata", "warcinfo", "revisit"}:
            return f"{kind} record"
        content_type = media_type_of_header(headers.get("content-type", ""))
        if kind == "resource":
            if content_type not in _HTML:
                return "resource record that is not HTML"
        elif kind == "response" and content_type not in {"application/http", ""}:
            return "response that is not HTTP"
        if kind in {"resource", "response"} and "warc-truncated" in headers and self.truncated == "leave out":
            return "cut by the crawler"
        return ""

    def _convert_page(self, record: WarcRecord, count: Callable[[str], None]) -> Converted:
        if record.kind == "conversion":
            return record.refused("conversion record", "WetPages reads WET files")
        if record.kind == "continuation" or "warc-segment-number" in record.headers:
            return record.refused("record in segments")
        if record.kind not in {"response", "resource"}:
            return record.refused("unknown record type", record.kind[:40] or "no WARC-Type")
        if not record.id:
            return record.refused("no WARC-Record-ID")
        try:
            made = self._page_document(record, count)
            return made._replace(id=record.id, source=self.source) if isinstance(made, LeftOut) else made
        except Unfit as unfit:
            return record.refused(unfit.reason, unfit.detail)

    def _page_document(self, record: WarcRecord, count: Callable[[str], None]) -> Document | LeftOut:
        if record.kind == "response":
            response = parse_http_response(record.content)
            reason = _left_out_reason(response)
            if reason:
                return LeftOut(reason)
            body, status = unpack_http_body(response, self.page_limit, count), response.status
            body = without_undeclared_gzip(body, self.page_limit, count)
            content_type, charset = response.content_type, response.charset
            wanted = content_type or _begins_like_html(body)
        else:
            declared = record.headers.get("content-type", "")
            body = without_undeclared_gzip(record.content, self.page_limit, count)
            status, content_type, charset = None, media_type_of_header(declared), charset_of_content_type(declared)
            wanted = True
            if len(body) > self.page_limit:
                raise Unfit("page too long", f"more than {self.page_limit} bytes")
        if not body.strip():
            return LeftOut("empty page")
        if not wanted or body.startswith(_OTHER_FILES):
            return LeftOut("not HTML: by its first bytes")
        html, charset, replaced = decode_page(body, charset)
        page = extract_main_text(html, self.extractor, self.options)
        if not page.text:
            return LeftOut("no main text")
        metadata: dict[str, Any] = {"url": record.url}
        found = {"title": page.title, "html_lang": page.language, "content_type": content_type, "charset": charset}
        metadata |= {name: value for name, value in found.items() if value}
        if status is not None:
            metadata["http_status"] = status
        if replaced:
            metadata["replaced_characters"] = replaced
        metadata["warc_headers"] = {name: record.headers[name] for name in _KEPT if name in record.headers}
        return Document(
            id=record.id,
            text=fit_text(page.text),
            source=self.source,
            added=UNSET if self.added is None else self.added,
            created=record.warc_date or UNSET,
            metadata=metadata,
        )


def _left_out_reason(response: HttpResponse) -> str:
    """The reason to leave a response out; empty if it may be a page."""
    if response.status in _REDIRECTS:
        return "redirect"
    if response.status not in _FOUND:
        return f"HTTP status {response.status // 100}xx"
    if response.content_type and response.content_type not in _HTML:
        top = response.content_type.partition("/")[0]
        return f"not HTML: {top if top in _TOP else 'other'}"
    return ""


def _begins_like_html(body: bytes) -> bool:
    return body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_BEGINNINGS)
