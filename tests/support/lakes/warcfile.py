"""Small WARC files, made record by record, and what a reader gives for a file."""

import base64
import gzip
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.raw_object import Converted, LeftOut, Limits, RawObject, Refused

DATE = "2024-05-18T01:58:10Z"
WORDS = "The mill by the river grinds slowly, but it grinds exceedingly fine. "


class Reading(NamedTuple):
    """What a reader gave: documents, refused rows, what was left out by reason, and the raw span of each document."""

    documents: list[Document]
    refused: list[Refused]
    left_out: dict[str, int]
    spans: list[RawSpan | None]

    @property
    def reasons(self) -> list[str]:
        return [row.reason for row in self.refused]

    def metadata(self, number: int = 0) -> dict[str, Any]:
        metadata = self.documents[number].metadata
        assert isinstance(metadata, dict)
        return metadata


def record(kind: str, content: bytes = b"", number: int = 1, **fields: str | None) -> bytes:
    """A WARC record; fields by their names with _ for -, None leaves one out."""
    digest = base64.b32encode(hashlib.sha1(content, usedforsecurity=False).digest()).decode()
    given: dict[str, str | None] = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:{number}>",
        "WARC-Date": DATE,
        "WARC-Target-URI": f"https://example.org/{number}",
        "Content-Type": {"response": "application/http; msgtype=response", "conversion": "text/plain"}.get(kind, ""),
        "Content-Length": str(len(content)),
        "WARC-Block-Digest": f"sha1:{digest}",
    }
    given |= {name.replace("_", "-"): value for name, value in fields.items()}
    lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
    return "\r\n".join(["WARC/1.0", *lines, "", ""]).encode() + content + b"\r\n\r\n"


def http(body: bytes, content_type: str = "text/html; charset=utf-8", status: str = "200 OK", **fields: str) -> bytes:
    """An HTTP response."""
    given = {"Content-Type": content_type, **{name.replace("_", "-"): value for name, value in fields.items()}}
    lines = [f"{name}: {value}" for name, value in given.items() if value]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


def html(words: str = WORDS, title: str = "Mill") -> str:
    """A page whose main text is `words`."""
    return f"<!doctype html><html lang=en><title>{title}</title><nav>Menu</nav><main><p>{words}</p></main></html>"


def page(number: int = 1, words: str = WORDS) -> bytes:
    """The response record of a page."""
    return record("response", http(html(words).encode()), number)


def packed(*made: bytes) -> bytes:
    """Records as crawlers pack them: each is a gzip member."""
    return b"".join(gzip.compress(each, mtime=0) for each in made)


def read(
    reader: Callable[[RawObject], Iterable[Converted]],
    root: Path,
    data: bytes,
    name: str = "a.warc.gz",
    limits: Limits | None = None,
) -> Reading:
    """What a reader gives for a file."""
    store = FolderStore(str(root))
    path = f"sources/web/raw/2024/{name}"
    store.put(path, data)
    raw = RawObject(store, path, name, len(data), limits)
    found = Reading([], [], Counter(), [])
    for row in reader(raw):
        if isinstance(row, Document):
            found.documents.append(row)
            found.spans.append(raw.take_raw_span())
        elif isinstance(row, Refused):
            found.refused.append(row)
        else:
            assert isinstance(row, LeftOut)
            found.left_out[row.reason] += row.records
    found.refused.extend(raw.take_refused())
    return found
