"""Reads what Common Crawl makes of its WARC files: WET (the text of each page) and WAT (facts about each page)."""

import codecs
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson
from msgspec import UNSET

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.json_values import decode_exact
from gristmill.readers.jsonl import decoding_error_reason
from gristmill.readers.text import Unfit, fit_text
from gristmill.readers.web.languages import language_tag
from gristmill.readers.web.part_members import gzip_members
from gristmill.readers.web.records import WarcRecord, bare, read_warc_records
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import Converted, LeftOut, RawObject, Refused
from gristmill.recipes.reader import Reader

_DESCRIPTIONS = ("description", "og:description", "twitter:description", "dc.description")


def wet_records(raw: RawObject, source: str, document: Callable[[WarcRecord, str], Converted]) -> Iterator[Converted]:
    """The results for the records of a WET file.

    Args:
        raw: the file.
        source: name of the source.
        document: function that makes a result of a conversion record and its text, which is neither empty nor
            undecodable. What it raises as Unfit becomes a Refused.

    Yields:
        One result per record.
    """
    for record in read_warc_records(raw, _no_conversion_reason, source):
        if not isinstance(record, WarcRecord):
            yield record
        elif record.kind != "conversion":
            what = "WarcPages reads WARC files" if record.kind in {"response", "resource"} else record.kind[:40]
            yield record.refused("not a conversion record", what)
        elif not record.id:
            yield record.refused("no WARC-Record-ID")
        elif not record.content.removeprefix(codecs.BOM_UTF8).strip():
            yield LeftOut("empty page", id=record.id, source=source)
        else:
            try:
                made = document(record, fit_text(record.content.decode()))
                yield made._replace(id=record.id, source=source) if isinstance(made, LeftOut) else made
            except UnicodeDecodeError as error:
                yield record.refused("not UTF-8", f"at byte {error.start} of the content")
            except Unfit as unfit:
                yield record.refused(unfit.reason, unfit.detail)


def _no_conversion_reason(headers: dict[str, str]) -> str:
    kind = headers.get("warc-type", "").lower()
    return f"{kind} record" if kind in {"warcinfo", "request", "metadata", "revisit"} else ""


@dataclass(frozen=True, kw_only=True)
class WetPages(Reader):
    """Reads WET files. Use it as the `convert` of a source.

    The text of a page is kept as it is, boilerplate and all. The id is the WARC-Record-ID as written, `created` the
    WARC-Date. Metadata: `url`, `language` (BCP 47; what Common Crawl identified as the first language), and all fields
    of the record's header in `warc_headers`, by their names in lower case.

    Attributes:
        source: name of the source.
        added: date on which the crawl was acquired, for the documents' `added`.
    """

    source: str
    added: str | None = None

    def __post_init__(self) -> None:
        check_types(self, f"WetPages of source {self.source!r}")

    def cut_by(self, name: str) -> str:
        """The units at which a file of this name is cut, `gzip members`; empty if it is never cut. See Split."""
        return gzip_members(name)

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per record. See gristmill.recipes.source.Source.convert."""
        return wet_records(raw, self.source, self._page_document)

    def _page_document(self, record: WarcRecord, text: str) -> Document:
        metadata: dict[str, Any] = {"url": record.url}
        identified = record.headers.get("warc-identified-content-language", "").partition(",")[0].strip()
        if identified:
            metadata["language"] = language_tag(identified)
        metadata["warc_headers"] = record.headers
        return Document(
            id=record.id,
            text=text,
            source=self.source,
            added=UNSET if self.added is None else self.added,
            created=record.warc_date or UNSET,
            metadata=metadata,
        )


@dataclass(frozen=True, kw_only=True)
class WatPages(Reader):
    """Reads WAT files: for each page, its title and description are the text. Use it as the `convert` of a source.

    WAT has no running text: for that, read WARC or WET. It is read for links and facts. The id is that of the WAT
    record. `created` is the WARC-Date of the page. Metadata: `url`, `title`, `http_status`, `page_id` (the page's
    WARC-Record-ID), and `envelope`: all that the record says, links included.

    Counted as left out: facts about requests and other records that are not pages, redirects, pages without a title and
    a description.

    Attributes:
        source: name of the source.
        envelope: whether the envelope is kept in the metadata. It is about as large as the page's text.
        added: date on which the crawl was acquired, for the documents' `added`.
    """

    source: str
    envelope: bool = True
    added: str | None = None

    def __post_init__(self) -> None:
        check_types(self, f"WatPages of source {self.source!r}")

    def cut_by(self, name: str) -> str:
        """The units at which a file of this name is cut, `gzip members`; empty if it is never cut. See Split."""
        return gzip_members(name)

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per record. See gristmill.recipes.source.Source.convert."""
        for record in read_warc_records(raw, _no_metadata_reason, self.source):
            if not isinstance(record, WarcRecord):
                yield record
            elif record.kind != "metadata":
                yield record.refused("not a metadata record", "WarcPages reads WARC files, WetPages reads WET files")
            else:
                made = self._convert_wat_record(record)
                yield made._replace(id=record.id, source=self.source) if isinstance(made, LeftOut) else made

    def _convert_wat_record(self, record: WarcRecord) -> Document | LeftOut | Refused:
        try:
            whole = decode_exact(record.content)
        except (orjson.JSONDecodeError, msgspec.ValidationError, RecursionError) as error:
            return record.refused(decoding_error_reason(error), str(error))
        envelope = _object_at_path(whole, "Envelope")
        facts = _object_at_path(envelope, "WARC-Header-Metadata")
        if not facts:
            return record.refused("no envelope")
        kind = str(facts.get("WARC-Type", "")).lower()
        if kind != "response":
            return LeftOut(f"facts about a {kind} record" if kind in _KINDS else "facts about another record")
        response = _object_at_path(envelope, "Payload-Metadata", "HTTP-Response-Metadata")
        head = _object_at_path(response, "HTML-Metadata", "Head")
        if not head:
            return LeftOut("page without HTML facts")
        title = " ".join(str(head.get("Title") or "").split())
        text = "\n\n".join(each for each in (title, _meta_description(head)) if each)
        if not text:
            return LeftOut("page without title and description")
        metadata: dict[str, Any] = {"url": bare(str(facts.get("WARC-Target-URI", ""))), "title": title}
        status = str(_object_at_path(response, "Response-Message").get("Status", ""))
        if status.isascii() and status.isdigit():
            metadata["http_status"] = int(status)
        metadata["page_id"] = str(facts.get("WARC-Record-ID", ""))
        if self.envelope:
            metadata["envelope"] = envelope
        page = WarcRecord({"warc-date": str(facts.get("WARC-Date", ""))}, b"", record.where)
        if not record.id:
            return record.refused("no WARC-Record-ID")
        try:
            return Document(
                id=record.id,
                text=fit_text(text),
                source=self.source,
                added=UNSET if self.added is None else self.added,
                created=page.warc_date or UNSET,
                metadata=metadata,
            )
        except Unfit as unfit:
            return record.refused(unfit.reason, unfit.detail)


_KINDS = frozenset({"warcinfo", "request", "metadata", "revisit", "resource", "conversion"})


def _no_metadata_reason(headers: dict[str, str]) -> str:
    return "warcinfo record" if headers.get("warc-type", "").lower() == "warcinfo" else ""


def _object_at_path(value: Any, *path: str) -> Mapping[str, Any]:
    """The object at a path; empty if the path leads to no object."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _meta_description(head: Mapping[str, Any]) -> str:
    metas = head.get("Metas")
    found: dict[str, str] = {}
    for each in metas if isinstance(metas, list) else ():
        if isinstance(each, dict):
            name = str(each.get("name") or each.get("property") or "").lower()
            content = str(each.get("content") or "").strip()
            if name in _DESCRIPTIONS and content:
                found.setdefault(name, content)
    return next((found[name] for name in _DESCRIPTIONS if name in found), "")
