"""The table of formats: every file of the sample data is recognised, and files whose names mislead."""

import importlib
import os
from pathlib import Path

import pytest

from gristmill.peeking.formats import FORMATS
from gristmill.peeking.look import draft_sources, guess_format, read_first_documents, visible_files
from gristmill.peeking.sniffers import Facts

DATA = os.environ.get("GRISTMILL_SAMPLE_DATA", "")
SAMPLES = {
    "raw/books/gutenberg/": "Project Gutenberg book",
    "raw/books/standardebooks/": "archive of an EPUB book",
    "raw/chat/hh-rlhf/": "conversations as marked strings",
    "raw/chat/oasst/": "OpenAssistant reply trees",
    "raw/chat/taskmaster/": "JSON array of conversations",
    "raw/chat/ubuntu-irc/": "archive of IRC logs",
    "raw/common-crawl/2024-22/whirlwind.warc.wat.gz": "WARC with metadata of a crawl (WAT)",
    "raw/common-crawl/2024-22/whirlwind.warc.wet.gz": "WARC with texts of a crawl (WET)",
    "raw/common-crawl/": "WARC with pages of a crawl",
    "raw/wget-crawl/": "WARC with pages of a crawl",
    "raw/forum/": "Stack Exchange threads in JSON lines",
    "raw/multilingual/tldr-pages": "archive of texts",
    "raw/multilingual/udhr-declarations": "archive of web pages",
    "raw/oscar/2021-09/en/en_sha256.txt": "checksums",
    "raw/oscar/2021-09/fr/fr_sha256.txt": "checksums",
    "raw/oscar/2021-09/zh/zh_sha256.txt": "checksums",
    "raw/oscar/": "OSCAR 22.01 or 23.01",
    "raw/papers/PMC": "JATS article",
    "raw/papers/arxiv": "arXiv LaTeX in JSON lines",
    "raw/peps/": "archive of texts with header fields",
    "raw/stack/": "archive of a code repository",
    "raw/wiki/": "MediaWiki dump",
    "dolma/configs/": "YAML",
    "dolma/provided/attributes/": "Dolma attributes",
    "dolma/": "Dolma documents",
}
"""The format of each sample file, by the first beginning of its path that fits."""
ENCODINGS = {
    "raw/wiki/bgwiki": "utf-16",
    "raw/books/gutenberg/es-": "iso-8859-1",
    "raw/books/gutenberg/en-": "utf-8-sig",
    "raw/oscar": "utf-8",
}


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="GRISTMILL_SAMPLE_DATA does not name the sample data")
def test_every_file_of_the_sample_data_is_recognised() -> None:
    wrong: dict[str, str] = {}
    seen = 0
    for top in ("raw", "dolma"):
        for path in visible_files(Path(DATA, top)):
            name = path.relative_to(DATA).as_posix()
            found = guess_format(path)
            expected = next(format_ for begin, format_ in SAMPLES.items() if name.startswith(begin))
            seen += 1
            if found.format.name != expected or found.head.name != path.name:
                wrong[name] = f"{found.format.name}, as {found.head.name}"
            for begin, encoding in ENCODINGS.items():
                assert not name.startswith(begin) or found.head.text_encoding == encoding
    assert wrong == {}
    assert seen >= 50


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="GRISTMILL_SAMPLE_DATA does not name the sample data")
def test_the_draft_of_every_sample_file_reads_it() -> None:
    for top in ("raw", "dolma"):
        for path in visible_files(Path(DATA, top)):
            found = guess_format(path)
            for draft in draft_sources(path, [found]):
                results = read_first_documents(draft)
                assert results.error == "", path
                assert results.documents or results.left_out, path  # the WAT sample is about requests alone
                assert not results.refused, path


def test_every_reader_of_the_table_exists() -> None:
    for each in FORMATS:
        if each.module:
            call = each.reader_call("tales", Facts())
            assert call is not None
            assert hasattr(importlib.import_module(call.module), each.reader), each.name


def test_no_format_stands_twice_in_the_table() -> None:
    assert len({each.name for each in FORMATS}) == len(FORMATS)
