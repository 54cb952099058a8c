from pathlib import Path

import pytest
from testkit import SNAPSHOT, Mill
from wholelake import TOKENIZER, even, make_whole

from gristmill.pipeline.indexes import MixIndexes

MIX, CACHE = "mixes/even/index", "token_caches/even/tiny-1/index"
NEVER = "it has no ledger: an earlier Gristmill made it, or the ledger was lost"


@pytest.fixture
def whole(tmp_path: Path) -> Mill:
    """The cache has its index, the mix has none."""
    return make_whole(tmp_path / "lake")


def indexes(mill: Mill) -> MixIndexes:
    return MixIndexes(even(), [TOKENIZER], {"pages": mill.source()}, {"pages": [SNAPSHOT]})


def test_only_the_indexes_that_the_lake_lacks_are_written(whole: Mill) -> None:
    every = indexes(whole)
    assert every.addresses == [MIX, CACHE]
    assert every.why_open(whole.store, MIX) == ("never made",)
    assert every.why_open(whole.store, CACHE) == ()
    assert every.close(whole.store) == {MIX: ("never made",)}
    before = whole.stamps()
    assert every.close(whole.store) == {}
    assert whole.stamps() == before


def test_an_index_without_its_ledger_is_written_again_with_the_same_bytes(whole: Mill) -> None:
    every = indexes(whole)
    every.close(whole.store)
    before = whole.tree()
    whole.store.delete([f"{CACHE}/ledger.json"])
    assert every.close(whole.store) == {CACHE: (NEVER,)}
    assert whole.tree() == before
