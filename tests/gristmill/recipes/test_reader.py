"""What a reader says of itself: it holds for a class below it only as long as that changes no method."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from talklake import talk_file

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import SpannedRows
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.raw_object import Converted, RawObject, Refused
from gristmill.recipes.reader import Reader, RowIds, reader_of_converter
from gristmill.recipes.source import Source, Split
from gristmill.stages.conversion.converter import convert_object

ROWS = b'{"id":"1","text":"one"}\n{"id":"2","text":"two"}\n'


class Named(JsonLines):
    """It changes nothing."""


class Louder(JsonLines):
    """It changes the documents, one by one."""

    def document(self, row: object, raw: RawObject, number: int, line: bytes) -> Document | Refused:
        made = super().document(row, raw, number, line)
        return Document(made.id, made.text.upper(), made.source) if isinstance(made, Document) else made


class LouderAtOnce(Louder):
    """It says that the metadata of its documents are values of JSON."""

    gives_json: ClassVar[bool] = True

    def blocks(self, raw: RawObject) -> Iterator[Converted | SpannedRows]:
        yield SpannedRows(b'{"id":"3","text":"THREE","source":"s"}\n', [("s", "3")], [0], [len(ROWS)])
        yield from ()
        raw.read()

    def row_ids(self) -> RowIds:
        return RowIds("path")


class Loud:
    """A class beside a reader."""

    def document(self, row: object, raw: RawObject, number: int, line: bytes) -> Document | Refused:
        made = JsonLines(source="s").document(row, raw, number, line)
        return Document(made.id, made.text.upper(), made.source) if isinstance(made, Document) else made


class LoudBeside(Loud, JsonLines):
    """It changes the documents by the class beside the reader."""


class First:
    """A class beside a reader, which takes the first row alone."""

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        yield from list(JsonLines(source="s")(raw))[:1]


class FirstBeside(First, JsonLines):
    """It changes which rows there are."""


def loud(cls: Any) -> Any:
    """Changes a method of a class that is made already."""
    cls.document = Loud.document
    return cls


@loud
class Decorated(JsonLines):
    """Its decorator changes the documents."""


class Old:
    """A class of version 0.2, which is no Reader."""

    source = "elsewhere"

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        yield Document(raw.name, raw.read().decode(), self.source)

    def cut_by(self, name: str) -> str:
        return "lines" if name.endswith(".txt") else ""


def texts(rows: Iterator[Converted | SpannedRows]) -> list[str]:
    found: list[str] = []
    for row in rows:
        lines = row.rows.splitlines() if isinstance(row, SpannedRows) else []
        found += [json.loads(line)["text"] for line in lines] or [row.text if isinstance(row, Document) else "?"]
    return found


@pytest.mark.parametrize(
    ("reader", "made", "known"),
    [
        (JsonLines(source="s"), ["one", "two"], RowIds("field", "id")),
        (Named(source="s"), ["one", "two"], RowIds("field", "id")),
        (Louder(source="s"), ["ONE", "TWO"], None),
        (LouderAtOnce(source="s"), ["THREE"], RowIds("path")),
        (LoudBeside(source="s"), ["ONE", "TWO"], None),
        (FirstBeside(source="s"), ["one"], None),
        (Decorated(source="s"), ["ONE", "TWO"], None),
        (lambda raw: iter([Document("1", raw.read().decode()[:3], "s")]), ['{"i'], None),
    ],
    ids=[
        "shipped",
        "the same methods",
        "another method",
        "its own blocks",
        "a method beside",
        "a call beside",
        "a decorator",
        "a function",
    ],
)
def test_a_class_that_changes_a_method_inherits_nothing_that_was_said_of_rows(
    tmp_path: Path, reader: JsonLines, made: list[str], known: RowIds | None
) -> None:
    source = Source(name="s", convert=reader)
    raw = talk_file(tmp_path, "a.jsonl", ROWS)
    assert texts(convert_object(source, raw, "2024", at_once=True)) == made
    assert source.reader.row_ids() == known


def test_blocks_of_a_reader_without_any_are_its_rows(tmp_path: Path) -> None:
    assert texts(reader_of_converter(Louder(source="s")).blocks(talk_file(tmp_path, "a.jsonl", ROWS))) == ["ONE", "TWO"]


@pytest.mark.parametrize("convert", [Reader(), iter], ids=["a reader", "a function"])
def test_a_reader_that_cannot_read_parts_is_refused_with_split(convert: Reader) -> None:
    with pytest.raises(RecipeError, match=r"cannot read parts of an object \(it has no method cut_by\)"):
        Source(name="s", convert=convert, shards=Split(1 << 20))


def test_a_class_of_an_older_version_keeps_what_it_said_by_its_methods() -> None:
    source = Source(name="s", convert=Old(), shards=Split(1 << 20))
    assert (source.reader.cut_by("a.txt"), source.reader.cut_by("a.zip"), source.read_as) == ("lines", "", "elsewhere")
    assert reader_of_converter(source.convert).row_ids() is None
