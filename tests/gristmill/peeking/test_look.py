"""Looking at raw data: names that mislead, drafts that are executed, and what is unknown."""

import bz2
import csv
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.lake.store.folder import FolderStore
from gristmill.peeking.draft import source_name_from_words
from gristmill.peeking.look import (
    MANY,
    SMALL,
    draft_sources,
    files_to_open,
    guess_format,
    read_first_documents,
    visible_files,
)
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.adopted.dataset import Adopted
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.source import Everything, Folders, Hashed, Source

ROWS = [{"id": f"d{number}", "text": f"Text {number}, with words.", "lang": "en"} for number in range(5)]
WIKI = """<mediawiki version="0.10" xml:lang="bg"><siteinfo><sitename>W</sitename><dbname>w</dbname></siteinfo>
<page><title>Вода</title><ns>0</ns><id>1</id><revision><id>2</id><timestamp>2020-01-01T00:00:00Z</timestamp>
<text>Водата тече.</text></revision></page></mediawiki>"""
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body><p>Water is wet.</p></body></html>"
RECORD = (
    b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n"
    b"WARC-Date: 2020-01-01T00:00:00Z\r\nWARC-Target-URI: http://example.org/\r\n"
    b"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (len(HTTP), HTTP)
)


def lines() -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def table(delimiter: str) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(ROWS[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(ROWS)
    return out.getvalue().encode()


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), out)
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("one.txt", "Some words of one.")
        archive.writestr("two.txt", "Some words of two.")
    return out.getvalue()


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("one.md", "two.md"):
            info = tarfile.TarInfo(name)
            info.size = 8
            archive.addfile(info, io.BytesIO(b"# Title\n"))
    return out.getvalue()


MISLEADING: dict[str, tuple[Callable[[], bytes], str, str, int]] = {
    "gzip.txt": (lambda: gzip.compress(lines(), mtime=0), "JSON lines", "gzip.txt.gz", 5),
    "lines.json": (lines, "JSON lines", "lines.json", 5),
    "commas.tsv": (lambda: table(","), "table with a delimiter", "commas.tsv", 5),
    "columns.bin": (parquet, "parquet", "columns.bin", 5),
    "zipped.gz": (zipped, "archive of texts", "zipped.zip", 2),
    "crawl.gz": (lambda: RECORD, "WARC with pages of a crawl", "crawl", 1),
    "wide.xml": (lambda: WIKI.encode("utf-16"), "MediaWiki dump", "wide.xml", 1),
    "tabs.csv": (lambda: table("\t"), "table with a delimiter", "tabs.csv", 5),
    "array.jsonl": (lambda: json.dumps(ROWS).encode(), "JSON array", "array.jsonl", 5),
    "tarred.zip": (tarred, "archive of texts", "tarred.tar", 2),
    "bzip2.zst": (lambda: bz2.compress(lines()), "JSON lines", "bzip2.bz2", 5),
    "plain.jsonl.gz": (lines, "JSON lines", "plain.jsonl", 5),
}
"""For each misleading name: the bytes, the format, the name by which readers read them, and the number of documents."""


def declared(text: str) -> Source:
    """The source that a draft declares, executed as a module is."""
    module: dict[str, Any] = {}
    exec(text, module)
    [source] = [value for value in module.values() if isinstance(value, Source)]
    return source


def documents(source: Source) -> int:
    """How many documents a recipe makes of its own raw data."""
    made = 0
    root = Path(source.raw_url or "")
    for path in visible_files(root):
        name = path.relative_to(root).as_posix()
        if source.wants(name):
            raw = RawObject(FolderStore(str(root)), name, name, path.stat().st_size)
            made += len(list(source.convert(raw)))
            assert raw.refused == []
    return made


@pytest.mark.parametrize("name", MISLEADING)
def test_content_counts_and_not_a_name_that_misleads(tmp_path: Path, name: str) -> None:
    data, format_, right_name, made = MISLEADING[name]
    path = tmp_path / name
    path.write_bytes(data())
    found = guess_format(path)
    assert (found.format.name, found.head.name) == (format_, right_name)
    [draft] = draft_sources(path, [found])
    seen = read_first_documents(draft)
    assert (len(seen.documents), seen.error) == (min(made, 3), "")
    path.rename(tmp_path / right_name)  # as `peek` asks for
    source = declared(draft.text)
    assert source.partition == Everything()
    assert documents(source) == made


@pytest.mark.parametrize(
    ("data", "format_"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "unknown"),
        (b"", "unknown"),
        (b"\x7fELF" + bytes(range(256)), "unknown"),
        (gzip.compress(bytes(range(256)) * 10, mtime=0), "unknown"),
        (gzip.compress(gzip.compress(lines(), mtime=0), mtime=0), "unknown"),
        (b'<?xml version="1.0"?><feed/>', "XML"),
        (b"{\n}\n", "plain text"),
    ],
)
def test_what_is_not_known_is_said_to_be_so(tmp_path: Path, data: bytes, format_: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    found = guess_format(path)
    assert found.format.name == format_
    if format_ in {"unknown", "XML"}:
        assert draft_sources(path, [found]) == []


def test_a_folder_gives_a_draft_for_each_format_with_a_pattern_for_its_files(tmp_path: Path) -> None:
    for name, data in {
        "2024/en/a.jsonl.gz": gzip.compress(lines(), mtime=0),
        "2024/en/b.json": lines(),
        "2025/fr/c.jsonl.gz": gzip.compress(lines(), mtime=0),
        "2025/notes.parquet": parquet(),
        "2025/.hidden/x": b"x",
        "2025/blob": b"\x00\x01",
        "2025/README.md": b"# Tales\n\nWords about them.\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    files = visible_files(tmp_path)
    assert len(files) == 6
    found = [guess_format(path) for path in files_to_open(files)]
    first, second = draft_sources(tmp_path, found)
    sources = [declared(draft.text) for draft in (first, second)]
    assert [source.name for source in sources] == [source_name_from_words(tmp_path.name), "notes"]
    assert [source.select for source in sources] == [r"(\.json|\.jsonl\.gz)$", r"\.parquet$"]
    assert [source.partition for source in sources] == [Folders(), Folders()]
    assert [documents(source) for source in sources] == [15, 5]


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (["a.jsonl"], Everything()),
        (["data/a.jsonl", "data/b.jsonl"], Everything()),
        (["2024/a.jsonl"], Folders()),
        (["en/a.jsonl", "de/a.jsonl"], Folders()),
        (["en/a.jsonl", "a.jsonl"], Everything()),
    ],
)
def test_first_folders_are_snapshots_if_they_look_so(tmp_path: Path, names: list[str], rule: Any) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(lines())
    [draft] = draft_sources(tmp_path, map(guess_format, visible_files(tmp_path)))
    assert declared(draft.text).partition == rule


def test_two_formats_never_share_a_name_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(lines())
    (tmp_path / "b.json").write_bytes(json.dumps(ROWS).encode())
    first, second = (
        declared(draft.text) for draft in draft_sources(tmp_path, map(guess_format, visible_files(tmp_path)))
    )
    assert first.name != second.name
    assert (first.select, second.select) == (r"(^|/)a\.json$", r"(^|/)b\.json$")
    assert [documents(first), documents(second)] == [5, 5]


def test_a_reader_that_fails_is_told_and_refused_rows_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": 1, "text": "x"}\n// no\n' + lines())
    [draft] = draft_sources(path, [guess_format(path)])
    seen = read_first_documents(draft)
    assert [document.id for document in seen.documents] == ["1", "d0", "d1"]
    assert seen.refused == {"invalid JSON": 1}
    path.write_bytes(gzip.compress(lines(), mtime=0)[:-8])
    path.rename(tmp_path / "a.jsonl.gz")
    [draft] = draft_sources(path, [guess_format(tmp_path / "a.jsonl.gz")])
    assert "truncated" in read_first_documents(draft, 99).error


def test_many_files_are_sampled_by_folder_and_ending(tmp_path: Path) -> None:
    files = [tmp_path / f"{number:03}.txt" for number in range(500)] + [tmp_path / "one.csv", tmp_path / "x" / "a.txt"]
    picked = files_to_open(files)
    assert len(picked) == 60
    assert {tmp_path / "one.csv", tmp_path / "x" / "a.txt"} <= set(picked)


def test_many_small_files_are_drafted_with_shards_of_many_and_few_or_large_ones_are_not(tmp_path: Path) -> None:
    for number in range(MANY):
        (tmp_path / f"{number:03}.txt").write_bytes(b"A tale.\n")
    files = visible_files(tmp_path)
    [draft] = draft_sources(tmp_path, map(guess_format, files_to_open(files)), files)
    assert declared(draft.text).shards == Hashed(1)
    [draft] = draft_sources(tmp_path, map(guess_format, files_to_open(files)), files[1:])
    assert "shards" not in draft.options
    with (tmp_path / "000.txt").open("ab") as large:
        large.truncate(MANY * SMALL + 1)  # a hole, which takes no room
    [draft] = draft_sources(tmp_path, map(guess_format, files_to_open(files[1:])), files)
    assert "shards" not in draft.options


def write(root: Path, files: dict[str, bytes]) -> list[Source]:
    """The sources that are drafted for a folder with these files."""
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return [
        declared(draft.text) for draft in draft_sources(root, map(guess_format, files_to_open(visible_files(root))))
    ]


LABELS = b'{"id": "d0", "attributes": {"pii__email": [[0, 1, 1.0]]}}\n'
DOCUMENT = b'{"id": "d0", "text": "Words.", "source": "s"}\n'


def test_documents_with_attributes_are_adopted(tmp_path: Path) -> None:
    [source] = write(tmp_path, {"documents/a.jsonl": DOCUMENT, "attributes/pii/a.jsonl": LABELS})
    assert isinstance(source, Adopted)
    assert (source.root, source.sets, source.draft) == (str(tmp_path), ("pii",), True)


def test_documents_with_integer_ids_are_adopted_with_their_attributes_and_read_without(tmp_path: Path) -> None:
    numbered, labels = DOCUMENT.replace(b'"d0"', b"7"), LABELS.replace(b'"d0"', b"7")
    [source] = write(tmp_path / "a", {"documents/a.jsonl": numbered, "attributes/pii/a.jsonl": labels})
    assert isinstance(source, Adopted)
    [draft] = draft_sources(tmp_path / "a", map(guess_format, files_to_open(visible_files(tmp_path / "a"))))
    assert [document.id for document in read_first_documents(draft).documents] == ["7"]
    [alone] = write(tmp_path / "b", {"a.jsonl": numbered})
    assert isinstance(alone.convert, JsonLines)


def test_files_of_kinds_without_a_draft_are_not_selected(tmp_path: Path) -> None:
    posts = b'<posts>\n<row Id="1" PostTypeId="1"/>\n</posts>'
    [forum] = write(tmp_path / "forum", {"Posts.xml": posts, "Comments.xml": b'<?xml version="1.0"?><comments/>'})
    assert forum.wants("Posts.xml")
    assert not forum.wants("Comments.xml")
    [crawl] = write(
        tmp_path / "crawl", {"texts/a.jsonl": DOCUMENT, "texts/b.jsonl": DOCUMENT, "labels/a.jsonl": LABELS}
    )
    assert crawl.wants("texts/other.jsonl")
    assert not crawl.wants("labels/a.jsonl")


def test_a_few_files_that_no_reader_knows_are_left_out_by_name_and_files_that_were_not_opened_are_read(
    tmp_path: Path,
) -> None:
    texts = {f"t{number:02}.txt": b"A tale of mills.\n" for number in range(10)}
    [source] = write(tmp_path / "a", {**texts, "bad.txt": bytes(range(256))})
    assert (source.wants("t99.txt"), source.wants("x/t99.txt")) == (True, True)
    assert (source.wants("bad.txt"), source.wants("x/bad.txt")) == (False, False)
    [draft] = draft_sources(tmp_path / "a", map(guess_format, visible_files(tmp_path / "a")))
    assert draft.notes[0] == "`select` leaves out bad.txt, which no reader knows"
    [half] = write(tmp_path / "b", {"a.txt": b"A tale of mills.\n", "bad.txt": bytes(range(256))})
    assert half.select == r"(^|/)a\.txt$"


def test_a_tree_of_code_is_read_as_code_with_the_ids_of_a_run(tmp_path: Path) -> None:
    root = tmp_path / "mills"
    write(root, {"one/src/a.py": b"import os\n", "one/README.md": b"# One\n", "two/b.rs": b"fn main() {}\n"})
    [draft] = draft_sources(root, map(guess_format, files_to_open(visible_files(root))))
    seen = read_first_documents(draft)
    assert {"one/src/a.py", "two/b.rs"} <= {document.id for document in seen.documents}
    assert seen.files == [document.id for document in seen.documents]


def test_ids_are_those_of_a_run_below_the_snapshot(tmp_path: Path) -> None:
    for name in ("2024/en/a.txt", "2025/de/b.txt"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("Words about mills.\n")
    [draft] = draft_sources(tmp_path, map(guess_format, visible_files(tmp_path)))
    assert [document.id for document in read_first_documents(draft).documents] == ["en/a.txt", "de/b.txt"]


@pytest.mark.parametrize(
    ("name", "data", "one"),
    [
        ("chapter-1.txt", b"A tale of mills.\n", True),
        ("a.html", b"<html><body><p>A tale.</p></body></html>", True),
        ("tales.zip", zipped(), True),
        ("a.jsonl", lines(), False),  # its ids are in its rows
    ],
)
def test_names_that_repeat_in_first_folders_are_no_equal_ids(
    tmp_path: Path, name: str, data: bytes, *, one: bool
) -> None:
    for folder in ("austen", "dickens"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(data)
    files = visible_files(tmp_path)
    [draft] = draft_sources(tmp_path, map(guess_format, files_to_open(files)), files)
    assert declared(draft.text).partition == (Everything() if one else Folders())
    ids = [document.id for document in read_first_documents(draft, 99).documents]
    assert not one or len(set(ids)) == len(ids)
    [note] = draft.notes
    assert ("would give equal ids" if one else "becomes its snapshot (austen, dickens)") in note


def test_a_name_that_repeats_counts_though_its_file_was_not_opened(tmp_path: Path) -> None:
    for name in ("austen/1.txt", "austen/2.txt", "dickens/2.txt", "dickens/3.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"A tale of mills.\n")
    files = visible_files(tmp_path)
    opened = [files[0], files[-1]]
    [draft] = draft_sources(tmp_path, map(guess_format, opened), opened)
    [note] = draft.notes
    assert declared(draft.text).partition == Folders()
    assert "files of one name in several folders would have equal ids" in note
    [draft] = draft_sources(tmp_path, map(guess_format, opened), files)
    assert declared(draft.text).partition == Everything()
