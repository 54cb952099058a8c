"""Many snapshots that are due at once: several backfills, because the daemon holds one of them whole in memory."""

from typing import Any

import dagster as dg
from dagster_kit import LETTERS_V0, LETTERS_V1, Works, letters

from assets.support.keys import key_of
from sensors.automation import Automation
from sensors.following.units import units_of

YEARS = [str(year) for year in range(2020, 2025)]


def _requests(works: Works, most: int) -> tuple[list[dg.RunRequest], list[str]]:
    """What ticks request for five snapshots that arrive after the first ones, and what they say."""
    sensor, cursor = Automation(units_of(works.catalogue), 30, most=most), None
    found: list[dg.RunRequest] = []
    said: list[str] = []
    for number in range(5):
        if number == 3:
            for year in YEARS:
                works.raw(letters(1), snapshot=year)
            works.arrive("letters")
        repository = works.definitions.get_repository_def()
        with dg.build_sensor_context(works.instance, cursor=cursor, repository_def=repository) as context:
            context.log.info = lambda text, *_: said.append(text)  # type: ignore[method-assign]  # to read it
            told: Any = sensor.evaluate_tick(context)
        cursor = told.cursor
        found += told.run_requests or ()
    return found, said


def _snapshots(requests: list[dg.RunRequest], address: str) -> list[list[str]]:
    subsets = [each.asset_graph_subset for each in requests]
    return [sorted(each.get_partitions_subset(key_of(address)).get_partition_keys()) for each in subsets if each]


def test_few_snapshots_are_one_backfill(works: Works) -> None:
    requests, said = _requests(works, 5)
    assert _snapshots(requests, LETTERS_V0) == [YEARS]
    assert said == ["requested a backfill of 5 snapshots"]


def test_many_snapshots_are_several_backfills_and_each_has_the_whole_chain_of_its_own(works: Works) -> None:
    requests, said = _requests(works, 2)
    parts = [YEARS[:2], YEARS[2:4], YEARS[4:]]
    assert _snapshots(requests, LETTERS_V0) == parts
    assert _snapshots(requests, LETTERS_V1) == parts
    assert {each.tags["gristmill/source"] for each in requests} == {"letters"}
    assert [each.tags["gristmill/part"] for each in requests] == ["1 of 3", "2 of 3", "3 of 3"]
    assert len({each.tags["gristmill/launch"] for each in requests}) == 1
    words = "a backfill of 2 snapshots, a backfill of 2 snapshots, a backfill of 1 snapshot"
    assert said == [f"requested {words}"]
