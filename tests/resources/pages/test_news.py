"""Cursors that begin with the news, as Dagster's list of ticks shows them."""

import pytest

from resources.pages.news import with_news, without_news


@pytest.mark.parametrize("state", ["17", '{"mixes/starter/index":{"lists":"a"}}', ""])
def test_the_state_of_a_cursor_is_read_with_and_without_news(state: str) -> None:
    assert without_news(with_news("requested 1 run: web (2024)", state)) == state
    assert without_news(state) == state  # the cursor of an earlier version


def test_news_of_several_lines_are_one_line() -> None:
    cursor = with_news("a ledger says:\n{}\n", "17")
    assert cursor.count("\n") == 1
    assert without_news(cursor) == "17"
