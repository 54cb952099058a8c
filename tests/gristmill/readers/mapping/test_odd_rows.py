import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from talklake import talk_file

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.readers.parquet import ParquetRows
from gristmill.recipes.raw_object import Refused


def made(tmp_path: Path, more: pa.Array) -> list[Any]:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": ["0", "1"], "text": ["t", "u"], "x": more}), buffer)
    return list(ParquetRows(source="talks")(talk_file(tmp_path, "a.parquet", buffer.getvalue())))


BAD = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 3, 6], dtype=np.int32)), pa.py_buffer(b"a\xffbdef"))


@pytest.mark.parametrize(
    ("column", "path", "shown"),
    [
        (BAD, "x", b'"a\\\\xffb"'),
        (BAD.dictionary_encode(), "x", b'"a\\\\xffb"'),
        (pa.StructArray.from_arrays([BAD], names=["y"]), "x.y", b'{"y":"a\\\\xffb"}'),
        (pa.ListArray.from_arrays([0, 1, 2], BAD), "x[0]", b'["a\\\\xffb"]'),
    ],
)
def test_a_row_that_is_not_utf_8_is_refused_and_the_others_are_read(
    tmp_path: Path, column: pa.Array, path: str, shown: bytes
) -> None:
    bad, good = made(tmp_path, column)
    where = f"a.parquet row 0 ({path}, at byte 1 of the string)"
    assert bad == Refused("not utf-8", where, b'{"id":"0","text":"t","x":' + shown + b"}")
    assert isinstance(good, Document)
    assert good.id == "1"


def test_an_odd_value_is_told_by_its_kind(tmp_path: Path) -> None:
    twice = pa.StructArray.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"])
    with pytest.raises(DataError, match=r"a\.parquet: row 0: column 'x' has two fields named 'a' in one struct; "):
        made(tmp_path, twice)
    with pytest.raises(DataError, match=r"a\.parquet: row 1: column 'x' has a time .*cast it to"):
        made(tmp_path, pa.array([0, 10**15], pa.timestamp("s")))
    with pytest.raises(DataError, match=r"a\.parquet: row 0: column 'x' has a time .*unknown time zone"):
        made(tmp_path, pa.array([0, 1], pa.timestamp("s", tz="Mars/Olympus")))
