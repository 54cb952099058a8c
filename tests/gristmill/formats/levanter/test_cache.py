from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DataError
from gristmill.formats.levanter.array_reader import ArrayReader
from gristmill.formats.levanter.array_writer import CHUNK, ArrayWriter, ObjectSink
from gristmill.formats.levanter.cache import Batch, CacheReader, CacheWriter, copy_range, range_reader_of_store
from gristmill.formats.levanter.cache_ledger import CacheLedger
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.hashing import Uploads

Rows = list[list[int]]
TEXT: dict[str, DType] = {"input_ids": "int32"}
CHAT: dict[str, DType] = {"input_ids": "int32", "assistant_masks": "int32"}


def batch(fields: dict[str, Rows], dtype: type = np.int32) -> Batch:
    return {
        name: (
            np.array([value for row in rows for value in row], dtype),
            np.array([len(row) for row in rows], np.int64),
        )
        for name, rows in fields.items()
    }


def writer(folder: Path, fields: dict[str, DType] | None = None) -> CacheWriter:
    store = FolderStore(str(folder))

    def opened(name: str) -> ObjectSink:
        return store.upload(f"part/{name}")

    return CacheWriter(opened, fields or TEXT)


def write(folder: Path, *batches: Rows) -> CacheLedger:
    cache = writer(folder)
    for rows in batches:
        cache.append_batch(batch({"input_ids": rows}))
    return cache.close()


def reader(folder: Path) -> CacheReader:
    return CacheReader(range_reader_of_store(FolderStore(str(folder))), "part")


def rows_of(cache: CacheReader, field: str = "input_ids") -> Rows:
    return [cache.row(field, number).tolist() for number in range(cache.rows)]


def names(folder: Path) -> list[str]:
    return sorted(entry.path for entry in FolderStore(str(folder)).list(""))


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    ledger = write(tmp_path, [[1, 2, 3], []], [[4]], [])
    assert ledger["total_num_rows"] == 3
    assert ledger["field_counts"] == {"input_ids": 4}
    cache = reader(tmp_path)
    assert rows_of(cache) == [[1, 2, 3], [], [4]]
    assert (cache.rows, cache.fields, cache.count("input_ids"), cache.dtype("input_ids")) == (
        3,
        ["input_ids"],
        4,
        "int32",
    )
    assert cache.ledger == ledger
    assert cache.elements("input_ids", 1, 4).tolist() == [2, 3, 4]
    assert cache.bounds("input_ids", 0, 3).tolist() == [0, 3, 3, 4]
    assert cache.bounds("input_ids", 1, 3).tolist() == [3, 3, 4]
    cache.verify()


def test_the_offsets_are_the_row_count_and_then_each_rows_end(tmp_path: Path) -> None:
    write(tmp_path, [[1, 2, 3], [], [4]])
    offsets = ArrayReader(range_reader_of_store(FolderStore(str(tmp_path))), "part/input_ids/offsets")
    assert offsets.dtype == "int64"
    assert offsets.read(0, 5).tolist() == [3, 3, 3, 4, 0]


def test_a_part_without_rows_is_a_finished_cache(tmp_path: Path) -> None:
    assert write(tmp_path)["total_num_rows"] == 0
    assert names(tmp_path) == [
        "part/input_ids/data/zarr.json",
        "part/input_ids/offsets/c/0",
        "part/input_ids/offsets/zarr.json",
        "part/shard_ledger.json",
    ]
    assert rows_of(reader(tmp_path)) == []
    reader(tmp_path).verify()


def test_rows_without_tokens_are_rows(tmp_path: Path) -> None:
    write(tmp_path, [[], [], []])
    assert rows_of(reader(tmp_path)) == [[], [], []]
    reader(tmp_path).verify()


def test_more_rows_than_a_chunk_of_offsets_holds(tmp_path: Path) -> None:
    cache = writer(tmp_path)
    rows = CHUNK + 10
    cache.append_batch({"input_ids": (np.arange(rows, dtype=np.int32), np.ones(rows, np.int64))})
    cache.close()
    read = reader(tmp_path)
    assert [read.row("input_ids", number).tolist() for number in (0, CHUNK - 2, CHUNK - 1, CHUNK, rows - 1)] == [
        [0],
        [CHUNK - 2],
        [CHUNK - 1],
        [CHUNK],
        [rows - 1],
    ]
    read.verify()


@pytest.mark.slow
@given(rows=st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=12), cut=st.integers(0, 12))
@settings(max_examples=30)
def test_the_bytes_do_not_depend_on_the_batches(tmp_path_factory: pytest.TempPathFactory, rows: Rows, cut: int) -> None:
    folder = tmp_path_factory.mktemp("cache")
    write(folder / "whole", rows)
    write(folder / "halves", rows[:cut], rows[cut:])
    whole, halves = FolderStore(str(folder / "whole")), FolderStore(str(folder / "halves"))
    assert names(folder / "whole") == names(folder / "halves")
    assert all(whole.read(name) == halves.read(name) for name in names(folder / "whole"))
    assert rows_of(reader(folder / "whole")) == rows


def test_fields_of_other_lengths_and_types_lie_side_by_side(tmp_path: Path) -> None:
    cache = writer(tmp_path, {"input_ids": "int32", "loss_weights": "float32"})
    weights = (np.array([0.5, 1.0], np.float32), np.array([0, 2]))
    cache.append_batch({**batch({"input_ids": [[1, 2], [3]]}), "loss_weights": weights})
    assert cache.close()["field_counts"] == {"input_ids": 3, "loss_weights": 2}
    read = reader(tmp_path)
    assert rows_of(read) == [[1, 2], [3]]
    assert [read.row("loss_weights", number).tolist() for number in (0, 1)] == [[], [0.5, 1.0]]


@pytest.mark.parametrize(
    "fields",
    [
        {"input_ids": [[1]]},
        {"input_ids": [[1]], "assistant_masks": [[1], []]},
        {"input_ids": [[1]], "other": [[1]]},
    ],
)
def test_a_batch_must_have_the_declared_fields_and_the_same_rows(tmp_path: Path, fields: dict[str, Rows]) -> None:
    with pytest.raises(ValueError, match="a batch needs the same rows for each of"):
        writer(tmp_path, CHAT).append_batch(batch(fields))


@pytest.mark.parametrize("lengths", [[1], [3], [-1, 3], []])
def test_lengths_must_sum_to_the_elements(tmp_path: Path, lengths: list[int]) -> None:
    with pytest.raises(ValueError, match="do not sum to the 2 elements given"):
        writer(tmp_path).append_batch({"input_ids": (np.array([1, 2], np.int32), np.array(lengths, np.int64))})


def test_another_element_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="array of int32 got 1 dimensions of int64"):
        writer(tmp_path).append_batch(batch({"input_ids": [[1]]}, np.int64))


def test_an_abandoned_cache_has_no_objects(tmp_path: Path) -> None:
    with Uploads(FolderStore(str(tmp_path))) as uploads:
        cache = CacheWriter(uploads.open, TEXT)
        cache.append_batch(batch({"input_ids": [[1] * (CHUNK + 1)]}))
    assert names(tmp_path) == []


def test_the_ledger_names_the_shards_within_and_levanters_metadata(tmp_path: Path) -> None:
    cache = writer(tmp_path)
    cache.append_batch(batch({"input_ids": [[1], [2], [3]]}))
    with pytest.raises(ValueError, match="do not sum to the 3 rows written"):
        cache.close({"a": 1, "b": 1})
    cache = writer(tmp_path)
    cache.append_batch(batch({"input_ids": [[1], [2], [3]]}))
    ledger = cache.close({"a": 1, "b": 2}, {"tokenizer": "t-1"})
    assert (ledger["shard_rows"], ledger["finished_shards"]) == ({"a": 1, "b": 2}, ["a", "b"])
    assert reader(tmp_path).ledger["metadata"] == {"preprocessor_metadata": {"tokenizer": "t-1"}}


def test_an_unfinished_cache_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, [[1]])
    ledger = tmp_path / "part/shard_ledger.json"
    ledger.write_bytes(ledger.read_bytes().replace(b'"is_finished": true', b'"is_finished": false'))
    with pytest.raises(DataError, match="part: not a finished consolidated cache"):
        reader(tmp_path)
    ledger.unlink()
    with pytest.raises(DataError, match=r"part/shard_ledger\.json is missing"):
        reader(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"total_num_rows": 2, "shard_rows": {"": 2}', b'"total_num_rows": 1, "shard_rows": {"": 1}'),
        (b'"input_ids": 3', b'"input_ids": 4'),
    ],
)
def test_a_ledger_that_says_otherwise_than_the_offsets_is_an_error(tmp_path: Path, old: bytes, new: bytes) -> None:
    write(tmp_path, [[1], [2, 3]])
    path = tmp_path / "part/shard_ledger.json"
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(DataError, match=r"part: the ledger says .* the offsets 2 and"):
        reader(tmp_path)


@pytest.mark.parametrize("array", ["data", "offsets"])
def test_a_missing_object_is_an_error_that_names_it(tmp_path: Path, array: str) -> None:
    write(tmp_path, [[1], [2, 3]])
    (tmp_path / f"part/input_ids/{array}/c/0").unlink()
    with pytest.raises(DataError, match=f"part/input_ids/{array}/c/0 is missing"):
        reader(tmp_path).verify()


def test_rows_and_elements_that_are_not_there_are_index_errors(tmp_path: Path) -> None:
    write(tmp_path, [[1], [2, 3]])
    cache = reader(tmp_path)
    with pytest.raises(IndexError, match="rows 2 to 3 of 2"):
        cache.row("input_ids", 2)
    with pytest.raises(IndexError, match="elements 0 to 4 of 3 input_ids"):
        cache.elements("input_ids", 0, 4)
    with pytest.raises(IndexError, match="elements -1 to 1"):
        cache.elements("input_ids", -1, 1)


@pytest.mark.parametrize(("rows", "elements"), [(1, 99), (2, 99), (99, 1), (99, 3), (99, 99)])
def test_batches_hold_no_more_than_asked_but_one_row_at_least(tmp_path: Path, rows: int, elements: int) -> None:
    written = [[1, 2], [], [3], [4, 5, 6, 7], [8]]
    write(tmp_path, written)
    seen: Rows = []
    for taken in reader(tmp_path).batches(0, 5, rows=rows, elements=elements):
        flat, lengths = taken["input_ids"]
        assert len(lengths) == 1 or (len(lengths) <= rows and len(flat) <= elements)
        ends = np.cumsum(lengths)
        seen += [flat[end - length : end].tolist() for end, length in zip(ends, lengths, strict=True)]
    assert seen == written


def test_a_changed_shard_is_replaced_and_the_others_are_copied(tmp_path: Path) -> None:
    before, old, after = [[1, 2], []], [[3]], [[4, 5], [6], [7]]
    write(tmp_path / "old", before + old + after)
    source = reader(tmp_path / "old")
    cache = writer(tmp_path / "new")
    assert copy_range(source, 0, 2, cache) == 2
    cache.append_batch(batch({"input_ids": [[9, 9, 9], [9]]}))
    assert copy_range(source, 3, 6, cache) == 3
    cache.close()
    assert rows_of(reader(tmp_path / "new")) == [*before, [9, 9, 9], [9], *after]


def test_a_copy_of_everything_has_the_same_bytes(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).integers(1, 99, (500, 1_000)).tolist()
    write(tmp_path / "old", rows)
    cache = writer(tmp_path / "new")
    copy_range(reader(tmp_path / "old"), 0, 500, cache)
    cache.close()
    old, new = FolderStore(str(tmp_path / "old")), FolderStore(str(tmp_path / "new"))
    assert all(old.read(name) == new.read(name) for name in names(tmp_path / "old"))


@pytest.mark.parametrize("ends", [[2, 1, 3], [4, 4, 3], [-1, 2, 3]])
def test_offsets_that_fall_or_pass_the_end_are_an_error(tmp_path: Path, ends: list[int]) -> None:
    write(tmp_path, [[1, 2], [3], []])
    store = FolderStore(str(tmp_path))

    def opened(name: str) -> ObjectSink:
        return store.upload(f"part/input_ids/offsets/{name}")

    offsets = ArrayWriter(opened, "int64")
    offsets.append(np.array([3, *ends], np.int64))
    offsets.close()
    with pytest.raises(DataError, match="part/input_ids/offsets: the ends of rows 0 to 3 fall or pass the end"):
        reader(tmp_path).verify()
