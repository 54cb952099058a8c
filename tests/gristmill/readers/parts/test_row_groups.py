"""Parquet files by row groups: the same rows, and no more bytes in memory or from the store than they need."""

import io
import random
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from partkit import Held, flattened, read_parts, read_whole
from peak_memory import run_with_peak

from gristmill.errors import DataError
from gristmill.lake.rows.raw_parts import Edge, RawPart
from gristmill.readers.parquet import ParquetRows
from gristmill.readers.parts import row_groups
from gristmill.readers.parts.row_groups import RangedFile
from gristmill.recipes.raw_object import RawObject

READ = ParquetRows(source="tables")
BY_NUMBER = ParquetRows(source="tables", id_key=None)


def table(rows: int, group: int, **options: object) -> bytes:
    draw = random.Random(rows)
    texts = [" ".join(str(draw.random()) for _ in range(draw.randrange(40))) for _ in range(rows)]
    sink = io.BytesIO()
    columns = pa.table({"id": [str(n) for n in range(rows)], "text": texts, "n": list(range(rows))})
    pq.write_table(columns, sink, row_group_size=group, **options)
    return sink.getvalue()


@pytest.mark.parametrize("reader", [READ, BY_NUMBER], ids=["ids", "row numbers"])
@pytest.mark.parametrize("window", [0, 64 << 20])
def test_parts_have_the_rows_of_the_file_also_when_ids_are_row_numbers(
    reader: ParquetRows, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "WINDOW", window)
    data = table(600, 50)
    whole = read_whole(reader, "a.parquet", data)
    assert len(whole) == 600
    for size in (len(data) // 2 + 1, len(data) // 5, len(data) // 30, len(data) - 1):
        assert flattened(read_parts(reader, "a.parquet", data, size)) == whole


def test_a_file_of_one_group_is_the_first_part_and_one_without_rows_has_none() -> None:
    data = table(100, 1000)
    assert [len(rows) for rows in read_parts(READ, "a.parquet", data, len(data) // 3 + 1)] == [100, 0, 0]
    empty = table(0, 10)
    assert flattened(read_parts(READ, "a.parquet", empty, len(empty) // 2)) == []


def test_a_part_reads_its_own_groups_and_each_byte_once() -> None:
    data = table(4000, 100)
    held = Held(data)
    part = RawPart(len(data) // 2, len(data) // 2 + 200_000)
    raw = RawObject(held, "a.parquet", "a.parquet@", len(data), part=part)
    list(READ(raw))
    raw.sha256()
    footer = 70 << 10
    assert held.given < 200_000 + len(data) // 20 + footer
    assert raw.edges is not None
    assert raw.edges[0] is not None
    assert part.start <= raw.edges[0].unit < part.end


def test_groups_that_are_not_in_order_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    data = table(300, 100)
    monkeypatch.setattr(row_groups, "column_start", lambda column: 10_000_000 - column.data_page_offset)
    raw = RawObject(Held(data), "a.parquet", "a@", len(data), part=RawPart(0, 1000))
    index = pq.ParquetFile(io.BytesIO(data)).metadata
    assert [group.number for group in row_groups.row_groups_of_part(index, raw)] == [0, 1, 2]
    assert raw.edges == (Edge(0), Edge(len(data)))
    raw.part = RawPart(1000, len(data))
    assert list(row_groups.row_groups_of_part(index, raw)) == []


def test_a_ranged_file_reads_as_a_file_does() -> None:
    data = bytes(range(256)) * 8
    file = RangedFile(RawObject(Held(data), "a", "a", len(data)))
    file.hold_window(100, 400)
    for start, size in ((150, 20), (90, 20), (2040, 100), (0, -1)):
        assert file.seek(start) == file.tell() == start
        assert file.read(size) == data[start : None if size < 0 else start + size]
    assert file.seek(-8, 2) == len(data) - 8
    assert file.seek(3, 1) == len(data) - 5
    assert file.read() == data[-5:]
    assert (file.readable(), file.seekable(), file.read()) == (True, True, b"")


@pytest.mark.parametrize("wrong", ["truncated", "damaged", "no parquet"])
def test_damage_is_an_error(wrong: str) -> None:
    data = table(200, 50)
    broken = {"truncated": data[:-10], "damaged": data[:2000] + bytes(3000) + data[5000:], "no parquet": b"text" * 900}
    with pytest.raises(DataError, match=r"^a.parquet: (not a parquet file|damaged)"):
        read_parts(READ, "a.parquet", broken[wrong], len(data) // 3)


PEAK = """
import sys
from gristmill.lake.store.folder import FolderStore
from gristmill.readers import parquet
from gristmill.readers.parts import row_groups
from gristmill.recipes.raw_object import RawObject
parquet.WINDOW = row_groups.WINDOW = 8 << 20
store = FolderStore(sys.argv[1])
before = peak()
raw = RawObject(store, "a.parquet", "a.parquet", store.head("a.parquet").size)
rows = sum(1 for _ in parquet.ParquetRows(source="tables")(raw))
raw.sha256()
print(raw.size, rows, peak() - before)
"""


@pytest.mark.slow
def test_memory_is_bounded_by_a_row_group_not_by_the_file(tmp_path: Path) -> None:
    text = random.Random(5).randbytes(1 << 20).hex()
    texts = [text[at : at + 10_000] for at in range(0, 2_000_000, 500)]
    columns = pa.table({"id": [str(n) for n in range(len(texts))], "text": texts})
    pq.write_table(columns, tmp_path / "a.parquet", row_group_size=250, use_dictionary=False, compression=None)
    size, rows, more = map(int, run_with_peak(PEAK, tmp_path).split())
    assert (size > 38_000_000, rows) == (True, len(texts))
    assert more < 30  # MiB


def test_an_index_whose_numbers_of_rows_differ_is_damage() -> None:
    """The numbers of rows are changed in turn: that of a column, of a row group, and of the file."""
    buffer = io.BytesIO()
    columns = pa.table({"text": ["a longer text"] * 20})
    pq.write_table(columns, buffer, row_group_size=20, compression="none", use_dictionary=False, write_statistics=False)
    data = buffer.getvalue()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    counts = [start + match.start() + 1 for match in re.finditer(rb"\x16\x28", data[start:])]
    assert len(counts) == 3
    for at in counts:
        damaged = data[:at] + b"\x08" + data[at + 1 :]
        raw = RawObject(Held(damaged, 1 << 16), "a.parquet", "a.parquet", len(damaged))
        with pytest.raises(DataError, match=r"a\.parquet: damaged: (its index|row group 0) "):
            list(BY_NUMBER(raw))
