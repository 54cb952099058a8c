import numpy as np
import pytest

from gristmill.errors import DataError
from gristmill.lake.identity import HASH_BYTES, dump_hashes, load_hashes
from gristmill.lake.ledger.id_search import missing_hashes, possibly_known_hashes, repeated_upper_halves
from gristmill.lake.ledger.model import Shard


def index_of(rows: int, spread: int, seed: int) -> bytes:
    """A sorted index of few different upper halves."""
    upper = np.random.default_rng(seed).integers(0, spread, rows, dtype=np.uint64) * np.uint64(2**64 // spread)
    return dump_hashes(load_hashes(dump_hashes(np.stack([upper, upper], axis=1)), ordered=False))


def named(name: str, rows: int) -> Shard:
    return Shard(name, rows, 0, 0, "", "", "", "", ())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bucket", [2, 5, 100])
def test_buckets_find_what_one_sort_finds(seed: int, bucket: int) -> None:
    rows = {"a": 40, "b": 0, "c": 3, "d": 17}
    indexes = {name: index_of(count, 97, seed * 10 + i) for i, (name, count) in enumerate(rows.items())}
    shards = [named(name, count) for name, count in rows.items()]
    found = repeated_upper_halves(lambda name, start, end: indexes[name][start:end], shards, bucket)
    highs, times = np.unique(load_hashes(b"".join(indexes.values()))[:, 0], return_counts=True)
    assert found.tolist() == highs[times > 1].tolist()


def test_an_index_that_is_not_sorted_is_an_error() -> None:
    index = index_of(50, 1000, 1)
    turned = index[-HASH_BYTES:] + index[:-HASH_BYTES]
    with pytest.raises(DataError, match="shard a is not sorted"):
        repeated_upper_halves(lambda _, start, end: turned[start:end], [named("a", 50)])


def test_an_index_that_ends_early_is_an_error() -> None:
    with pytest.raises(DataError, match="2 hashes where its ledger has 3 rows"):
        repeated_upper_halves(lambda _, start, end: index_of(2, 10, 1)[start:end], [named("a", 3)])


def test_lacking_and_present_compare_sorted_hashes() -> None:
    few = np.array([[1, 1], [3, 3], [9, 9]], dtype=np.uint64)
    many = np.array([[1, 0], [1, 1], [3, 4], [8, 8]], dtype=np.uint64)
    nothing = np.empty((0, 2), dtype=np.uint64)
    assert missing_hashes(few, many).tolist() == [[3, 3], [9, 9]]
    assert missing_hashes(few, nothing).tolist() == few.tolist()
    assert missing_hashes(nothing, few).tolist() == []
    assert possibly_known_hashes(few, many)[:, 0].tolist() == [1, 3]
    assert possibly_known_hashes(few, nothing).tolist() == []


def test_an_index_whose_pieces_alone_are_sorted_is_an_error() -> None:
    rows = 2048  # two pieces of 1,024 hashes
    index = index_of(rows, 1 << 40, 1)
    turned = index[len(index) // 2 :] + index[: len(index) // 2]
    with pytest.raises(DataError, match="shard a is not sorted"):
        repeated_upper_halves(lambda _, start, end: turned[start:end], [named("a", rows)], 600)
