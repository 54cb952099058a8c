"""Rows that are taken many at once give the same bytes as rows that are taken one by one."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talklake import talk_file

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import SpannedRows
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.mapping.many import GiveUp
from gristmill.readers.parquet import ParquetRows
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.row_format import Text

ENCODER = msgspec.json.Encoder()
OPTIONS: list[dict[str, Any]] = [
    {},
    {"id_template": "{id}/{n}", "created_key": "at", "leave_out": ("junk",), "rename": {"meta.lang": "language"}},
    {"format": Text(text_key="body"), "added": "2024", "rename": {"n": "number"}, "leave_out": ("meta.x",)},
    {"created_key": "at", "time_unit": "s", "rename": {"meta.lang": "n", "n": "m"}},
    {"id_key": "n", "added_key": "at", "leave_out": ("meta.lang", "meta.x")},
    {"rename": {"meta.lang": "meta"}, "leave_out": ("id", "meta.x")},
    {"id_key": "at", "created_key": "at"},
    {"rename": {"meta": "all", "meta.x": "one"}},
]
TEXTS = st.text(max_size=8) | st.sampled_from(["", "a\x00", '\x7f\u2028/\\"\t\b\x1f', "\U0001f600é"])
NUMBERS = st.integers() | st.floats() | st.sampled_from([10**19, 1 << 63, -0.0, 1e22, 1e300, 5e-324, 1.5e15])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
USUAL: dict[str, Any] = {"id": "d", "text": "a", "body": "b", "n": 3, "at": "2024-05-06", "junk": "x"}
ROWS = st.builds(
    lambda usual, odd: {**USUAL, **usual, **odd},
    st.fixed_dictionaries({"id": TEXTS.filter(bool), "text": TEXTS, "meta": st.just({"lang": "en", "x": 1, "y": 2})}),
    st.just({})
    | st.dictionaries(
        st.sampled_from([*USUAL, "meta", "metadata", "source", "added", "created", "meta.lang", "meta.x"]),
        VALUES | st.sampled_from(["talks", {"lang": "de"}, {"lang": "de", "z": {}}, 1_700_000_000]),
        max_size=2,
    ),
)


@st.composite
def written(draw: st.DrawFn) -> bytes:
    """A line with odd spacing, escapes, or nothing of JSON."""
    row = draw(ROWS)
    line = json.dumps(
        row,
        ensure_ascii=draw(st.booleans()),
        indent=None,
        separators=draw(st.sampled_from([(",", ":"), (" , ", " : "), (", ", ": ")])),
    ).encode("utf-8", "surrogatepass")
    return draw(st.sampled_from([line] * 8 + [line[:-1], b"", b"\xef\xbb\xbf" + line, b"[1]", line + b"\r"]))


def one_by_one(reader: Any, raw: RawObject) -> tuple[list[Any], bytes]:
    rows, encoded = [], b""
    for row in reader(raw):
        span = raw.take_raw_span()
        if isinstance(row, Document):
            encoded += ENCODER.encode(row) + b"\n"
            rows.append(((row.source, row.id), span and span[:2]))
        else:
            rows.append((row, span and span[:2]))
    return rows, encoded


def many(reader: Any, raw: RawObject) -> tuple[list[Any], bytes, int]:
    rows: list[Any] = []
    encoded, at_once = b"", 0
    for row in reader.blocks(raw):
        span = raw.take_raw_span()
        if isinstance(row, SpannedRows):
            encoded += row.rows
            at_once += len(row.pairs)
            rows += zip(row.pairs, zip(row.starts, row.ends, strict=True), strict=True)
        elif isinstance(row, Document):
            encoded += ENCODER.encode(row) + b"\n"
            rows.append(((row.source, row.id), span and span[:2]))
        else:
            rows.append((row, span and span[:2]))
    return rows, encoded, at_once


@pytest.mark.slow
@settings(max_examples=60)
@given(lines=st.lists(written(), max_size=3), options=st.sampled_from(OPTIONS))
def test_lines_at_once_are_the_lines_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], options: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("lake")
    reader, data = JsonLines(source="talks", **options), b"\n".join(lines)
    expected = one_by_one(reader, talk_file(folder, "a.jsonl", data))
    assert many(reader, talk_file(folder, "a.jsonl", data))[:2] == expected


@settings(max_examples=40)
@given(rows=st.lists(ROWS, min_size=1, max_size=3), options=st.sampled_from(OPTIONS))
def test_parquet_rows_at_once_are_the_rows_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], options: dict[str, Any]
) -> None:
    sink = io.BytesIO()
    try:
        pq.write_table(pa.Table.from_pylist(rows), sink)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError):
        return  # columns of several types are no parquet
    folder, reader = tmp_path_factory.mktemp("lake"), ParquetRows(source="talks", **options)
    found: list[Any] = []
    for take in (one_by_one, many):
        try:
            found.append(take(reader, talk_file(folder, "a.parquet", sink.getvalue()))[:2])
        except DataError as error:
            found.append(str(error))
    assert found[0] == found[1]


def test_plain_rows_are_taken_at_once(tmp_path: Path) -> None:
    rows = [{**USUAL, "n": n, "meta": {"lang": "en", "x": n / 7}, "source": "talks"} for n in range(600)]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    files: list[tuple[type[JsonLines | ParquetRows], str, bytes]] = [
        (JsonLines, "a.jsonl.gz", gzip.compress(data, mtime=0)),
        (ParquetRows, "a.parquet", sink.getvalue()),
    ]
    for kind, name, packed in files:
        for options in OPTIONS[:3]:
            reader = kind(source="talks", **options)
            expected = one_by_one(reader, talk_file(tmp_path, name, packed))
            assert many(reader, talk_file(tmp_path, name, packed)) == (*expected, 600)


def test_a_plan_gives_up_where_a_row_is_not_plain() -> None:
    plan = JsonLines(source="talks").plan
    assert plan is not None
    assert plan.encode_documents([{"id": 7, "text": "a"}]) == (
        b'{"id":"7","text":"a","source":"talks"}\n',
        [("talks", "7")],
    )
    for row in ({"id": "", "text": "a"}, {"id": True, "text": "a"}, {"id": "d"}, {"id": "d\x00", "text": "a"}):
        with pytest.raises(GiveUp):
            plan.encode_documents([row])
    assert JsonLines(source="talks", keep=("n",)).plan is None
