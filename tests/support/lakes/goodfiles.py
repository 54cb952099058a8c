"""One good file for each reader, as records and what packs them: tests damage the records, or the file."""

import bz2
import csv
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from oscarlines import as_written, make_line
from warcfile import page, record

from gristmill.energon.readers.json_lines import EnergonLines
from gristmill.energon.readers.webdataset import WebdatasetSamples
from gristmill.readers.books.epub import EpubBooks
from gristmill.readers.books.gutenberg import GutenbergTexts
from gristmill.readers.chats.irc_logs import IrcLogs
from gristmill.readers.chats.marked_turns import MarkedTurns
from gristmill.readers.chats.reply_trees import ReplyTrees
from gristmill.readers.code.code_files import CodeFiles
from gristmill.readers.delimited import DelimitedRows
from gristmill.readers.dolma import DolmaLines
from gristmill.readers.files.headed_texts import HeadedTexts
from gristmill.readers.files.html_files import HtmlFiles
from gristmill.readers.forum.stack_exchange import StackExchangePosts
from gristmill.readers.json_array import JsonArray
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.mapping.turns import sharegpt
from gristmill.readers.oscar.lines import OscarLines
from gristmill.readers.papers.jats import JatsArticles
from gristmill.readers.papers.latex import LatexLines
from gristmill.readers.parquet import ParquetRows
from gristmill.readers.texts import TextFiles
from gristmill.readers.web.oscar_split import OscarFromWet
from gristmill.readers.web.pages import WarcPages
from gristmill.readers.web.wet import WatPages, WetPages
from gristmill.readers.wiki.pages import MediaWikiPages
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.row_format import Chat

COUNT = 12
TEXTS = [f"The mill number {n} grinds {'slowly ' * (n + 3)}and fine, naïve as it is." for n in range(COUNT)]

Pack = Callable[[Sequence[bytes]], bytes]


class Good(NamedTuple):
    """A reader, the name of a file for it, its records, and what makes the file of them."""

    reader: Callable[[RawObject], Any]
    name: str
    records: tuple[bytes, ...]
    pack: Pack

    @property
    def data(self) -> bytes:
        """The file."""
        return self.pack(self.records)


def tarred(ending: str, mode: str = "w:gz", **others: str) -> Pack:
    """Packs records as files of a tar archive, `2024-05-10` + ending and so on; `others` are files before them."""

    def pack(records: Sequence[bytes]) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]  # any mode
            files = [(name, text.encode()) for name, text in others.items()]
            for name, data in [*files, *((f"top/2024-05-{n + 10}{ending}", each) for n, each in enumerate(records))]:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return buffer.getvalue()

    return pack


def zipped(ending: str, **others: str) -> Pack:
    """As tarred(), but a zip archive."""

    def pack(records: Sequence[bytes]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in others.items():
                archive.writestr(zipfile.ZipInfo(name), text)
            for n, each in enumerate(records):
                archive.writestr(zipfile.ZipInfo(f"top/2024-05-{n + 10}{ending}"), each, zipfile.ZIP_DEFLATED)
        return buffer.getvalue()

    return pack


def between(head: str, tail: str, joint: bytes = b"", packed: Callable[[bytes], bytes] = bytes) -> Pack:
    """Packs records one after the other, with something before and behind them."""
    return lambda records: packed(head.encode() + joint.join(records) + tail.encode())


def members(records: Sequence[bytes]) -> bytes:
    """Packs each record as a gzip member."""
    return b"".join(gzip.compress(each, mtime=0) for each in records)


def parquet(records: Sequence[bytes]) -> bytes:
    rows = [json.loads(each) for each in records]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink, row_group_size=4)
    return sink.getvalue()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _csv(row: dict[str, str]) -> bytes:
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerow(row.values())
    return sink.getvalue().encode()


def _tree(n: int, text: str) -> bytes:
    answer = {"message_id": f"a{n}", "parent_id": f"t{n}", "text": text, "role": "assistant", "replies": []}
    prompt = {"message_id": f"t{n}", "text": text, "role": "prompter", "lang": "en", "replies": [answer]}
    return _json({"message_tree_id": f"t{n}", "tree_state": "ready_for_export", "prompt": prompt})


def _fact(n: int, text: str) -> bytes:
    envelope = {
        "WARC-Header-Metadata": {
            "WARC-Type": "response",
            "WARC-Record-ID": "<urn:uuid:page>",
            "WARC-Target-URI": "x:y",
        },
        "Payload-Metadata": {"HTTP-Response-Metadata": {"HTML-Metadata": {"Head": {"Title": text}}}},
    }
    return record("metadata", orjson.dumps({"Envelope": envelope}), n, Content_Type="application/json")


def _each(made: Callable[[int, str], str | bytes]) -> tuple[bytes, ...]:
    """A record for each text."""
    records = (made(n, text) for n, text in enumerate(TEXTS))
    return tuple(each.encode() if isinstance(each, str) else each for each in records)


ROWS = [{"id": f"row-{n}", "text": text} for n, text in enumerate(TEXTS)]
LINES = tuple(map(_json, ROWS))
JOINED = between("", "")
_CSV = between("id,text\n", "")
_LINES = JsonLines(source="bad")
_OPF = (
    '<package xmlns="http://www.idpf.org/2007/opf" unique-identifier="uid"><metadata'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="uid">mill</dc:identifier><dc:title>M</dc:title>'
    "</metadata><manifest>{items}</manifest><spine>{refs}</spine></package>"
).format(
    items="".join(
        f'<item id="c{n}" href="2024-05-{n + 10}.xhtml" media-type="application/xhtml+xml"/>' for n in range(COUNT)
    ),
    refs="".join(f'<itemref idref="c{n}"/>' for n in range(COUNT)),
)
_CHAPTERS = _each(
    lambda _, text: f'<html xmlns="http://www.w3.org/1999/xhtml"><head></head><body><p>{text}</p></body></html>'
)
_ARTICLES = _each(
    lambda n, text: (
        f"<article><front><article-meta><article-id pub-id-type='pmid'>1{n}</article-id><title-group>"
        f"<article-title>T{n}</article-title></title-group></article-meta></front><body><p>{text}</p></body></article>"
    )
)
_PAGES = _each(
    lambda n, text: (
        f"<page><title>P{n}</title><ns>0</ns><id>{n + 1}</id><revision><id>9{n}</id><text>{text}</text></revision>"
        "</page>\n"
    )
)
_DUMP = "<mediawiki>\n<siteinfo><dbname>mill</dbname></siteinfo>\n"
_POSTS = _each(
    lambda n, text: (
        f'  <row Id="{n + 1}" PostTypeId="1" CreationDate="2010-07-19T19:12:12.510" Score="1" Title="T{n}"'
        f' Body="&lt;p&gt;{text}&lt;/p&gt;" ContentLicense="CC BY-SA 4.0" />\n'
    )
)
_BOOKS = _each(
    lambda n, text: (
        f"Title: T{n}\n\nRelease Date: August 21, 2007 [EBook #{n + 1}]\n\n*** START OF THIS PROJECT GUTENBERG EBOOK T"
        f" ***\n\n\n{text}\n\n\n*** END OF THIS PROJECT GUTENBERG EBOOK T ***\n"
    )
)
_WEB = _each(page)
_CHATS = _each(lambda _, text: _json({"chosen": f"\n\nHuman: {text}\n\nAssistant: Yes, {text}"}))
_OSCAR = _each(lambda n, text: as_written(make_line(n, content=text)) + b"\n")
_SHAREGPT = _each(
    lambda n, text: _json(
        {"id": f"r{n}", "conversations": [{"from": "human", "value": text}, {"from": "gpt", "value": "Yes."}]}
    )
)
_LONG = "The miller by the river grinds the grain in the morning, and all people of the village come to him for flour. "
_SPLIT = _each(lambda n, text: record("conversion", f"{_LONG}{text}\n{_LONG}{n}".encode(), n))
_MARKDOWN = _each(lambda n, text: f"---\nlang: en\nn: {n}\n---\n# Mill {n}\n\n{text}\n")
_HTML = _each(lambda _, text: f"<html><head><title>x</title></head><body><p>{text}</p></body></html>")
_BRACKETS = between("[", "]", b",\n")

GOOD = {
    "lines": Good(_LINES, "a.jsonl", LINES, JOINED),
    "lines gz": Good(_LINES, "a.jsonl.gz", LINES, between("", "", packed=gzip.compress)),
    "lines members": Good(_LINES, "a.jsonl.gz", LINES, members),
    "lines zst": Good(
        _LINES, "a.jsonl.zst", LINES, between("", "", packed=zstandard.ZstdCompressor(write_checksum=True).compress)
    ),
    "lines bz2": Good(_LINES, "a.jsonl.bz2", LINES, between("", "", packed=bz2.compress)),
    "lines xz": Good(_LINES, "a.jsonl.xz", LINES, between("", "", packed=lzma.compress)),
    "dolma": Good(DolmaLines("bad"), "a.jsonl.gz", LINES, between("", "", packed=gzip.compress)),
    "csv": Good(DelimitedRows(source="bad"), "a.csv", tuple(map(_csv, ROWS)), _CSV),
    "csv gz": Good(
        DelimitedRows(source="bad"), "a.csv.gz", tuple(map(_csv, ROWS)), between("id,text\n", "", packed=gzip.compress)
    ),
    "array": Good(JsonArray(source="bad"), "a.json", LINES, _BRACKETS),
    "parquet": Good(ParquetRows(source="bad"), "a.parquet", LINES, parquet),
    "latex": Good(LatexLines(source="bad"), "a.jsonl.gz", LINES, members),
    "webdataset": Good(WebdatasetSamples(source="bad"), "a.tar", LINES, tarred(".json", "w")),
    "energon": Good(EnergonLines(source="bad", id_key="id"), "a.jsonl", LINES, JOINED),
    "turns": Good(
        JsonLines(source="bad", format=Chat(), turns=sharegpt("conversations")), "a.jsonl.gz", _SHAREGPT, members
    ),
    "oscar": Good(OscarLines(source="bad", schema="22.01"), "de.jsonl.gz", _OSCAR, members),
    "oscar plain": Good(OscarLines(source="bad", schema="22.01"), "de.jsonl", _OSCAR, JOINED),
    "warc": Good(WarcPages(source="bad"), "a.warc.gz", _WEB, members),
    "warc plain": Good(WarcPages(source="bad"), "a.warc", _WEB, JOINED),
    "wet": Good(
        WetPages(source="bad"), "a.warc.wet.gz", _each(lambda n, text: record("conversion", text.encode(), n)), members
    ),
    "split": Good(OscarFromWet(source="bad"), "a.warc.wet.gz", _SPLIT, members),
    "wat": Good(WatPages(source="bad"), "a.warc.wat.gz", _each(_fact), members),
    "wiki": Good(MediaWikiPages(source="bad"), "d.xml", _PAGES, between(_DUMP, "</mediawiki>")),
    "wiki bz2": Good(
        MediaWikiPages(source="bad"), "d.xml.bz2", _PAGES, between(_DUMP, "</mediawiki>", packed=bz2.compress)
    ),
    "texts tar": Good(TextFiles(source="bad"), "a.tar.gz", _each(lambda _, text: text), tarred(".txt")),
    "texts plain tar": Good(TextFiles(source="bad"), "a.tar", _each(lambda _, text: text), tarred(".txt", "w")),
    "texts zip": Good(TextFiles(source="bad"), "a.zip", _each(lambda _, text: text), zipped(".txt")),
    "markdown": Good(TextFiles(source="bad", front_matter=True, title=True), "a.zip", _MARKDOWN, zipped(".md")),
    "code": Good(CodeFiles(source="bad"), "a.tar.gz", _each(lambda _, text: f"# {text}\nx = 1\n"), tarred(".py")),
    "chats": Good(MarkedTurns(source="bad"), "a.jsonl.gz", _CHATS, members),
    "trees": Good(ReplyTrees(source="bad"), "a.jsonl.gz", _each(_tree), members),
    "irc": Good(
        IrcLogs(source="bad"), "a.tar.gz", _each(lambda _, text: f"[04:04] <ann> {text}\n"), tarred(".raw.txt")
    ),
    "posts": Good(
        StackExchangePosts(source="bad", site="mills"),
        "mills/Posts.xml",
        _POSTS,
        between('<?xml version="1.0" encoding="utf-8"?>\n<posts>\n', "</posts>"),
    ),
    "papers": Good(JatsArticles(source="bad"), "a.tar.gz", _ARTICLES, tarred(".nxml")),
    "chapters": Good(
        EpubBooks(source="bad", unit="chapter"),
        "mill.epub",
        _CHAPTERS,
        zipped(".xhtml", **{"top/content.opf": _OPF}),
    ),
    "chapters tar": Good(
        EpubBooks(source="bad", unit="chapter"),
        "mill.tar.gz",
        _CHAPTERS,
        tarred(".xhtml", **{"top/content.opf": _OPF}),
    ),
    "gutenberg": Good(GutenbergTexts(source="bad"), "a.tar.gz", _BOOKS, tarred(".txt")),
    "headed": Good(HeadedTexts(source="bad"), "a.zip", _each(lambda n, text: f"PEP: {n}\n\n{text}\n"), zipped(".rst")),
    "html": Good(HtmlFiles(source="bad"), "a.tar.gz", _HTML, tarred(".html")),
}
