"""The ids of refused rows: told by a reader, in fields, or paths."""

from typing import Any

import pytest
from testkit import SNAPSHOT

from gristmill.lake.rows.quarantined import QuarantinedRow
from gristmill.readers.dolma import DolmaLines
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.texts import TextFiles
from gristmill.recipes.source import Source
from gristmill.takedowns.refused_ids import ids_of_refused_row, pairs_of_refused_row
from gristmill.takedowns.wanted import Wanted


@pytest.mark.parametrize(
    ("text", "options", "own"),
    [
        ('{"id":"7","rating":"8"}', {}, [("pages", "7")]),
        ('{"id": 7, "rating": "8", "text": 1', {}, [("pages", "7")]),
        ('{"id":"140","rating":"7"}', {}, []),
        ('{"id":"140","rating":"7","meta":{"id":"7"}}', {}, None),
        ('{"rating":"7"}', {}, None),
        ('{"id":"7"}', {"id_template": "{id}-{part}"}, None),
        ('{"lang":"7","meta":{"part":1},"text":1,', {"id_template": "{lang}-{meta.part}"}, []),
        ('{"lang":"","meta":{"part":7},"text":1,', {"id_template": "{meta.part}"}, [("pages", "7")]),
        ('{"id":"140","key":"7"}', {"id_key": "key"}, [("pages", "7")]),
    ],
)
def test_a_refused_row_that_names_an_id_in_another_field_is_another_document(
    text: str, options: dict[str, Any], own: list[tuple[str, str]] | None
) -> None:
    source = Source(name="pages", convert=JsonLines(source="pages", **options))
    assert (
        pairs_of_refused_row(QuarantinedRow("refused", text, ""), source, Wanted({("pages", "7"): ""}), SNAPSHOT) == own
    )


@pytest.mark.parametrize(
    ("reader", "text", "own"),
    [
        (JsonLines(source="pages"), '{"id":7,"text":null}', []),
        (JsonLines(source="pages", source_key="from"), '{"id":7,"from":"forum"}', [("forum", "7")]),
        (JsonLines(source="pages", source_key="from"), '{"id":7,"from":"blog"}', []),
        (JsonLines(source="pages", source_key="from"), '{"id":7}', None),
        (DolmaLines("pages"), '{"id":"7","source":"forum","text":1}', [("forum", "7")]),
        (DolmaLines("pages"), '{"id":"7","text":1}', []),
        (DolmaLines("pages"), '{"id":"7","source":"pages","meta":{"source":"forum"}}', None),
    ],
)
def test_a_refused_row_of_another_source_is_another_document(
    reader: Any, text: str, own: list[tuple[str, str]] | None
) -> None:
    source, wanted = Source(name="pages", convert=reader), Wanted({("forum", "7"): ""})
    assert pairs_of_refused_row(QuarantinedRow("refused", text, ""), source, wanted, SNAPSHOT) == own


@pytest.mark.parametrize("text", [r'{"id":"\ud842\udfb7\u91ce\t\/1","text":1}', '{"id":"\U00020bb7\u91ce\\t/1","x":'])
def test_an_id_is_read_with_all_escapes_of_json(text: str) -> None:
    source, wanted = Source(name="pages", convert=JsonLines(source="pages")), Wanted({("pages", "𠮷野\t/1"): ""})
    assert pairs_of_refused_row(QuarantinedRow("refused", text, ""), source, wanted, SNAPSHOT) == [
        ("pages", "𠮷野\t/1")
    ]


def test_an_id_below_another_field_is_not_that_of_the_row() -> None:
    source, wanted = Source(name="pages", convert=JsonLines(source="pages")), Wanted({("pages", "7"): ""})
    row = QuarantinedRow("refused", '{"answer_to":{"id":"7"}}', "")
    assert pairs_of_refused_row(row, source, wanted, SNAPSHOT) is None


@pytest.mark.parametrize(
    ("row", "options", "own"),
    [
        (QuarantinedRow("not utf-8", "", "", file="b/7.txt.gz"), {}, "b/7.txt"),
        (QuarantinedRow("not utf-8", "", "", file="b.zip", member="7.txt"), {}, "b.zip/7.txt"),
        (QuarantinedRow("not utf-8", "", "", file="b.zip", member="7.txt"), {"archive_in_id": False}, "7.txt"),
    ],
)
def test_the_path_of_a_refused_file_is_its_id(row: QuarantinedRow, options: dict[str, Any], own: str) -> None:
    source = Source(name="files", convert=TextFiles(source="files", **options))
    assert pairs_of_refused_row(row, source, Wanted({("files", own): ""}), SNAPSHOT) == [("files", own)]
    assert pairs_of_refused_row(row, source, Wanted({("files", "7.md"): ""}), SNAPSHOT) == []


def test_ids_of_row_numbers_are_those_of_the_snapshot() -> None:
    source = Source(name="rows", convert=JsonLines(source="rows", id_key=None))
    row = QuarantinedRow("text is null", '{"text":null}', "", file="a.jsonl", row=5)
    for name, known in {"2024/a.jsonl:5": True, "2025/a.jsonl:5": False, "2024/a.jsonl:15": False}.items():
        ids = ids_of_refused_row(row, source, Wanted({("rows", name): ""}), SNAPSHOT)
        assert (name in (ids or ())) == known


@pytest.mark.parametrize(
    ("told", "asked", "ids"),
    [("bgwiki:7", "bgwiki:7", {"bgwiki:7"}), ("bgwiki:7", "bgwiki:77", {"bgwiki:7"}), ("7", "bgwiki:7", None)],
)
def test_an_id_that_was_told_by_its_end_alone_is_not_known(told: str, asked: str, ids: set[str] | None) -> None:
    row = QuarantinedRow("row too long", "", "", id=told)
    assert ids_of_refused_row(row, None, Wanted({("wiki", asked): ""}), SNAPSHOT) == ids
