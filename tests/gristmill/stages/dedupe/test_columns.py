"""Columns in memory and in temporary files are the same bytes."""

import io
from pathlib import Path

import numpy as np
import pytest
import xxhash

from gristmill.errors import DataError
from gristmill.lake.store.open import Lake
from gristmill.stages.dedupe.columns import FOUND, ColumnFile, ColumnWriter, Spill, write_array


def written(spill: Spill, most: int) -> bytes:
    writer = ColumnWriter(FOUND, spill, most)
    for start in range(0, 10, 3):
        numbers = np.arange(start, min(10, start + 3))
        writer.write(numbers, numbers * 2, numbers * 3)
    file = io.BytesIO()
    writer.copy_to(file)
    assert writer.rows == 10
    return file.getvalue()


def test_the_bytes_do_not_depend_on_the_memory() -> None:
    numbers = np.arange(10)
    plain = (
        numbers.astype("<u8").tobytes() + (numbers * 2).astype("<u4").tobytes() + (numbers * 3).astype("<u4").tobytes()
    )
    with Spill(1000) as spill:
        assert written(spill, 1000) == plain
        assert spill.bytes == 0
        assert written(spill, 100) == plain
        assert spill.bytes > 0
        folder = spill.new_file().parent
        assert folder.exists()
    assert not folder.exists()


def test_rows_are_read_from_memory_and_from_a_temporary_file(tmp_path: Path) -> None:
    store = Lake(str(tmp_path)).store()
    with Spill(1000) as spill:
        data = written(spill, 1000)
        store.put("a/found", data)
        digest = xxhash.xxh3_128_hexdigest(data)
        for held in (None, spill):
            file = ColumnFile(store, "a/found", digest, FOUND, held)
            assert file.rows == 10
            assert [column.tolist() for column in file.read(8, 12)] == [[8, 9], [16, 18], [24, 27]]
            assert file.read_column_range(2, 0, 2).tolist() == [0, 3]
            with pytest.raises(DataError, match="a/found: other bytes than its ledger names; make its partition again"):
                ColumnFile(store, "a/found", "0" * 32, FOUND, held)


def test_a_file_that_ends_within_a_row_is_refused(tmp_path: Path) -> None:
    store = Lake(str(tmp_path)).store()
    store.put("a", b"123")
    with pytest.raises(DataError, match="other bytes"):
        ColumnFile(store, "a", xxhash.xxh3_128_hexdigest(b"123"), FOUND)


def test_an_empty_array_has_no_bytes() -> None:
    file = io.BytesIO()
    write_array(file, np.zeros(0, "<u4"))
    assert file.getvalue() == b""
