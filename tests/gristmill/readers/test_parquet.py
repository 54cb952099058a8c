import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from talklake import talk_file
from testkit import lines

from gristmill.errors import DataError
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.parquet import ParquetRows
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
