"""Every reader is given a raw field under each name that it gives itself: the field is kept, or its row is refused."""

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import orjson
import pytest
from goodfiles import JOINED, TEXTS, Pack, between, parquet, tarred, zipped
from oscarlines import as_written, make_line
from partkit import Held

import gristmill.energon.readers
import gristmill.readers
from gristmill.energon.readers.json_lines import EnergonLines
from gristmill.energon.readers.webdataset import WebdatasetSamples
from gristmill.lake.rows.document import Document
from gristmill.readers.books.gutenberg import GutenbergTexts
from gristmill.readers.chats.marked_turns import MarkedTurns
from gristmill.readers.delimited import DelimitedRows
from gristmill.readers.dolma import DolmaLines
from gristmill.readers.files.headed_texts import HeadedTexts
from gristmill.readers.files.raw_files import FileDocuments
from gristmill.readers.json_array import JsonArray
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.mapping.turns import sharegpt
from gristmill.readers.oscar.lines import OscarLines
from gristmill.readers.papers.jats import JatsArticles
from gristmill.readers.papers.latex import LatexLines
from gristmill.readers.parquet import ParquetRows
from gristmill.readers.records import RowDocuments
from gristmill.readers.texts import TextFiles
from gristmill.recipes.raw_object import Copied, RawObject, Refused
from gristmill.recipes.row_format import Chat

TEXT = TEXTS[0]
THEIRS = "of the raw row"
NAMED = {
    "CodeFiles", "EpubBooks", "HtmlFiles", "IrcLogs", "MediaWikiPages", "OscarFromWet", "ReplyTrees",
    "StackExchangePosts", "WarcPages", "WatPages", "WetPages",
}  # fmt: skip
"""The readers that keep only the fields that they name, each under a name of its own."""


class Given(NamedTuple):
    """A reader, the name of a file for it, and the file with one more raw field."""

    reader: Any
    name: str
    record: Callable[[dict[str, str]], bytes]
    pack: Pack = JOINED


def line(**fields: Any) -> Callable[[dict[str, str]], bytes]:
    return lambda more: json.dumps({**fields, **more}).encode() + b"\n"


def words(head: str, body: str, field: str, *, title: bool = False) -> Callable[[dict[str, str]], bytes]:
    """A text whose head has a line for each field."""

    def record(more: dict[str, str]) -> bytes:
        names = {name: name.replace("_", " ").capitalize() if title else name for name in more}
        return (head + "".join(field.format(names[name], value) for name, value in more.items()) + body).encode()

    return record


def oscar(more: dict[str, str]) -> bytes:
    made = orjson.loads(as_written(make_line(0, content=TEXT)))
    return orjson.dumps({**made, **more}) + b"\n"


def cells(more: dict[str, str]) -> bytes:
    row = {"id": "1", "text": TEXT, "a": "b", **more}
    return "".join(",".join(f'"{each}"' for each in cells) + "\n" for cells in (row, row.values())).encode()


def sample(records: Sequence[bytes]) -> bytes:
    """A sample of the record, another part of JSON and a picture."""
    parts = {"top/2024-05-10.json": records[0].decode(), "top/2024-05-10.png": "x"}
    return tarred(".x.json", "w", **parts)([b"[1]"])


ROW = line(id="1", text=TEXT, a="b")
RENAMED: dict[str, Any] = {"source": "s", "rename": {"a": "lang"}}
TURNS = line(id="1", conversations=[{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}])
BOOK = "\n*** START OF THIS PROJECT GUTENBERG EBOOK T ***\n\n{}\n\n*** END OF THIS PROJECT GUTENBERG EBOOK T ***\n"
ARTICLE = "</article-meta></front><body><p>{}</p></body></article>"
GIVEN = {
    "JsonLines": Given(JsonLines(**RENAMED), "a.jsonl", ROW),
    "JsonLines, turns": Given(JsonLines(source="s", format=Chat(), turns=sharegpt("conversations")), "a.jsonl", TURNS),
    "LatexLines": Given(LatexLines(**RENAMED), "a.jsonl", ROW),
    "JsonArray": Given(JsonArray(**RENAMED), "a.json", ROW, between("[", "]", b",")),
    "ParquetRows": Given(ParquetRows(**RENAMED), "a.parquet", ROW, parquet),
    "DelimitedRows": Given(DelimitedRows(**RENAMED), "a.csv", cells),
    "DolmaLines": Given(DolmaLines("s"), "a.jsonl", line(id="1", text=TEXT, metadata={"url": "u"})),
    "OscarLines": Given(OscarLines(source="s", schema="22.01"), "de.jsonl", oscar),
    "MarkedTurns": Given(MarkedTurns(source="s"), "a.jsonl", line(chosen="\n\nHuman: Hi\n\nAssistant: Ho")),
    "EnergonLines": Given(
        EnergonLines(source="s", media=("image",)), "a.jsonl", line(text=TEXT, image="a.png")
    ),
    "WebdatasetSamples": Given(
        WebdatasetSamples(source="s", keep=("json", "x.json")),
        "a.tar",
        line(text=TEXT),
        sample,
    ),
    "HeadedTexts": Given(
        HeadedTexts(source="s"), "a.zip", words("PEP: 1\n", f"\n{TEXT}\n", "{}: {}\n"), zipped(".rst")
    ),
    "GutenbergTexts": Given(
        GutenbergTexts(source="s"),
        "a.tar.gz",
        words("Title: T\n\nRelease Date: 2007 [EBook #1]\n", BOOK.format(TEXT), "\n{}: {}\n", title=True),
        tarred(".txt"),
    ),
    "JatsArticles": Given(
        JatsArticles(source="s"),
        "a.tar.gz",
        words(
            "<article><front><article-meta><title-group><article-title>T</article-title></title-group>",
            ARTICLE.format(TEXT),
            "<article-id pub-id-type='{}'>{}</article-id>",
        ),
        tarred(".nxml"),
    ),
    "TextFiles": Given(
        TextFiles(source="s", front_matter=True, title=True),
        "a.zip",
        words("---\nlang: en\n", f"---\n{TEXT}\n", "{}: {}\n"),
        zipped(".md"),
    ),
}  # fmt: skip


def read(given: Given, **more: str) -> list[Any]:
    data = given.pack([given.record(more)])
    return list(given.reader(RawObject(Held(data, 4096), given.name, given.name, len(data))))


def documents(rows: list[Any]) -> list[dict[str, Any]]:
    return [
        orjson.loads(row.line if isinstance(row, Copied) else msgspec.json.encode(row))
        for row in rows
        if isinstance(row, Document | Copied)
    ]


def readers() -> Iterator[type]:
    rooms = (gristmill.readers, gristmill.energon.readers)
    for module in chain.from_iterable(pkgutil.walk_packages(room.__path__, f"{room.__name__}.") for room in rooms):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name and is_dataclass(kind) and "__call__" in dir(kind):
                yield kind


def test_no_reader_is_forgotten() -> None:
    assert {kind.__name__ for kind in readers() if kind not in {FileDocuments, RowDocuments}} == NAMED | {
        name.partition(",")[0] for name in GIVEN
    }


@pytest.mark.parametrize("kind", GIVEN)
def test_a_raw_field_under_a_name_that_the_reader_gives_is_kept_or_refused(kind: str) -> None:
    given = GIVEN[kind]
    more = {"doi": "10.1/1"} if kind == "JatsArticles" else {}
    (plain,) = documents(read(given, **more))
    names = plain["metadata"].keys() - more.keys()
    assert names
    for name in names:
        rows = read(given, **more, **{name: THEIRS})
        kept = [each for each in documents(rows) if THEIRS in json.dumps(each)]
        refused = [row for row in rows if isinstance(row, Refused)]
        assert len(kept) + len(refused) == 1 == len(rows), (name, rows)


@pytest.mark.parametrize(
    ("kind", "name", "where"),
    [
        ("JsonLines", "lang", "a.jsonl row 0 (lang)"),
        ("MarkedTurns", "choice", "a.jsonl row 0 (field 'chosen': choice; name it in leave_out, or rename it)"),
        ("EnergonLines", "media", "a.jsonl row 0 (media; give media_key another name)"),
        ("WebdatasetSamples", "media", "a.tar sample top/2024-05-10 (media; give media_key another name)"),
        ("WebdatasetSamples", "x.json", "a.tar sample top/2024-05-10 (x.json; take one of the two parts out of keep)"),
        (
            "HeadedTexts",
            "Path",
            "a.zip entry top/2024-05-10.rst (path; give the header field another name in names)",
        ),
        ("HeadedTexts", "pep", "a.zip entry top/2024-05-10.rst (pep; give the header field another name in names)"),
        ("GutenbergTexts", "license", "a.tar.gz entry top/2024-05-10.txt (license)"),
    ],
)
def test_the_refused_row_names_the_field_and_the_mend(kind: str, name: str, where: str) -> None:
    (row,) = read(GIVEN[kind], **{name: THEIRS})
    assert (row.reason, row.where) == ("a new name is in the row already", where)


def test_a_field_that_is_left_out_is_in_nobodys_way() -> None:
    (row,) = read(GIVEN["MarkedTurns"]._replace(reader=MarkedTurns(source="s", leave_out=("choice",))), choice=THEIRS)
    assert row.metadata["choice"] == "chosen"
