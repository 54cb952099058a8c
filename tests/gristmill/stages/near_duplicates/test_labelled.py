"""The numbers of clusters whose first documents have one (source, id)."""

from pathlib import Path

import numpy as np
import pytest
from dedupelake import known, labels, put, resolved
from testkit import Mill

from gristmill.recipes.catalogue import Catalogue
from gristmill.stages.near_duplicates.labelled import make_numbers_distinct, wished_cluster_number

ONE = "the mill stands at the river and grinds the corn of the whole valley every day"
OTHER = "quite another story is told of a lighthouse far out in the cold and stormy northern sea"


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("catalogue", [known(), known("replace")])
def test_two_clusters_have_two_numbers(tmp_path: Path, catalogue: Catalogue, rounds: int) -> None:
    """Their first documents are both `a0`: of one layer, of two layers of a round (editions), and of two rounds.

    The cluster that is made first has the number that it always had. Of editions, that is the newer one.
    """
    mill = Mill(tmp_path)
    for snapshot, text in (("2024-01", ONE), ("2024-02", OTHER)):
        put(mill, snapshot, "a", text, text + " again")
        if rounds == 2 or snapshot == "2024-02":
            resolved(mill, "near-1", catalogue=catalogue)
    numbers = []
    for snapshot in ("2024-01", "2024-02"):
        found = labels(mill, "near-1", snapshot)
        numbers.append(found["a0"]["cluster"][0][2])
        assert found["a1"]["cluster"][0][2] == numbers[-1]
        assert [found[each]["size"][0][2] for each in ("a0", "a1")] == [2, 2]
    usual = wished_cluster_number(("pages", "a0"))
    newer_first = rounds == 1 and catalogue == known("replace")
    assert numbers == ([usual + 1, usual] if newer_first else [usual, usual + 1])


def test_the_number_after_the_greatest_is_0() -> None:
    most = 2**52 - 1
    assert make_numbers_distinct(np.array([most, most], np.uint64), np.array([0], np.uint64)).tolist() == [most, 1]
