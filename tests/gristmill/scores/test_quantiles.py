from pathlib import Path

import pytest
from testkit import Mill

from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.scores.quantiles import SAMPLED, describe_sampled, label_quantiles, sampled_shards

pytestmark = pytest.mark.slow

SHARES = (0.05, 0.5, 0.95)
KINDS = {"count": "score"}


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """20 rows of 1, 2, 3, 4, 5, 1, 2, ... words in two shards."""
    mill = Mill(tmp_path / "lake")
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    return mill


def test_quantiles_are_those_of_all_rows_and_need_columns(mill: Mill) -> None:
    where = mill.attributes("words-1")
    _, shards = read_ledger(mill.store, where)
    assert label_quantiles(mill.store, where, shards, SHARES) is None
    describe_sampled(mill.store, where, shards, KINDS)
    found = label_quantiles(mill.store, where, shards, SHARES)
    assert found is not None
    assert found["count"] == (1.0, 3.0, 5.0)


def test_columns_that_are_there_are_not_written_again(mill: Mill) -> None:
    where = mill.attributes("words-1")
    _, shards = read_ledger(mill.store, where)
    describe_sampled(mill.store, where, shards, KINDS)
    before = mill.stamps()
    describe_sampled(mill.store, where, shards, KINDS)
    assert mill.stamps() == before


def test_of_many_shards_64_are_looked_at_evenly() -> None:
    shards = [Shard(f"{n:04d}", 1, 1, 1, "", "", "", "", ()) for n in range(10 * SAMPLED)]
    assert [each.name for each in sampled_shards(shards)] == [f"{n:04d}" for n in range(0, 10 * SAMPLED, 10)]
    assert sampled_shards(shards[:SAMPLED]) == shards[:SAMPLED]
