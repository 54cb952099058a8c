import numpy as np
import pytest
from draws import draws

from gristmill.previews.retention import retention_curve, rule_thresholds
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.selection import Selection
from gristmill.scores.sketch import Sketch


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("words >= 80", [("words", ">=", 80.0)]),
        ("words>=.5 AND words < 1e3", [("words", ">=", 0.5), ("words", "<", 1000.0)]),
        ("-2 <= words", [("words", ">=", -2.0)]),
        ("more_words > 3 OR words_more > 4", []),
        ("words > 3 * rows", []),
        ("rows / words > 0.1", []),
        ("2 * words < 50", []),
        ("rows + words < 30", []),
        ("10 > 2 * words OR 3 - 2 < words", []),
        ("words BETWEEN 5 AND 9", [("words", ">=", 5.0), ("words", "<=", 9.0)]),
        ("words = 3 OR words IS NULL", []),
        ("coalesce(words, 0) < 3", [("words", "<", 3.0)]),
        ("abs(words) < 3", []),
    ],
)
def test_thresholds_are_found_where_a_column_is_compared_with_a_number(
    where: str, found: list[tuple[str, str, float]]
) -> None:
    columns = (score("a-1__words", "words"), score("a-1__more_words", "more_words"), score("a-1__x", "words_more"))
    selection = Selection(columns=(*columns, score("a-1__rows", "rows")), exclude=(Rule("rule", where, "a test"),))
    assert [each[1:] for each in rule_thresholds(selection) if each.column == "words"] == found


def test_a_curve_falls_from_all_to_the_share_of_the_greatest_number() -> None:
    numbers = np.arange(1000.0) / 8
    curve = retention_curve(Sketch.from_numbers(numbers, floored=True), 10)
    assert (curve[0], curve[-1][0]) == ((0.0, 1.0), 124.0)
    assert 10 <= len(curve) <= 13
    for threshold, share in curve:
        assert share == (numbers >= threshold).mean()


def test_the_shares_of_negative_numbers_are_those_at_or_above_each_threshold() -> None:
    likely = np.array([-0.5, -1.5, -2.0, -2.01])
    curve = retention_curve(Sketch.from_numbers(likely, floored=True))
    assert curve == [(-2.03125, 1.0), (-2.0, 0.75), (-1.5, 0.5), (-0.5, 0.25)]
    for seed in range(draws(60)):
        dice = np.random.default_rng(seed)
        scale = 10.0 ** dice.integers(-14, 20)
        numbers = np.concatenate([dice.normal(0, scale, 200), dice.integers(-9, 9, 20)])
        for threshold, share in retention_curve(Sketch.from_numbers(numbers, floored=True), 12):
            assert share == (numbers >= threshold).mean(), (seed, threshold)


def test_no_numbers_have_no_curve() -> None:
    assert retention_curve(Sketch()) == []
