import random

import msgspec
import numpy as np
from draws import draws

from gristmill.scores.statistics import GREATEST, LabelStatistics, number_statistics, sum_statistics


def of(numbers: list[float], shard: str = "a", kind: str = "score") -> LabelStatistics:
    assert kind in {"score", "spans"}
    return number_statistics(
        "n", "spans" if kind == "spans" else "score", np.array(numbers), np.arange(len(numbers)), shard
    )


def test_a_sum_beyond_all_numbers_can_be_stored_and_added() -> None:
    huge = of([1e308, 1e308, 3.0])
    assert msgspec.json.decode(msgspec.json.encode(huge), type=LabelStatistics) == huge
    assert huge.total == GREATEST
    assert sum_statistics([huge, huge]).total == GREATEST
    assert sum_statistics([of([-1e308]), of([-1e308])]).total == -GREATEST
    assert sum_statistics([of([-1e308, -1e308]), of([1e308])]).total == GREATEST  # unknown
    assert of([1e308, 1e308, -1e308]).total == 1e308


def test_the_rows_at_the_ends_are_the_first_of_equal_ones() -> None:
    found = of([3.0, 1.0, 2.0, 1.0, 3.0, 3.0, 9.0, 3.0])
    assert [(each.value, each.row) for each in found.lowest] == [(1, 1), (1, 3), (2, 2), (3, 0), (3, 4)]
    assert [(each.value, each.row) for each in found.highest] == [(9, 6), (3, 0), (3, 4), (3, 5), (3, 7)]
    assert (found.rows, found.least, found.most, found.mean) == (8, 1.0, 9.0, 25 / 8)


def test_spans_count_the_rows_that_have_one() -> None:
    assert (of([0.0, 2.0, 0.0], kind="spans").with_spans, of([1.0]).with_spans) == (1, 0)


def test_shards_add_up_to_what_their_rows_would_give_together() -> None:
    for seed in range(draws(40)):
        dice = random.Random(seed)
        shards = {name: [float(dice.randint(0, 5)) for _ in range(dice.randint(0, 8))] for name in "abc"}
        found = sum_statistics([of(numbers, name) for name, numbers in shards.items()])
        rows = [(number, name, row) for name, numbers in shards.items() for row, number in enumerate(numbers)]
        assert list(found.lowest) == sorted(rows)[:5]
        assert list(found.highest) == sorted(rows, key=lambda each: (-each[0], *each[1:]))[:5]
        assert (found.rows, found.total) == (len(rows), sum(each[0] for each in rows))


def test_a_label_without_rows_is_nothing() -> None:
    assert sum_statistics([of([]), of([])]).rows == 0
    assert sum_statistics([of([]), of([2.0], "b")]) == of([2.0], "b")
    assert of([]).mean == 0
