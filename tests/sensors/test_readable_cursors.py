"""Cursors that begin with the news, as Dagster's list of ticks shows them."""

import dagster as dg
import pytest

from assets.support.keys import key_of
from sensors.ticks import requested, with_news, without_news


@pytest.mark.parametrize("state", ["17", '{"mixes/starter/index":{"lists":"a"}}', ""])
def test_the_state_of_a_cursor_is_read_with_and_without_news(state: str) -> None:
    assert without_news(with_news("requested 1 run: web (2024)", state)) == state
    assert without_news(state) == state  # the cursor of an earlier version


def test_news_of_several_lines_are_one_line() -> None:
    cursor = with_news("a ledger says:\n{}\n", "17")
    assert cursor.count("\n") == 1
    assert without_news(cursor) == "17"


def test_what_was_requested_is_counted_and_the_first_are_named() -> None:
    made = [key_of("mixes/starter/documents/web"), key_of("exports/starter/tars/web")]
    requests = [dg.RunRequest(partition_key=str(year), asset_selection=made) for year in range(2018, 2025)]
    assert requested(requests[:1]) == "requested 1 run: mixes/starter/documents/web and 1 other (2018)"
    assert requested(requests).startswith("requested 7 runs: mixes/starter/documents/web and 1 other (2018), ")
    assert requested(requests).endswith("(2022) and 2 more")
    assert requested([dg.RunRequest(asset_selection=made[:1])]) == "requested 1 run: mixes/starter/documents/web"
