"""The forms that rows take, each of which begins with the first row."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from gristmill.errors import DataError, RecipeError
from gristmill.installation import VERSION
from gristmill.reading.rows import Rows

SCHEMA = pa.schema([("n", pa.int64()), ("t", pa.string())])


def batches(*sizes: int) -> Iterator[Any]:
    first = 0
    for size in sizes:
        numbers = list(range(first, first + size))
        yield pa.record_batch([numbers, [f"t{n}" for n in numbers]], schema=SCHEMA)
        first += size


def rows(*sizes: int, most: int | None = None) -> Rows:
    return Rows(SCHEMA, lambda: batches(*sizes), "numbers", sum(sizes) if most is None else most)


def test_rows_are_dictionaries_batches_a_reader_and_a_table() -> None:
    some = rows(2, 0, 3)
    assert list(some) == list(some) == [{"n": n, "t": f"t{n}"} for n in range(5)]
    assert [batch.num_rows for batch in some.batches()] == [2, 3]
    assert some.reader().read_all() == some.table() == pa.table(some)
    assert len(some) == 5
    assert rows().table() == pa.table({"n": [], "t": []}, SCHEMA)


def test_at_most_so_many_rows_are_given() -> None:
    assert [row["n"] for row in rows(2, 3, most=3)] == [0, 1, 2]
    assert [row["n"] for row in rows(2, 3, most=2)] == [0, 1]
    assert list(rows(2, 3, most=0)) == []


def test_a_relation_gives_the_rows_each_time_it_is_asked() -> None:
    relation = rows(2, 3).duckdb()
    assert relation.aggregate("sum(n)").fetchall() == relation.aggregate("sum(n)").fetchall() == [(10,)]
    assert duckdb.execute("select count(*) from relation a join relation b using (n)").fetchall() == [(5,)]
    numbers = rows(2, 3)
    assert duckdb.execute("select max(t) from numbers where n < 4").fetchall() == [("t3",)]
    assert numbers.title == "numbers"
    with duckdb.connect() as connection:
        assert rows(2, 3).duckdb(connection).filter("n > 2").fetchall() == [(3, "t3"), (4, "t4")]


def test_an_error_keeps_its_words_in_each_form() -> None:
    def broken() -> Iterator[Any]:
        yield from batches(1)
        raise DataError("a.jsonl.gz: row 1: broken")

    some = Rows(SCHEMA, broken, "numbers", 2)
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: row 1: broken"):
        some.table()
    with pytest.raises(duckdb.InvalidInputException, match=r"a\.jsonl\.gz: row 1: broken"):
        some.duckdb().fetchall()


def test_what_is_read_prints_in_words() -> None:
    assert repr(rows(2)) == "numbers: 2 rows, read on demand\n  n: int64\n  t: string"


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_frame_is_a_table(package: str) -> None:
    pytest.importorskip(package)
    assert list(getattr(rows(2, 3), package)()["n"]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_package_that_is_not_installed_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(RecipeError, match=f"{package} is not installed, and .*: run `pip install {package}`"):
        getattr(rows(2, 3), package)()


@pytest.mark.slow
def test_the_package_is_imported_without_its_library() -> None:
    program = "import sys, gristmill; before = set(sys.modules); print(len([m for m in before if 'gristmill' in m]))"
    program += "; print(gristmill.open_lake.__module__, gristmill.__version__, hasattr(gristmill, 'documents'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "gristmill.api", VERSION, "False"]
