"""Caches that people write row by row."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gristmill.errors import DataError, RecipeError
from gristmill.formats.levanter.cache import CacheReader, ranges_of
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.folder import FolderStore
from gristmill.stages.token_cache.cache_writer import TokenCacheWriter, verify

FIELDS: dict[str, DType] = {"input_ids": "int32", "loss_weights": "float32"}


def test_rows_come_back_as_they_were_given(tmp_path: Path) -> None:
    rows: list[tuple[Any, Any]] = [([1, 2, 3], [1, 0.5, 0]), ([], []), (np.arange(4), np.ones(4, np.float32))]
    with TokenCacheWriter(str(tmp_path / "train"), FIELDS, vocab_size=10) as cache:
        for ids, weights in rows:
            cache.append({"input_ids": ids, "loss_weights": weights})
    reader = CacheReader(ranges_of(FolderStore(str(tmp_path))), "train")
    assert [reader.row("input_ids", number).tolist() for number in range(3)] == [[1, 2, 3], [], [0, 1, 2, 3]]
    assert reader.row("loss_weights", 0).tolist() == [1, 0.5, 0]
    assert verify(str(tmp_path / "train"))["total_num_rows"] == 3


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
        verify(str(tmp_path))


def test_a_finished_cache_is_not_written_over_and_a_lost_object_is_found(tmp_path: Path) -> None:
    with TokenCacheWriter(str(tmp_path), {"ids": "int32"}) as cache:
        cache.append({"ids": list(range(100))})
    with pytest.raises(RecipeError, match="a cache never changes"):
        TokenCacheWriter(str(tmp_path), {"ids": "int32"})
    array = tmp_path / "ids/data/c/0"
    whole = array.read_bytes()
    array.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    with pytest.raises(DataError, match=r"ids/data/c/0 does not have the sha256 that sums\.json names"):
        verify(str(tmp_path))
    array.unlink()
    with pytest.raises(DataError, match="ids/data/c/0 is missing"):
        verify(str(tmp_path))


def test_types_are_declared(tmp_path: Path) -> None:
    fields: Any = {"ids": "int16"}
    with pytest.raises(RecipeError, match="int32, int64, float32"):
        TokenCacheWriter(str(tmp_path), fields)
    with TokenCacheWriter(str(tmp_path), {"ids": "int32"}):
        pass
    assert json.loads((tmp_path / "shard_ledger.json").read_text())["is_finished"]
    assert verify(str(tmp_path))["total_num_rows"] == 0
