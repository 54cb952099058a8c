import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from peak_memory import run_with_peak
from talklake import talk_file
from testkit import lines

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.parquet import ParquetRows
from gristmill.recipes.raw_object import Limits, Refused
from gristmill.recipes.row_format import Chat


def test_parquet_gives_the_same_documents_as_json_lines(tmp_path: Path) -> None:
    rows = [{"id": str(n), "messages": [{"role": "user", "content": f"m{n}"}], "score": n / 2} for n in range(3000)]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    data = buffer.getvalue()
    found = list(ParquetRows(source="talks", format=Chat())(talk_file(tmp_path, "a.parquet", data)))
    assert found == list(JsonLines(source="talks", format=Chat())(talk_file(tmp_path, "a.jsonl", lines(rows))))
    for broken in (data[:-20], b"no parquet", b""):
        with pytest.raises(DataError, match=r"b\.parquet: not a parquet file"):
            list(ParquetRows(source="talks")(talk_file(tmp_path, "b.parquet", broken)))


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd", **options)
    return buffer.getvalue()


def test_a_row_that_is_too_long_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "a.parquet", parquet({"id": ["a", "b", "c"], "text": ["x", "y" * 2000, "z"]}))
    raw.limits = Limits(row=1000)
    first, long, last = ParquetRows(source="talks")(raw)
    assert isinstance(long, Refused)
    assert (long.reason, long.size) == ("row too long", 2000 + len('{"id":"b","text":""}'))
    assert long.where == "a.parquet row 1: 2020 bytes, but row_limit is 1000; its first are kept"
    assert [row.id for row in (first, last) if isinstance(row, Document)] == ["a", "c"]


def test_a_file_of_billions_of_rows_is_told_by_its_index(tmp_path: Path) -> None:
    data = parquet({"text": pa.DictionaryArray.from_arrays(pa.array([0] * 2_000_000, pa.int8()), [""])})
    assert len(data) < 10_000
    with pytest.raises(
        DataError, match=r"a\.parquet: its first [\d,]+ bytes unpack .* and 2,000,000 rows.*unpack_limit"
    ):
        list(ParquetRows(source="talks")(talk_file(tmp_path, "a.parquet", data)))


LARGE = """
import io, sys
import pyarrow as pa, pyarrow.parquet as pq
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.parquet import ParquetRows
from gristmill.recipes.raw_object import RawObject
data = open(sys.argv[1] + "/a.parquet", "rb").read()
before = peak()
raw = RawObject(FolderStore(sys.argv[1]), "a.parquet", "a.parquet", len(data))
rows = sum(1 for _ in ParquetRows(source="talks")(raw))
print(len(data), rows, peak() - before)
"""


def test_one_large_value_in_every_row_of_a_small_file_costs_little_memory(tmp_path: Path) -> None:
    """100 rows of 8 MB each: 800 MB in a few kilobytes."""
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int8()), ["x" * 8_000_000])
    (tmp_path / "a.parquet").write_bytes(parquet({"text": repeated}))
    size, rows, more = map(int, run_with_peak(LARGE, tmp_path).split())
    assert (size < 20_000, rows) == (True, 100)
    assert more < 550  # MiB
