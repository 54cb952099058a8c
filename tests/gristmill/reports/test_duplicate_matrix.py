"""The plots of a resolution: what they say, and that names of the data are text in them."""

from gristmill.reports.duplicate_matrix import MOST, draw_matrix, draw_occurrences


def test_a_cell_is_the_share_of_a_rows_units() -> None:
    svg = draw_matrix(["wiki/a", "wiki/<b>"], [4, 8], {(0, 0): 4, (1, 0): 2, (1, 1): 6}, "units")
    assert svg.count("<rect") == 4
    assert [each in svg for each in ("100.0%", ">0<", "25.0%", "75.0%")] == [True] * 4
    assert "&lt;b&gt;" in svg
    assert "<b>" not in svg


def test_rows_and_columns_of_long_names_are_told_apart_by_their_rank() -> None:
    svg = draw_matrix(["wiki/2024-11-20", "news/2024-11-20"], [1, 1], {}, "bands")
    assert svg.count(">…24-11-20<") == 2
    assert [svg.count(f">{words}<") for words in ("0", "1", "0 wiki/2024-11-20", "1 news/2024-11-20")] == [5, 1, 1, 1]
    assert "share of the bands of a row" in svg


def test_of_many_snapshots_the_newest_are_drawn_and_the_others_counted() -> None:
    svg = draw_matrix([f"wiki/{n}" for n in range(MOST + 3)], [1] * (MOST + 3), {}, "units")
    assert svg.count("<rect") == MOST * MOST
    assert "3 earlier snapshots are not drawn" in svg
    assert ">2 wiki/2<" not in svg


def test_occurrences_have_a_bar_for_each_power_of_two() -> None:
    svg = draw_occurrences([1000, 0, 3], "units", 1)
    assert [each in svg for each in ("1,000", "once", "2 to 3", "4 to 7")] == [True] * 4
    assert draw_occurrences([], "units", 0).count("<rect") == 0


def test_bars_of_several_rounds_are_not_said_to_count_different_units() -> None:
    one, two = (draw_occurrences([3, 3], "units", rounds) for rounds in (1, 2))
    said = "units of each of 2 rounds by their occurrences", "units that several rounds have are counted in each"
    assert "different units" in one
    assert "round" not in one
    assert "different units" not in two
    assert [words in two for words in said] == [True, True]
