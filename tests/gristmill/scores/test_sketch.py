import math
import random
from itertools import pairwise

import numpy as np
from draws import draws

from gristmill.scores.sketch import Sketch, bucket_inner_edge, bucket_lower_edge


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
        sketch = Sketch.from_numbers(np.array(numbers))
        for share in (0.0, 0.01, 0.25, 0.5, 0.9, 1.0):
            rank = max(1, math.ceil(share * len(numbers)))
            assert near(sketch.quantile(share), sorted(numbers)[rank - 1]), (seed, share)


def test_sketches_of_parts_add_up_to_the_sketch_of_the_whole_in_any_order() -> None:
    for seed in range(draws(30)):
        dice = random.Random(seed)
        parts = [drawn(dice) for _ in range(3)]
        whole = Sketch.from_numbers(np.array([number for part in parts for number in part]))
        dice.shuffle(parts)
        assert Sketch.sum(Sketch.from_numbers(np.array(part)) for part in parts) == whole
        assert list(whole.counts) == sorted(whole.counts)


def test_whole_numbers_and_plain_shares_are_exact() -> None:
    exact = [*map(float, range(129)), 0.5, 0.75, 0.125, -3.0]
    assert [Sketch.from_numbers(np.array([number])).quantile(1) for number in exact] == exact


def test_numbers_that_nobody_has_as_scores_are_clipped() -> None:
    sketch = Sketch.from_numbers(np.array([5e-324, -5e-324, 1e300, -1e300]))
    assert [bucket_inner_edge(key) for key in sketch.counts] == [-(2.0**60), 0.0, 2.0**60]
    assert sketch.total == 4


def test_a_floored_sketch_clips_nothing_and_counts_what_reaches_each_floor() -> None:
    numbers = np.array([-1e300, -3.0, -2.0, -2.0, -5e-324, 0.0, 5e-324, 2.0, 1e300, -1.7976931348623157e308])
    sketch = Sketch.from_numbers(numbers, floored=True)
    above = 0
    for key, count in reversed(sketch.counts.items()):
        above += count
        assert above == (numbers >= bucket_lower_edge(key)).sum()
    assert {-3.0, -2.0, 0.0, 2.0, -1.7976931348623157e308} < {bucket_lower_edge(key) for key in sketch.counts}


def test_bins_hold_every_number_once() -> None:
    sketch = Sketch.from_numbers(np.array([0.0, 1.0, 1.0, 4.0]))
    assert sketch.binned_counts(4, 0.0, 4.0) == ([0.0, 1.0, 2.0, 3.0, 4.0], [1, 2, 0, 1])
    assert sketch.binned_counts(2, 0.0, 4.0, doubling=True) == ([0.0, 1.0, 2.0, 4.0], [1, 2, 1])
    assert Sketch.from_numbers(np.array([2.0, 2.0])).binned_counts(4, 2.0, 2.0) == ([2.0, 2.0], [2])
    assert Sketch.from_numbers(np.array([0.0, 2.0])).binned_counts(4, 0.0, 2.0, doubling=True) == (
        [0.0, 2.0, 2.03125],
        [1, 1],
    )
    assert Sketch().binned_counts(4, 0.0, 0.0) == ([0.0, 0.0], [0])
    assert Sketch().quantile(0.5) == 0


def test_bins_are_not_narrower_than_buckets() -> None:
    years = np.arange(1990.0, 2025)
    edges, counts = Sketch.from_numbers(years).binned_counts(40, 1990.0, 2024.0)
    assert (edges, counts) == ([1984.0, 2000.0, 2016.0, 2032.0], [10, 16, 9])
    unlikely = -np.arange(1000.0, 1035)
    edges, counts = Sketch.from_numbers(unlikely).binned_counts(40, -1034.0, -1000.0)
    assert (edges, counts) == ([-1040.0, -1024.0, -1008.0, -992.0], [11, 16, 8])  # -1024 and -1008 are edges
    stamps = np.array([1.3e18, 1.6e18, 2.2e18])
    assert Sketch.from_numbers(stamps).binned_counts(40, 1.3e18, 2.2e18) == ([1.3e18, 2.2e18], [3])
    assert Sketch.from_numbers(np.array([1e-15, 3e-13])).binned_counts(40, 1e-15, 3e-13) == ([1e-15, 3e-13], [2])


def ranged(dice: random.Random) -> list[float]:
    """Numbers of one of the kinds that scores have: any, years, small whole ones, log probabilities, ids, huge ones."""

    def draw() -> tuple[float, ...]:
        return (
            dice.gauss(0, 10),
            float(dice.randint(1990, 2024)),
            float(dice.randint(-5, 5)),
            -1000 - 35 * dice.random(),
            1e6 + dice.random() / 1000,
            dice.choice([0.0, -0.0, 1e-13, -1e-13, 3.0, -7.5]),
            dice.choice([1, -1]) * 10 ** dice.uniform(15, 308),
            10 ** dice.uniform(-14, 14) if dice.random() < 0.9 else 0.0,
        )

    kind = dice.randrange(len(draw()))
    return [draw()[kind] for _ in range(dice.choice([1, 2, 5, 200]))]


def test_the_count_of_a_bin_is_that_of_the_numbers_between_its_edges() -> None:
    for seed in range(draws(200)):
        dice = random.Random(seed)
        numbers = np.array(ranged(dice))
        least, most = float(numbers.min()), float(numbers.max())
        bins, doubling = dice.choice([2, 7, 24, 40]), least >= 0 and most > 1e-12 and dice.random() < 0.5
        edges, counts = Sketch.from_numbers(numbers).binned_counts(bins, least, most, doubling=doubling)
        assert edges[0] <= least <= most <= edges[-1], seed
        assert sum(counts) == len(numbers), seed
        assert len(edges) - 1 == len(counts) <= bins + doubling, seed
        whole = np.where(np.abs(numbers) < 2**-40, 0.0, numbers)
        for number, (low, high) in enumerate(pairwise(edges)):
            above = number == 0 or (whole >= low if low >= 0 else whole > low)
            below = number == len(counts) - 1 or (whole <= high if high < 0 else whole < high)
            assert counts[number] == np.broadcast_to(above & below, whole.shape).sum(), (seed, low, high)
