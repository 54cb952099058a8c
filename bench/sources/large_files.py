"""Large raw files by repetition, one of each format that is cut into parts, and the recipes that read them."""

import bz2
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from isal import igzip_lib

SNAPSHOT = "2024"
_GROUP = 4000  # rows
_WORDS = ("flour", "mill", "stone", "grain", "water", "wheel", "bread", "sack", "field", "the", "of", "and", "to", "in")
RECIPES = """
from gristmill.recipes.source import OneToOne, Source, Split

SHARDS = Split(bytes={part}) if {part} else OneToOne()
"""
_READERS = {
    "lines": ("from gristmill.readers.jsonl import JsonLines", 'JsonLines(source="lines")'),
    "warc": ("from gristmill.readers.web.pages import WarcPages", 'WarcPages(source="warc")'),
    "wiki": ("from gristmill.readers.wiki.pages import MediaWikiPages", 'MediaWikiPages(source="wiki")'),
    "parquet": ("from gristmill.readers.parquet import ParquetRows", 'ParquetRows(source="parquet")'),
}
FORMATS = tuple(_READERS)


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choice(_WORDS) + ("." if n % 11 == 10 else "") for n in range(words))


def _lines(size: int, texts: list[str]) -> Iterator[bytes]:
    number = made = 0
    while made < size:
        row = json.dumps({"id": f"row-{number}", "text": texts[number % len(texts)], "n": number}).encode() + b"\n"
        number, made = number + 1, made + len(row)
        yield row


def _warc(size: int, texts: list[str]) -> Iterator[bytes]:
    number = made = 0
    while made < size:
        body = "".join(f"<p>{each}</p>\n" for each in texts[number % 40 : number % 40 + 4])
        html = f"<html><head><title>Page {number}</title></head><body><nav>Home</nav><main>{body}</main></body></html>"
        http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html.encode()
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{number:08d}>\r\n"
            f"WARC-Date: 2024-01-01T00:00:00Z\r\nWARC-Target-URI: https://example.org/{number}\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
        )
        plain = head.encode() + http + b"\r\n\r\n"
        number, made = number + 1, made + len(plain)
        yield igzip_lib.compress(plain, 1, igzip_lib.COMP_GZIP)


def _wiki(size: int, texts: list[str]) -> Iterator[bytes]:
    """One bz2 stream, as the dumps have: its blocks begin within bytes and pages."""
    packer = bz2.BZ2Compressor()
    yield packer.compress(b'<mediawiki xml:lang="en">\n<siteinfo><dbname>enwiki</dbname></siteinfo>\n')
    number = made = 0
    while made < size:
        source = f"'''Page {number}''' is [[flour]].\n\n== Making ==\n" + "\n\n".join(
            texts[number % 40 : number % 40 + 4]
        )
        page = (
            f"<page><title>Page {number}</title><ns>0</ns><id>{number + 1}</id><revision><id>{number}</id>"
            f"<timestamp>2024-01-01T00:00:00Z</timestamp><model>wikitext</model><text>{source}</text></revision></page>\n"
        ).encode()
        number, made = number + 1, made + len(page)
        yield packer.compress(page)
    yield packer.compress(b"</mediawiki>\n") + packer.flush()


def _parquet(size: int, texts: list[str]) -> Iterator[bytes]:
    sink, number, made = io.BytesIO(), 0, 0
    schema = pa.schema({"id": pa.string(), "text": pa.string()})
    with pq.ParquetWriter(sink, schema, use_dictionary=False) as writer:
        while made < size:
            ids = [f"row-{each}" for each in range(number, number + _GROUP)]
            column = [f"{each} {texts[each % len(texts)]}" for each in range(number, number + _GROUP)]
            writer.write_table(pa.table({"id": ids, "text": column}, schema=schema), row_group_size=_GROUP)
            number, made = number + _GROUP, made + sum(map(len, column))
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


_WRITERS: dict[str, tuple[str, Callable[[int, list[str]], Iterator[bytes]]]] = {
    "lines": ("large.jsonl", _lines),
    "warc": ("large.warc.gz", _warc),
    "wiki": ("large.xml.bz2", _wiki),
    "parquet": ("large.parquet", _parquet),
}


def write_large(root: Path, kind: str, size: int) -> Path:
    """Writes a file of a format.

    Args:
        root: of the lake.
        kind: one of FORMATS.
        size: of its texts, unpacked, in bytes.

    Returns:
        The file.
    """
    draw = random.Random(12)  # noqa: S311 - the same texts each time
    texts = [_text(draw, 300) for _ in range(50)]
    name, write = _WRITERS[kind]
    file = root / "sources" / kind / "raw" / SNAPSHOT / name
    file.parent.mkdir(parents=True)
    with file.open("wb") as out:
        for piece in write(size, texts):
            out.write(piece)
    return file


def write_recipe(root: Path, package: str, kind: str, part: int) -> None:
    """Writes a shelf with the recipe of a format.

    Args:
        root: a folder on Python's path.
        package: name of the shelf.
        kind: one of FORMATS.
        part: size of a part in bytes; 0: the file is one shard.
    """
    folder = root / package / "sources"
    folder.mkdir(parents=True)
    imported, reader = _READERS[kind]
    made = f'SOURCE = Source(name="{kind}", convert={reader}, shards=SHARDS)\n'
    (folder / f"{kind}.py").write_text(f"{imported}\n{RECIPES.format(part=part)}{made}")
