"""A record whose Content-Length swallows the next one."""

import hashlib
import time
from pathlib import Path

import pytest
from warcfile import http, packed, read, record

from gristmill.readers.web.inner_records import InnerRecord
from gristmill.readers.web.pages import WarcPages
from gristmill.readers.web.wet import WetPages

FIRST, SECOND, LAST = (http(f"<p>The mill number {n} grinds slowly.</p>".encode()) for n in range(3))


def swallowing(kind: str = "response", digest: str | None = None) -> list[bytes]:
    """Three records; the first declares the length of itself and of the second."""
    swallowed = record("response", SECOND, 2, WARC_Block_Digest=None)
    length = str(len(FIRST) + 4 + len(swallowed) - 4)
    first = record(kind, FIRST, 1, WARC_Block_Digest=digest, Content_Length=length)
    return [first + swallowed, record("response", LAST, 3)]


@pytest.mark.parametrize("kind", ["response", "request"])
@pytest.mark.parametrize("pack", [b"".join, lambda pieces: packed(*pieces)])
def test_a_record_that_swallows_the_next_one_is_refused(tmp_path: Path, pack: object, kind: str) -> None:
    assert callable(pack)
    found = read(WarcPages(source="web"), tmp_path, pack(swallowing(kind)))
    assert found.reasons == ["record shorter than its Content-Length"]
    assert found.refused[0].where.endswith(": another record begins inside")
    assert [document.text for document in found.documents] == ["The mill number 2 grinds slowly."]


@pytest.mark.parametrize("line", [b"no field", b": no name", b"\xff\xfe", b"a \r b", b"WARC/1.0"])
def test_a_swallowed_record_with_a_malformed_header_is_seen(line: bytes) -> None:
    data = b"words\r\n\r\nWARC/1.0\r\n" + line + b"\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nwords"
    inner = InnerRecord(len(data), compared=False)
    inner.look(data)
    assert inner.found


OF_FIRST = f"sha1:{hashlib.sha1(FIRST, usedforsecurity=False).hexdigest()}"
"""The digest of the first record as it would be without the second one."""


@pytest.mark.parametrize(
    ("kind", "digest"),
    [
        ("request", OF_FIRST),
        ("metadata", OF_FIRST),
        ("response", "blake3:af13"),
        ("response", "sha1:"),
        ("response", ""),
    ],
)
def test_a_digest_that_nobody_compares_hides_no_record(tmp_path: Path, kind: str, digest: str) -> None:
    found = read(WarcPages(source="web"), tmp_path, b"".join(swallowing(kind, digest)))
    assert (found.reasons, found.left_out) == (["record shorter than its Content-Length"], {})
    assert [document.text for document in found.documents] == ["The mill number 2 grinds slowly."]


def test_a_digest_that_is_compared_tells_of_the_swallowed_record(tmp_path: Path) -> None:
    found = read(WarcPages(source="web"), tmp_path, b"".join(swallowing("response", OF_FIRST)))
    assert (found.reasons, len(found.documents)) == (["wrong checksum"], 1)


def test_a_page_that_shows_a_record_is_kept_if_its_digest_is_right(tmp_path: Path) -> None:
    shown = http(b"<pre>An example:\nWARC/1.0\nWARC-Type: response\n</pre>")
    found = read(WarcPages(source="web"), tmp_path, record("response", shown))
    assert (len(found.documents), found.reasons) == (1, [])


EXAMPLE = b"WARC/1.0\nWARC-Type: response\nContent-Length: 5\n\nwords"


@pytest.mark.parametrize(
    "body", [b"A record:\nWARC/1.0\n\nWords.", b"A record:\n" + EXAMPLE + b"\nand more", EXAMPLE[:-1]]
)
@pytest.mark.parametrize("pack", [b"".join, lambda pieces: packed(*pieces)])
def test_an_example_of_a_record_is_words_of_the_page(tmp_path: Path, pack: object, body: bytes) -> None:
    """The Content-Length is right, and no digest is given: the example does not end where the page ends."""
    assert callable(pack)
    made = [record("conversion", body, 1, WARC_Block_Digest=None), record("conversion", b"Next.", 2)]
    found = read(WetPages(source="web"), tmp_path, pack(made))
    assert (found.reasons, [each.text for each in found.documents]) == ([], [body.decode(), "Next."])


@pytest.mark.parametrize("ends", [b"", b"\r\n\r\n"])
def test_a_record_that_ends_with_the_page_is_taken_for_one(tmp_path: Path, ends: bytes) -> None:
    made = record("conversion", b"A record:\n" + EXAMPLE + ends, 1, WARC_Block_Digest=None)
    assert read(WetPages(source="web"), tmp_path, packed(made)).reasons == ["record shorter than its Content-Length"]


def test_many_beginnings_cost_no_more_than_their_bytes() -> None:
    data = b"\nWARC/1.0\nWARC-Type: response" * 100_000
    inner = InnerRecord(len(data), compared=False)
    begun = time.process_time()
    for at in range(0, len(data), 1 << 16):
        inner.look(data[at : at + (1 << 16)])
    assert (inner.found, time.process_time() - begun < 5) == (False, True)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_record_is_found_across_pieces(size: int) -> None:
    data = b"x" * 5000 + b"\r\n\r\nWARC/1.1\r\nContent-Length: 5\r\nWARC-Type: response\r\n\r\nwords"
    inner, none = InnerRecord(len(data), compared=False), InnerRecord(len(data), compared=True)
    for at in range(0, len(data), size):
        inner.look(data[at : at + size])
        none.look(data[at : at + size])
    assert (inner.found, none.found) == (True, False)
