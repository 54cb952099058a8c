"""What a tick says that it has requested, as Dagster's list of ticks shows it."""

import dagster as dg

from assets.support.keys import key_of
from sensors.ticks import requests_in_words


def test_what_was_requested_is_counted_and_the_first_are_named() -> None:
    made = [key_of("mixes/starter/documents/web"), key_of("exports/starter/tars/web")]
    requests = [dg.RunRequest(partition_key=str(year), asset_selection=made) for year in range(2018, 2025)]
    assert requests_in_words(requests[:1]) == "requested 1 run: mixes/starter/documents/web and 1 other (2018)"
    assert requests_in_words(requests).startswith("requested 7 runs: mixes/starter/documents/web and 1 other (2018), ")
    assert requests_in_words(requests).endswith("(2022) and 2 more")
    assert (
        requests_in_words([dg.RunRequest(asset_selection=made[:1])]) == "requested 1 run: mixes/starter/documents/web"
    )
