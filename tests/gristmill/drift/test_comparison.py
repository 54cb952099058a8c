from statistics import median

from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.drift.comparison import Measure, compare_levels
from gristmill.drift.levels import Levels
from gristmill.recipes.drift.bounds import NO_BOUNDS, Bounds


def of_rows(*rows: int, **shares: float) -> list[Levels]:
    return [Levels(str(number), {"rows": each}, shares) for number, each in enumerate(rows)]


def measured(now: Levels, before: list[Levels], bounds: Bounds = NO_BOUNDS) -> dict[str, Measure]:
    return {each.name: each for each in compare_levels(now, before, bounds)}


def verdict(measure: Measure) -> str:
    return "blocked" if measure.is_blocked else "warned" if measure.is_wrong else "passed"


def test_half_and_double_of_the_median_pass_and_less_and_more_are_warned_of() -> None:
    before = of_rows(90, 100, 900)  # an edition that was nine times too large does not move the level
    found = {rows: measured(of_rows(rows)[0], before)["rows"] for rows in (49, 50, 100, 200, 201)}
    assert {each.level for each in found.values()} == {100}
    assert [verdict(each) for each in found.values()] == ["warned", "passed", "passed", "passed", "warned"]


def test_one_snapshot_before_is_no_level() -> None:
    for before in ([], of_rows(100)):
        measure = measured(of_rows(1)[0], before, Bounds(rows=(0.9, 1.1)))["rows"]
        assert (measure.level, verdict(measure)) == (None, "passed")


def test_bounds_take_the_place_of_half_and_double_and_block() -> None:
    before, bounds = of_rows(100, 100), Bounds(rows=(0.25, 1.5))
    found = [verdict(measured(of_rows(rows)[0], before, bounds)["rows"]) for rows in (24, 25, 150, 151)]
    assert found == ["blocked", "passed", "passed", "blocked"]


def test_a_level_of_nothing_is_left_by_anything() -> None:
    before = of_rows(0, 0)
    assert [verdict(measured(of_rows(rows)[0], before)["rows"]) for rows in (0, 1)] == ["passed", "warned"]


def test_a_share_is_warned_of_ten_points_from_its_level_in_both_directions() -> None:
    before = [Levels("1", {}, {"rows dropped": 0.5}), Levels("2", {}, {"rows dropped": 0.5})]
    found = [
        verdict(measured(Levels("3", {}, {"rows dropped": s}), before)["rows dropped"])
        for s in (0.39, 0.41, 0.59, 0.61)
    ]
    assert found == ["warned", "passed", "passed", "warned"]


def test_a_reason_that_is_gone_or_new_is_a_share_of_nothing() -> None:
    before = [Levels(key, {}, {"rows dropped: dull": 0.3}) for key in "12"]
    found = measured(Levels("3", {}, {"rows dropped: new": 0.3}), before)
    assert (found["rows dropped: dull"].value, verdict(found["rows dropped: dull"])) == (0.0, "warned")
    assert (found["rows dropped: new"].level, verdict(found["rows dropped: new"])) == (0.0, "warned")


def test_the_largest_share_blocks_from_the_first_snapshot_on() -> None:
    bounds = Bounds(dropped={"dull": 0.3, "*": 0.5}, removed={"edits": 0.2}, duplicates=0.1)
    shares = {"rows dropped: dull": 0.31, "rows dropped": 0.5, "characters removed: edits": 0.21, "duplicates": 0.1}
    found = measured(Levels("1", {}, shares), [], bounds)
    assert [name for name, each in found.items() if each.is_blocked] == [
        "rows dropped: dull",
        "characters removed: edits",
    ]


def test_a_share_within_its_bound_is_warned_of_all_the_same() -> None:
    before = [Levels(key, {}, {"rows dropped: dull": 0.05}) for key in "12"]
    found = measured(Levels("3", {}, {"rows dropped: dull": 0.3}), before, Bounds(dropped={"dull": 0.5}))
    assert verdict(found["rows dropped: dull"]) == "warned"


def test_a_quantile_is_compared_with_half_of_the_distance_from_5_to_95_percent() -> None:
    before = [Levels(key, {}, {}, {"words": (0.0, 16.0, 32.0)}) for key in "12"]  # half of the distance: 16

    def found(middle: float, bounds: Bounds = NO_BOUNDS) -> str:
        return verdict(measured(Levels("3", {}, {}, {"words": (0.0, middle, 32.0)}), before, bounds)["words 50%"])

    assert [found(middle) for middle in (-1.0, 0.0, 32.0, 33.0)] == ["warned", "passed", "passed", "warned"]
    tight = Bounds(scores={"words": 0.25})  # 8, and a 32nd of 16 more
    assert [found(middle, tight) for middle in (7.4, 7.5, 24.5, 24.6)] == ["blocked", "passed", "passed", "blocked"]


def test_a_label_that_only_one_snapshot_before_has_gives_no_level() -> None:
    before = [Levels("1", {}, {}), Levels("2", {}, {}, {"words": (1.0, 2.0, 3.0)})]
    found = measured(Levels("3", {}, {}, {"words": (90.0, 91.0, 92.0)}), before)
    assert {verdict(each) for each in found.values()} == {"passed"}


@settings(max_examples=draws(100))
@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=5), st.integers(0, 10**7), st.integers(1, 10**6))
def test_a_verdict_on_sizes_depends_on_ratios_alone(before: list[int], now: int, times: int) -> None:
    """Snapshots that are all larger by the same factor have the same verdict, whatever their order."""
    one = measured(of_rows(now)[0], of_rows(*before))["rows"]
    other = measured(of_rows(now * times)[0], of_rows(*(each * times for each in reversed(before))))["rows"]
    assert verdict(one) == verdict(other)
    assert one.level == median(before)
    assert one.is_wrong == (2 * now < median(before) or now > 2 * median(before))


@settings(max_examples=draws(100))
@given(st.lists(st.floats(0, 1), max_size=5), st.floats(0, 1), st.floats(0, 1))
def test_a_bound_of_a_share_is_never_passed_by_more(before: list[float], now: float, most: float) -> None:
    seen = [Levels(str(number), {}, {"rows dropped": each}) for number, each in enumerate(before)]
    measure = measured(Levels("x", {}, {"rows dropped": now}), seen, Bounds(dropped={"*": most}))["rows dropped"]
    assert measure.is_blocked == (now > most)
