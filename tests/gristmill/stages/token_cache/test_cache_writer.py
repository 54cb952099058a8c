"""Caches that people write row by row."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gristmill.errors import DataError, RecipeError
from gristmill.formats.levanter import array_writer
from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.folder import FolderStore
from gristmill.stages.token_cache.cache_writer import TokenCacheWriter, verify_cache

FIELDS: dict[str, DType] = {"input_ids": "int32", "loss_weights": "float32"}


def test_rows_come_back_as_they_were_given(tmp_path: Path) -> None:
    rows: list[tuple[Any, Any]] = [([1, 2, 3], [1, 0.5, 0]), ([], []), (np.arange(4), np.ones(4, np.float32))]
    with TokenCacheWriter(str(tmp_path / "train"), FIELDS, vocab_size=10) as cache:
        for ids, weights in rows:
            cache.append({"input_ids": ids, "loss_weights": weights})
    reader = CacheReader(range_reader_of_store(FolderStore(str(tmp_path))), "train")
    assert [reader.row("input_ids", number).tolist() for number in range(3)] == [[1, 2, 3], [], [0, 1, 2, 3]]
    assert reader.row("loss_weights", 0).tolist() == [1, 0.5, 0]
    assert verify_cache(str(tmp_path / "train"))["total_num_rows"] == 3


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"input_ids": [1]}, "row 1: it has the fields"),
        ({"input_ids": [1], "loss_weights": []}, "different lengths"),
        ({"input_ids": [10], "loss_weights": [1]}, "ids from 10 to 10, the vocabulary has 0 to 9"),
        ({"input_ids": [-1], "loss_weights": [1]}, "ids from -1"),
        ({"input_ids": [0.5], "loss_weights": [1]}, "input_ids has fractions"),
        ({"input_ids": [2**40], "loss_weights": [1]}, "input_ids has values that int32 cannot represent"),
        ({"input_ids": [1], "loss_weights": [float("nan")]}, "loss_weights has values that float32 cannot represent"),
        ({"input_ids": [[1]], "loss_weights": [1]}, "input_ids is not a list of numbers"),
        ({"input_ids": ["1"], "loss_weights": [1]}, "input_ids is not a list of numbers"),
    ],
)
def test_a_row_that_cannot_be_is_named_and_leaves_no_cache(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    def write() -> None:
        with TokenCacheWriter(str(tmp_path), FIELDS, vocab_size=10) as cache:
            cache.append({"input_ids": [1], "loss_weights": [1]})
            cache.append(row)

    with pytest.raises(DataError, match=said):
        write()
    assert not (tmp_path / "shard_ledger.json").exists()
    with pytest.raises(DataError, match=r"sums\.json is missing"):
        verify_cache(str(tmp_path))


def test_a_finished_cache_is_not_written_over_and_a_lost_object_is_found(tmp_path: Path) -> None:
    with TokenCacheWriter(str(tmp_path), {"ids": "int32"}) as cache:
        cache.append({"ids": list(range(100))})
    with pytest.raises(RecipeError, match="a cache never changes"):
        TokenCacheWriter(str(tmp_path), {"ids": "int32"})
    array = tmp_path / "ids/data/c/0"
    whole = array.read_bytes()
    array.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    with pytest.raises(DataError, match=r"ids/data/c/0 does not have the sha256 that sums\.json names"):
        verify_cache(str(tmp_path))
    array.unlink()
    with pytest.raises(DataError, match="ids/data/c/0 is missing"):
        verify_cache(str(tmp_path))


def objects(folder: Path) -> dict[str, bytes]:
    store = FolderStore(str(folder))
    return {entry.path: store.read(entry.path) for entry in store.list("")}


def test_a_cache_that_levanter_made_is_not_written_over(tmp_path: Path) -> None:
    with TokenCacheWriter(str(tmp_path), {"ids": "int32"}) as cache:
        cache.append({"ids": list(range(100))})
    (tmp_path / "sums.json").unlink()  # Levanter writes none
    before = objects(tmp_path)
    with pytest.raises(RecipeError, match="a cache never changes"):
        TokenCacheWriter(str(tmp_path), {"ids": "int32"})
    assert objects(tmp_path) == before


def test_arrays_that_a_killed_writer_left_are_not_mixed_with_new_ones(tmp_path: Path) -> None:
    (tmp_path / "ids/data/c").mkdir(parents=True)
    (tmp_path / "ids/data/c/1").write_bytes(b"old")
    with pytest.raises(RecipeError, match=r"contains ids/data/c/1 but no finished cache: .* remove the folder"):
        TokenCacheWriter(str(tmp_path), {"ids": "int32"})


def test_a_block_that_fails_leaves_nothing_so_that_it_can_be_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(array_writer, "CHUNKS", 1)  # an object is complete after 262,144 ids

    def write(last: int) -> None:
        with TokenCacheWriter(str(tmp_path), {"ids": "int32"}, vocab_size=2) as cache:
            cache.append({"ids": np.ones(2 << 20, np.int32)})
            cache.append({"ids": [last]})

    with pytest.raises(DataError, match="row 1: ids from 2"):
        write(2)
    assert objects(tmp_path) == {}
    write(1)
    assert verify_cache(str(tmp_path))["total_num_rows"] == 2


def test_types_are_declared(tmp_path: Path) -> None:
    fields: Any = {"ids": "int16"}
    with pytest.raises(RecipeError, match="int32, int64, float32"):
        TokenCacheWriter(str(tmp_path), fields)
    with TokenCacheWriter(str(tmp_path), {"ids": "int32"}):
        pass
    assert json.loads((tmp_path / "shard_ledger.json").read_text())["is_finished"]
    assert verify_cache(str(tmp_path))["total_num_rows"] == 0
