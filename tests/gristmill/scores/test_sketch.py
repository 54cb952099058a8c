import math
import random

import numpy as np
from draws import draws

from gristmill.scores.sketch import Sketch, edge_of


def near(edge: float, number: float) -> bool:
    """Whether an edge stands for a number: not farther from 0, and at most a 64th nearer."""
    if abs(number) < 2**-40:
        return edge == 0
    return edge * number > 0 and abs(number) * 63 / 64 <= abs(edge) <= abs(number)


def drawn(dice: random.Random) -> list[float]:
    scale = 10.0 ** dice.randint(-12, 12)
    return [
        dice.choice([0.0, -0.0, dice.gauss(0, scale), float(dice.randint(-9, 9))]) for _ in range(dice.randint(1, 60))
    ]


def test_quantiles_are_those_of_the_sorted_numbers_up_to_a_64th() -> None:
    for seed in range(draws(60)):
        dice = random.Random(seed)
        numbers = drawn(dice)
        sketch = Sketch.of(np.array(numbers))
        for share in (0.0, 0.01, 0.25, 0.5, 0.9, 1.0):
            rank = max(1, math.ceil(share * len(numbers)))
            assert near(sketch.quantile(share), sorted(numbers)[rank - 1]), (seed, share)


def test_sketches_of_parts_add_up_to_the_sketch_of_the_whole_in_any_order() -> None:
    for seed in range(draws(30)):
        dice = random.Random(seed)
        parts = [drawn(dice) for _ in range(3)]
        whole = Sketch.of(np.array([number for part in parts for number in part]))
        dice.shuffle(parts)
        assert Sketch.sum(Sketch.of(np.array(part)) for part in parts) == whole
        assert list(whole.counts) == sorted(whole.counts)


def test_whole_numbers_and_plain_shares_are_exact() -> None:
    exact = [*map(float, range(129)), 0.5, 0.75, 0.125, -3.0]
    assert [Sketch.of(np.array([number])).quantile(1) for number in exact] == exact


def test_numbers_that_nobody_has_as_scores_are_clipped() -> None:
    sketch = Sketch.of(np.array([5e-324, -5e-324, 1e300, -1e300]))
    assert [edge_of(key) for key in sketch.counts] == [-(2.0**60), 0.0, 2.0**60]
    assert sketch.total == 4


def test_bins_hold_every_number_once() -> None:
    sketch = Sketch.of(np.array([0.0, 1.0, 1.0, 4.0]))
    assert sketch.binned(4) == ([0.0, 1.0, 2.0, 3.0, 4.0], [1, 2, 0, 1])
    assert sketch.binned(2, doubling=True) == ([0.0, 1.0, 2.0, 4.0], [1, 2, 1])
    assert Sketch.of(np.array([2.0, 2.0])).binned(4) == ([2.0, 2.0], [2])
    assert Sketch.of(np.array([0.0, 2.0])).binned(4, doubling=True) == ([0.0, 2.0, 2.0], [1, 1])
    assert Sketch().binned(4) == ([0.0, 0.0], [0])
    assert Sketch().quantile(0.5) == 0
