"""The automation sensor: one for all units, which looks at those to which something has happened."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)
from dagster_kit import BLEND_INDEX, BLEND_LETTERS, DIARY_V0, LETTERS_V0, SHELVES, TINY_LETTERS, Works, letters

from assets.support.keys import address_of
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.shelf import read_shelf
from resources.pauses import pause_recipes, unpause_recipes
from sensors.automation import LONGEST, NAME, Automation, AutomationMemory, automation_sensor
from sensors.following.units import units_of
from sensors.ticks import read_memory


class Ticker:
    """The sensor, tick after tick. Its clock says how many ticks there were, or what a test says."""

    def __init__(self, works: Works, box: float = 40.0) -> None:
        self.works, self.seconds = works, 0.0
        self.cursor: str | None = None
        self.said = ""
        self.errors: list[str] = []
        self.logged: list[str] = []
        self._sensor = Automation(units_of(works.catalogue), 30, box, lambda: self.seconds)

    def tick(self) -> set[tuple[str, str | None]]:
        """What one tick requests."""
        self.seconds += 1
        with dg.build_sensor_context(
            instance=self.works.instance,
            cursor=self.cursor,
            repository_def=self.works.definitions.get_repository_def(),
        ) as context:
            self.errors, self.logged = [], []
            context.log.info = lambda text, *_: self.logged.append(text)  # type: ignore[method-assign]  # to read it
            context.log.error = lambda text, *_: self.errors.append(text)  # type: ignore[method-assign]  # to read it
            told: Any = self._sensor.evaluate_tick(context)
        self.cursor, self.said = told.cursor, told.skip_message or ""
        return {(address_of(key), each.partition_key) for each in told.run_requests for key in each.asset_selection}

    @property
    def evaluated(self) -> set[str]:
        """The units that the last tick has evaluated."""
        return {
            name
            for name, mark in read_memory(AutomationMemory, self.cursor, NAME).units.items()
            if mark.at == self.seconds
        }


@pytest.fixture
def ticker(works: Works) -> Ticker:
    """The sensor at rest, over a lake without snapshots."""
    ticker = Ticker(works)
    while ticker.evaluated or ticker.cursor is None:
        ticker.tick()
    return ticker


def test_there_is_one_sensor_for_everything_that_has_a_condition() -> None:
    catalogue = read_catalogue(SHELVES)
    sensor = automation_sensor(catalogue, 7)
    assert (sensor.name, sensor.minimum_interval_seconds) == ("automation", 7)
    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
    units = {unit.name: set(unit.addresses) for unit in units_of(catalogue)}
    assert set(units) == {"letters", "diary", "all/indexes"}
    assert {LETTERS_V0, BLEND_LETTERS, TINY_LETTERS} < units["letters"]
    assert BLEND_INDEX in units["all/indexes"]
    assert isinstance(sensor.with_attributes(metadata={}), Automation)


def test_a_dedupe_recipe_has_a_unit_of_its_own() -> None:
    once = read_shelf("dedupes", Dedupe, ("gristmill", "dedupeshelf"))["once-1"]
    units = units_of(replace(read_catalogue(SHELVES), dedupes={"once-1": once}))
    [unit] = [each for each in units if not each.source and each.name != "all/indexes"]
    assert (unit.addresses, unit.tags) == (("dedupe/once-1/resolution",), {"gristmill/dedupe": "once-1"})


def test_without_mixes_there_are_no_indexes() -> None:
    known = read_catalogue(SHELVES)
    assert {unit.name for unit in units_of(Catalogue(known.sources, known.taggers, {}, {}))} == {"letters", "diary"}


def test_only_what_something_has_happened_to_is_evaluated(ticker: Ticker) -> None:
    assert ticker.tick() == set()
    assert (ticker.evaluated, ticker.said) == (set(), "nothing to request")
    ticker.works.raw(letters(1, 2))
    ticker.works.arrive("letters")
    assert (LETTERS_V0, "2024") in ticker.tick()
    assert ticker.evaluated == {"letters"}
    assert ticker.logged[0].startswith("requested 2024: ")


def test_what_no_event_tells_is_found_within_an_hour(ticker: Ticker) -> None:
    ticker.tick()
    assert ticker.evaluated == set()
    ticker.seconds += LONGEST
    ticker.tick()
    assert ticker.evaluated == {"letters", "diary", "all/indexes"}


def test_a_unit_that_cannot_be_evaluated_holds_back_no_other(ticker: Ticker) -> None:
    memory = json.loads(ticker.cursor or "")
    memory["units"]["letters"]["cursor"] = "9 is no version of Dagster's cursors"
    ticker.cursor = json.dumps(memory)
    for source in ("letters", "diary"):
        ticker.works.raw(letters(1, source=source), source=source)
        ticker.works.arrive(source)
    assert {address for address, _ in ticker.tick()} >= {DIARY_V0}
    [error] = ticker.errors
    assert error.startswith("letters: DagsterInvariantViolationError: Invalid serialized cursor version")
    assert LETTERS_V0 not in {address for address, _ in ticker.tick()}
    assert ticker.errors == [error]


def test_a_tick_ends_in_time_and_the_next_goes_on(works: Works) -> None:
    ticker = Ticker(works, box=-1.0)
    ticker.tick()
    assert len(ticker.evaluated) == 1
    assert ticker.said == "2 units more at the next tick"
    ticker.tick()
    ticker.tick()
    assert all(mark.cursor for mark in read_memory(AutomationMemory, ticker.cursor, NAME).units.values())


def test_after_an_update_it_goes_on_where_the_sensors_of_each_source_were(ticker: Ticker, tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        works = Works(ticker.works.root, instance)
        works.raw(letters(1, 2))
        works.arrive("letters")
        settled = Ticker(works)
        asked = settled.tick()
        assert LETTERS_V0 in {address for address, _ in asked}
        settled.tick()
        old = read_memory(AutomationMemory, settled.cursor, NAME).units["letters"].cursor
        location = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("gristmill"), "__repository__")
        former = location.get_instigator_origin("letters_automation")
        state = SensorInstigatorData(cursor=old)
        instance.add_instigator_state(InstigatorState(former, InstigatorType.SENSOR, InstigatorStatus.RUNNING, state))
        updated = Ticker(works)
        assert updated.tick() == set()  # it was requested before the update
        works.raw(letters(1, 2, 3))
        works.arrive("letters")
        assert (LETTERS_V0, "2024") in Ticker(works).tick()


def test_of_a_paused_source_nothing_is_requested_and_all_of_it_after_the_pause(ticker: Ticker) -> None:
    pause_recipes(ticker.works.instance, ["letters"])
    ticker.works.raw(letters(1, 2))
    ticker.works.arrive("letters")
    assert [ticker.tick() for _ in range(3)] == [set()] * 3
    assert ticker.said == "paused: letters"
    assert ticker.logged == []
    unpause_recipes(ticker.works.instance, ["letters"])
    made = ticker.tick()
    assert (LETTERS_V0, "2024") in made
    assert ticker.logged == [f"requested 2024: {len(made)} assets"]
    assert [ticker.tick() for _ in range(3)] == [set()] * 3
