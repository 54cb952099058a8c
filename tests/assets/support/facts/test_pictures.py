from assets.support.facts.pictures import UNFOLDED, in_short
from gristmill.reports.small_plot import MOST, draw_small


def test_a_page_shows_a_small_plot_under_plain_words_without_a_click() -> None:
    shown = in_short(
        "**toxic**: half of 1,641 rows are at most 0.45", "toxic", draw_small([7.0] * MOST, "0.1", "0.6")
    ).value
    assert shown is not None
    assert shown.startswith("![toxic](data:image/svg+xml;base64,")
    assert shown.endswith("\n\n**toxic**: half of 1,641 rows are at most 0.45")
    assert len(shown) < UNFOLDED == 1000


def test_words_come_without_an_image_that_would_fold_them() -> None:
    assert in_short("few words", "large", "x" * 1000).value == "few words"
    assert in_short("few words", "none", "").value == "few words"  # a broken image would be shown
