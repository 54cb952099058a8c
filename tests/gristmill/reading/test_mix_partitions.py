import pytest
from testkit import Mill
from wholelake import STREAM, rewrite

from gristmill.errors import DataError, RecipeError
from gristmill.reading.mix_partitions import mix_partitions


def test_the_slices_are_those_that_the_index_names(read_mill: Mill) -> None:
    assert [each.place for each in mix_partitions(read_mill.store, "even", None, None)] == [STREAM]
    assert [each.place for each in mix_partitions(read_mill.store, "even", ["pages"], None)] == [STREAM]
    assert mix_partitions(read_mill.store, "even", [], None) == []
    assert [each.place for each in mix_partitions(read_mill.store, "even", None, ["2024"])] == [STREAM]
    with pytest.raises(RecipeError, match="mix 'even': there is no snapshot '2025'; did you mean '2024'"):
        mix_partitions(read_mill.store, "even", None, ["2025"])


def test_a_mix_without_an_index_or_with_an_old_one_is_an_error(read_mill: Mill) -> None:
    rewrite(read_mill, STREAM, "a", read_mill.lines(STREAM.shard("a"))[:2])
    with pytest.raises(DataError, match="was made again after the mix's index was written; make the mix, or name"):
        mix_partitions(read_mill.store, "even", None, None)
    assert len(mix_partitions(read_mill.store, "even", None, ["2024"])) == 1
    read_mill.store.delete(["mixes/even/index/index.json"])
    with pytest.raises(DataError, match="mixes/even/index: does not exist yet, or is damaged; make the mix, or name"):
        mix_partitions(read_mill.store, "even", None, None)
