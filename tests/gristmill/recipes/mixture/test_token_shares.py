"""Shares, rates and epochs, in numbers that one can count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.recipes.mixture.token_shares import Portion, Reading, StreamReading, solve_reading

WEB, CODE, MATH = (Portion(name, name) for name in ("web", "code", "math"))


def epochs(reading: Reading) -> dict[str, float]:
    return {each.stream: each.epochs or 0.0 for each in reading.streams}


def test_weights_are_shares_whatever_the_streams_hold() -> None:
    solved = solve_reading([Portion("a", "a", 3), Portion("b", "b", 1)], {"a": 1000, "b": 50}, budget=400)
    assert solved.streams == (
        StreamReading("a", 1000, 0.75, 300, 0.3, 0.3, 0),
        StreamReading("b", 50, 0.25, 100, 1.0, 2.0, 0),
    )


def test_proportions_need_repeats_where_a_stream_is_small() -> None:
    solved = solve_reading([WEB, CODE], {"web": 700, "code": 100}, proportions={"web": 0.7, "code": 0.3}, budget=1000)
    assert epochs(solved) == {"web": 1.0, "code": 3.0}


def test_without_a_budget_training_reads_until_one_stream_is_used_up() -> None:
    solved = solve_reading([WEB, CODE], {"web": 700, "code": 100}, proportions={"web": 0.5, "code": 0.5})
    assert (solved.total, epochs(solved)) == (200, {"web": 100 / 700, "code": 1.0})
    patient = Portion("code", "code", most_epochs=3)
    assert solve_reading([WEB, patient], {"web": 700, "code": 100}, proportions={"web": 0.5, "code": 0.5}).total == 600


def test_repeats_alone_read_each_stream_so_often() -> None:
    solved = solve_reading([WEB, Portion("math", "math", repeats=2.5)], {"web": 100, "math": 40})
    assert (solved.total, epochs(solved)) == (200, {"web": 1.0, "math": 2.5})


def test_a_temperature_of_1_keeps_the_natural_shares_and_0_makes_all_equal() -> None:
    tokens = {"web": 900, "code": 90, "math": 10}
    assert solve_reading([WEB, CODE, MATH], tokens, temperature=1).shares == {"web": 0.9, "code": 0.09, "math": 0.01}
    assert set(solve_reading([WEB, CODE, MATH], tokens, temperature=0).shares.values()) == {1 / 3}
    halves = solve_reading([WEB, MATH], {"web": 900, "math": 100}, temperature=0.5)
    assert halves.shares == {"web": 0.75, "math": 0.25}  # the roots are 30 and 10


def test_streams_of_a_group_share_its_proportion_by_their_repeats() -> None:
    low, high = Portion("web-1", "web"), Portion("web-2", "web", repeats=3)
    tokens = {"web-1": 300, "web-2": 100, "code": 50}
    solved = solve_reading([low, high, CODE], tokens, proportions={"web": 0.6, "code": 0.4}, budget=100)
    assert solved.shares == {"web-1": 0.3, "web-2": 0.3, "code": 0.4}
    assert epochs(solved)["web-2"] == pytest.approx(3 * epochs(solved)["web-1"])


def test_a_budget_that_cannot_be_met_names_the_stream_and_the_tokens_that_are_lacking() -> None:
    once = Portion("code", "code", most_epochs=1)
    solved = solve_reading([WEB, once], {"web": 700, "code": 100}, proportions={"web": 0.7, "code": 0.3}, budget=1000)
    assert solved.shortage_sentences == [
        "stream 'code' is short of 200 tokens: 300 of it are read, but it has 100, and most_epochs allows 100"
    ]


def test_more_than_four_epochs_are_warned_of() -> None:
    assert solve_reading([WEB], {"web": 100}, budget=400).warnings == []
    [warning] = solve_reading([WEB], {"web": 100}, budget=401).warnings
    assert "'web' is read 4.01 times" in warning


def test_a_stream_without_tokens_is_left_out() -> None:
    solved = solve_reading([WEB, CODE], {"web": 10}, proportions={"web": 0.7, "code": 0.3})
    assert solved.shares == {"web": 1.0, "code": 0.0}
    assert solved.warnings == ["stream 'code' has no tokens: training does not read it"]
    assert solve_reading([WEB], {}).total == 0


def test_a_tiny_share_stays_above_zero() -> None:
    shares = solve_reading([WEB, CODE], {"web": 10**15, "code": 1}, temperature=1).shares
    assert shares["code"] == 1 / (10**15 + 1)


def test_epochs_are_not_rounded_so_that_no_sample_is_left_out() -> None:
    streams = [Portion("pages", "pages", weight=8.0), Portion("notes", "notes", weight=3.0)]
    pages, notes = solve_reading(streams, {"pages": 4 * 20, "notes": 4 * 10}, budget=4 * 55).streams
    assert (pages.epochs, notes.epochs) == (2.0, 1.5)
    [page, note] = solve_reading(streams, {"pages": 3, "notes": 1}, budget=22).streams
    assert (int((page.epochs or 0) * 3), int(note.epochs or 0)) == (16, 6)


TOKENS = st.integers(1, 10**13)
STREAMS = st.lists(st.tuples(TOKENS, st.integers(0, 2), st.floats(0.1, 8)), min_size=1, max_size=6)


@given(streams=STREAMS, temperature=st.none() | st.floats(0, 1), budget=st.integers(1, 10**13))
def test_shares_add_up_and_what_is_read_is_the_budget(
    streams: list[tuple[int, int, float]], temperature: float | None, budget: int
) -> None:
    portions = [Portion(f"s{n}", f"g{group}", repeats=times) for n, (_, group, times) in enumerate(streams)]
    tokens = {f"s{n}": count for n, (count, _, _) in enumerate(streams)}
    solved = solve_reading(portions, tokens, temperature=temperature, budget=budget)
    assert sum(solved.shares.values()) == pytest.approx(1, abs=1e-7)
    assert sum(each.read or 0 for each in solved.streams) == pytest.approx(budget, rel=1e-7, abs=6)
    free = solve_reading(portions, tokens, temperature=temperature)
    for portion, each in zip(portions, free.streams, strict=True):
        assert (each.epochs or 0) <= portion.repeats * (1 + 1e-6)


def test_a_stream_that_bounds_the_total_is_read_exactly_so_often_though_the_total_is_no_whole_number() -> None:
    portions = [Portion("once", "once"), Portion("more", "more", repeats=1.5)]
    found = solve_reading(portions, {"once": 101, "more": 103})  # 101 + 154.5 tokens
    assert found.total == 255
    assert [each.epochs for each in found.streams] == [1.0, 1.5]
    assert [each.rate for each in found.streams] == [1.0, 1.0]
    assert found.shortage_sentences == []


def test_a_repeated_stream_that_has_no_tokens_yet_leaves_the_others_their_shares_of_tokens() -> None:
    math = Portion("math", "math", repeats=3)
    solved = solve_reading([WEB, CODE, math], {"web": 900, "code": 100, "math": 0})
    assert (solved.total, solved.weights) == (1000, {"web": 0.9, "code": 0.1, "math": 0.0})
    assert solve_reading([WEB, CODE], {"web": 900, "code": 100}).weights == {"web": 0.5, "code": 0.5}
