"""Verdicts as pairs of positions."""

from pathlib import Path

import pytest
from hashlake import HashLake, recipe_of

from gristmill.errors import DataError
from gristmill.stages.dedupe.verdicts.reader import VerdictReader
from gristmill.stages.fingerprints.order import Order


def test_pairs_name_the_first_position_in_the_snapshot_that_keeps_it(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of(buckets=1))
    lake.give("web", "x", {"s": [(8, 0), (3, 0), (3, 0)], "t": [(4, 0)]})
    lake.give("news", "a", {"s": [(4, 0), (6, 0), (3, 0), (3, 0)]})
    lake.resolve(("web", "x", False))
    lake.resolve(("news", "a", False))
    pairs = VerdictReader(lake.mill.store, lake.recipe, lake.order, 2).pairs(1, 0)
    assert [column.tolist() for column in pairs] == [[0, 2], [0, 0], [1 << 32, 1]]
    with pytest.raises(DataError, match="no bucket 5; make the verdicts again"):
        VerdictReader(lake.mill.store, lake.recipe, lake.order, 2).pairs(1, 5)
    with pytest.raises(DataError, match="rank 0 is not in the order"):
        VerdictReader(lake.mill.store, lake.recipe, Order(), 2).pairs(1, 0)
