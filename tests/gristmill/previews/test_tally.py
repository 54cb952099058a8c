import numpy as np

from gristmill.previews.tally import Amount, ExampleRow, RowSizes, ScoreCurve, SliceTally, count_rules
from gristmill.scores.sketch import Sketch, bucket_lower_edge


def counted() -> SliceTally:
    """Two rules over five rows; a blocklist names the last one."""
    drops = np.array([[1, 1, 0, 0, 1], [0, 1, 1, 0, 1]], np.bool_)
    sizes = RowSizes(np.array([1, 2, 4, 8, 16]), np.array([1, 1, 1, 1, 1]))
    tally = SliceTally()
    count_rules(tally, ["short", "odd"], drops, np.array([1, 1, 1, 1, 0], np.bool_), sizes)
    return tally


def test_each_rule_is_counted_alone_and_with_others() -> None:
    tally = counted()
    assert tally.judged == {"short": Amount(2, 3, 2), "odd": Amount(2, 6, 2)}
    assert tally.alone == {"short": Amount(1, 1, 1), "odd": Amount(1, 4, 1)}
    assert tally.both == {("short", "odd"): 1}


def test_a_curve_has_the_rows_that_are_kept_beside_all() -> None:
    curve = ScoreCurve.from_numbers(np.array([-3.0, -2.0, 1.0]), np.array([True, False, True]), 4)
    assert (list(map(bucket_lower_edge, curve.rows.counts)), list(map(bucket_lower_edge, curve.kept.counts))) == (
        [-3, -2, 1],
        [-3, 1],
    )
    assert (curve.rows.total, curve.kept.total, curve.missing) == (3, 2, 4)


def test_tallies_are_added_and_keep_the_first_examples() -> None:
    rows = [ExampleRow(number, "2024", "a", number) for number in range(4)]
    curve = ScoreCurve(Sketch.from_numbers(np.array([1.0])), Sketch(), 2)
    one = SliceTally(Amount(1, 1, 1), dropped={"short": Amount(1, 1, 1)}, examples={"": rows[1::2]})
    other = SliceTally(Amount(2, 2, 2), Amount(1, 1, 1), curves={"words": curve}, examples={"": rows[::2]})
    both = one.add_tally(other, 3).add_tally(counted(), 3).add_tally(counted(), 3)
    assert (both.rows, both.kept, both.dropped) == (Amount(3, 3, 3), Amount(1, 1, 1), {"short": Amount(1, 1, 1)})
    assert both.examples == {"": rows[:3]}
    assert both.curves == {"words": curve}
    assert both.judged["odd"] == Amount(4, 12, 4)
    assert both.both == {("short", "odd"): 2}
