from gristmill.reports.small_plot import MOST, TALL, draw_small


def test_the_largest_plot_leaves_room_for_words() -> None:
    svg = draw_small([1234567.0] * MOST, "0.00012345", "1,234,567,890")
    assert len(svg) < 600  # as base64 four thirds of it


def test_one_row_beside_a_billion_is_seen() -> None:
    assert f"V0h96V{TALL - 1}h96V{TALL}h96" in draw_small([1_000_000_000, 1, 0], "a", "b")


def test_bars_without_rows_and_words_of_the_data_are_drawn() -> None:
    assert "&lt;b&gt;" in draw_small([0, 0], "<b>", "b")
