import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.stages.models.metrics import area_under_roc, measure_classifier

SCORED = st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=10).map(
    lambda rows: [(2, True), (3, False), *rows]
)


@given(SCORED)
def test_auc_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[int, bool]]) -> None:
    pairs = [(p > n) + 0.5 * (p == n) for p, is_p in rows for n, is_n in rows if is_p and not is_n]
    scores, truth = zip(*rows, strict=True)
    assert area_under_roc(scores, truth) == pytest.approx(float(np.mean(pairs)), abs=1e-6)


def test_measures_that_one_can_count() -> None:
    given = [
        {"rude": 0.9, "calm": 0.1},
        {"rude": 0.6, "calm": 0.4},
        {"rude": 0.4, "calm": 0.6},
        {"rude": 0.5, "calm": 0.5},
    ]
    found = measure_classifier("rude", ["rude", "calm", "calm", "rude"], given, [4, 3, 2, 4])
    assert (found.auc, found.baseline, found.accuracy, found.commonest) == (0.75, 1.0, 0.75, 0.5)
    assert (found.labels, found.confusion) == (("calm", "rude"), ((1, 1), (0, 2)))
    half = found.at_half()
    assert (half.precision, half.recall, half.flagged) == (0.666667, 1.0, 0.75)
    assert found.thresholds[-1].precision is None
