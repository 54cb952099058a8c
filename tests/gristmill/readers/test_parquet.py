import datetime as dt
import decimal
import io
import math
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


def values(tmp_path: Path, value: pa.Array, **options: Any) -> list[Any]:
    data = parquet({"id": [str(n) for n in range(len(value))], "text": ["t"] * len(value), "x": value})
    made = list(ParquetRows(source="talks", **options)(talk_file(tmp_path, "a.parquet", data)))
    return [row.metadata["x"] if isinstance(row, Document) and row.metadata else row for row in made]


def test_numbers_keep_their_digits_and_times_become_strings(tmp_path: Path) -> None:
    assert values(tmp_path, pa.array([2**64 - 1], pa.uint64())) == [2**64 - 1]
    digits = [decimal.Decimal("12345678901234567890.50"), decimal.Decimal(10**60)]
    assert values(tmp_path, pa.array(digits[:1], pa.decimal128(38, 2))) == ["12345678901234567890.50"]
    assert values(tmp_path, pa.array(digits[1:], pa.decimal256(70, 0))) == ["1" + "0" * 60]
    noon = dt.datetime(2024, 5, 6, 12, tzinfo=dt.UTC)
    assert values(tmp_path, pa.array([noon])) == ["2024-05-06T12:00:00+00:00"]
    assert values(tmp_path, pa.array([[noon.date()]])) == [["2024-05-06"]]


def test_bytes_and_nan_are_refused_by_row_and_field_and_can_be_left_out(tmp_path: Path) -> None:
    told = values(tmp_path, pa.array([{"a": [b"x"]}, {"a": []}]))
    assert told[0][:2] == (
        "bytes in a field",
        "a.parquet row 0 (x.a[0] holds bytes: write it as a string, or name its column in leave_out)",
    )
    assert told[1] == {"a": []}
    numbers = pa.array([math.nan, 1.5, -math.inf, None])
    told = values(tmp_path, numbers)
    assert (told[1], told[3]) == (1.5, None)
    assert [row[:2] for row in (told[0], told[2])] == [
        ("NaN or infinity", f"a.parquet row {n} (x is {shown}; give a number or None, or read it with nan='null')")
        for n, shown in ((0, "nan"), (2, "-inf"))
    ]
    assert values(tmp_path, numbers, nan="null") == [None, 1.5, None, None]
    rows = values(tmp_path, pa.array([b"x"]), leave_out=("x",))
    assert rows == [Document(id="0", text="t", source="talks")]
    with pytest.raises(DataError, match=r"a\.parquet: no column y to leave out; it has: id, text, x"):
        values(tmp_path, numbers, leave_out=("y",))


def test_bytes_are_no_text(tmp_path: Path) -> None:
    data = parquet({"id": ["a"], "text": [b"bytes"]})
    with pytest.raises(DataError, match=r"a\.parquet: column 'text' is of type binary, and format names strings; "):
        list(ParquetRows(source="talks")(talk_file(tmp_path, "a.parquet", data)))


@pytest.mark.parametrize("value", [pa.array([1], pa.timestamp("ns")), pa.array([10**18], pa.timestamp("us"))])
def test_a_time_that_python_cannot_hold_names_the_file_and_the_mend(tmp_path: Path, value: pa.Array) -> None:
    with pytest.raises(DataError, match=r"a\.parquet: row 0: column 'x' has a time .*cast it to timestamp\[us\]"):
        values(tmp_path, value)


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
rows = sum(1 for _ in ParquetRows(source="talks", id_key=None)(raw))
print(len(data), rows, peak() - before)
"""


@pytest.mark.slow
def test_one_large_value_in_every_row_of_a_small_file_costs_little_memory(tmp_path: Path) -> None:
    """100 rows of 8 MB each: 800 MB in a few kilobytes."""
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int8()), ["x" * 8_000_000])
    (tmp_path / "a.parquet").write_bytes(parquet({"text": repeated}))
    size, rows, more = map(int, run_with_peak(LARGE, tmp_path).split())
    assert (size < 20_000, rows) == (True, 100)
    assert more < 550  # MiB


def test_only_columns_that_are_needed_are_read(tmp_path: Path) -> None:
    columns = {"id": ["a"], "text": ["t"], "meta": [{"lang": "en", "blob": b"x"}], "a.b": [1], "created": ["2024"]}
    data = parquet({**columns, "blob": [b"x"]})
    options: dict[str, Any] = {"keep": ("a.b",), "rename": {"meta.lang": "language"}}
    (row,) = ParquetRows(source="talks", **options, nan="null")(talk_file(tmp_path, "a.parquet", data))
    assert isinstance(row, Refused)  # meta has bytes; blob is not read
    data = parquet({**columns, "meta": [{"lang": "en"}], "blob": [b"x"]})
    expected = Document(id="a", text="t", source="talks", created="2024", metadata={"a.b": 1, "language": "en"})
    assert list(ParquetRows(source="talks", **options)(talk_file(tmp_path, "a.parquet", data))) == [expected]


def test_a_refused_row_is_kept_as_json_whichever_way_it_was_read(tmp_path: Path) -> None:
    for more, end in (({}, b"}"), ({"x": pa.array([1.5, 1.5])}, b',"x":1.5}')):
        data = parquet({"id": ["a", None], "text": ["t", "u"], **more})
        _, bad = ParquetRows(source="talks")(talk_file(tmp_path, "a.parquet", data))
        assert bad == Refused("id is null", "a.parquet row 1", b'{"id":null,"text":"u"' + end)


def test_a_page_that_fails_its_checksum_is_damage(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    table = pa.table({"id": ["a", "b"], "text": ["rye", "oat"]})
    pq.write_table(table, buffer, compression="none", use_dictionary=False, write_page_checksum=True)
    with pytest.raises(DataError, match=r"a\.parquet: damaged after row 0 .*upload it again"):
        list(ParquetRows(source="talks")(talk_file(tmp_path, "a.parquet", buffer.getvalue().replace(b"rye", b"RYE"))))


@pytest.mark.parametrize(
    ("zone", "micros", "told"),
    [
        ("America/New_York", -3_786_825_600_000_000, "1849-12-31T19:04:00-04:56"),  # its own time: -04:56:02
        ("America/New_York", -1_000_000, "1969-12-31T18:59:59-05:00"),
        ("Africa/Monrovia", 1, "1969-12-31T23:16:00.000001-00:44"),  # -00:44:30 until 1972
        ("UTC", -3_786_825_600_000_000, "1850-01-01T00:00:00+00:00"),
    ],
)
def test_a_time_of_a_zone_with_seconds_is_written_as_the_same_instant(
    tmp_path: Path, zone: str, micros: int, told: str
) -> None:
    when = pa.array([micros], pa.timestamp("us", zone))
    assert values(tmp_path, when) == [told]
    assert values(tmp_path, pa.StructArray.from_arrays([when], ["at"])) == [{"at": told}]
    fixed = pa.FixedSizeListArray.from_arrays(when, 1)  # Arrow makes Python objects of these
    assert values(tmp_path, fixed) == [[told]]
    assert dt.datetime.fromisoformat(told) == dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros)
