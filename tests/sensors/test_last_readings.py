"""The sensor `last_readings` over real runs that planned an audit and never came to it."""

import json
from typing import Any

import dagster as dg
import pytest
import sqlalchemy
from dagster_kit import COUNT_V0, LETTERS_V0, Works, letters

from assets.support.keys import key_of
from gristmill.lake.address import place
from sensors.last_readings import KINDS, _after, last_reading_sensor

pytestmark = pytest.mark.slow

AUDIT = dg.AssetCheckKey(key_of(LETTERS_V0), "ids_unique_audit")


class Ticks:
    """The sensor, tick by tick."""

    def __init__(self, works: Works, box: float = 60.0) -> None:
        self._works, self.cursor = works, ""
        self._sensor = last_reading_sensor({LETTERS_V0: ["ids_unique"], COUNT_V0: ["row_alignment"]}, box=box)

    def tick(self) -> list[str]:
        """What it says."""
        logged: list[str] = []
        with dg.build_sensor_context(instance=self._works.instance, cursor=self.cursor or None) as context:
            context.log.info = context.log.error = lambda text, *_: logged.append(text)  # type: ignore[method-assign]
            told: Any = self._sensor(context)
            self.cursor = context.cursor or ""
        return [told.skip_message or ""] if isinstance(told, dg.SkipReason) else logged


def shown(works: Works) -> tuple[str, str]:
    """The newest result of the audit: its status, and its words."""
    record = works.instance.event_log_storage.get_latest_asset_check_execution_by_key([AUDIT])[AUDIT]
    words = record.evaluation.description if isinstance(record.evaluation, dg.AssetCheckEvaluation) else ""
    return record.status.value, words or ""


def planned(works: Works, *, assets: bool = True) -> dg.DagsterRun:
    """A run that the button Materialize has put into the queue; or, without assets, that of the check's page."""
    job = works.definitions.resolve_implicit_global_asset_job_def()
    if not assets:
        return works.instance.create_run_for_job(job.get_subset(asset_selection=set(), asset_check_selection={AUDIT}))
    some = job.get_subset(asset_selection={key_of(LETTERS_V0), key_of(COUNT_V0)})
    return works.instance.create_run_for_job(some, tags={"dagster/partition": "2024"})


@pytest.fixture
def red(works: Works) -> Works:
    """A lake of one asset, with a failed audit."""
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0]).success
    path = place(LETTERS_V0, "2024").shard("a")
    data = works.store.read(path)
    works.store.put(path, data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    assert works.audit("letters").success
    assert shown(works)[0] == "FAILED"
    return works


def test_an_audit_of_a_canceled_run_shows_its_last_reading_again(red: Works) -> None:
    ticks = Ticks(red)
    assert ticks.tick() == ["runs that end from now on are looked at"]
    for assets in (True, False):
        red.instance.report_run_canceled(planned(red, assets=assets))
        assert shown(red) == ("PLANNED", "")
        ticks.tick()
        status, words = shown(red)
        assert (status, words.startswith("as of run ")) == ("FAILED", True)
    assert ticks.tick() == ["nothing new: no run was canceled, and none has failed"]
    assert ticks.cursor.startswith("nothing new: no run was canceled, and none has failed\n{")


def test_an_audit_of_a_run_that_failed_before_shows_its_last_reading_and_one_that_could_not_read_its_failure(
    red: Works,
) -> None:
    ticks = Ticks(red)
    ticks.tick()
    red.raw(letters(1), snapshot="2025")
    red.know("2025")
    red.store.put("sources/letters/raw/2025/b.jsonl.gz", b"no gzip")
    assert not red.run("__ASSET_JOB", "2025", only=[LETTERS_V0]).success
    assert shown(red) == ("PLANNED", ""), "its page says that the run has failed"
    assert ticks.tick() == ["1 run canceled or failed, of 1 asset with audits"]
    assert shown(red)[0] == "FAILED"
    red.instance.report_run_failed(planned(red, assets=False))
    ticks.tick()
    assert shown(red) == ("PLANNED", "")


def test_a_run_that_cannot_be_read_is_named_and_the_others_are_looked_at(red: Works) -> None:
    ticks = Ticks(red)
    ticks.tick()
    broken, sound = planned(red), planned(red)
    log: Any = red.instance.event_log_storage
    with log.index_connection() as database:
        words = sqlalchemy.text("UPDATE event_logs SET event = '{' WHERE run_id = :run")
        database.execute(words, {"run": broken.run_id})
    for run in (broken, sound):
        red.instance.report_run_canceled(run)
    named, counted = ticks.tick()
    assert named.startswith(f"run {broken.run_id[:8]}: ")
    assert counted == "2 runs canceled or failed, of 2 assets with audits"
    assert shown(red)[0] == "FAILED"


def test_a_tick_whose_time_is_up_leaves_runs_to_the_next(red: Works) -> None:
    ticks = Ticks(red, box=-1.0)
    ticks.tick()
    red.instance.report_run_canceled(planned(red))
    assert ticks.tick() == ["nothing new: no run was canceled, and none has failed"]
    assert shown(red)[0] == "PLANNED"
    later = Ticks(red)
    later.cursor = ticks.cursor
    later.tick()
    assert shown(red)[0] == "FAILED"


@pytest.mark.parametrize("cursor", [None, "", "{}", "nonsense", "[]", json.dumps({KINDS[0].value: 1})])
def test_a_cursor_that_cannot_be_read_is_none(cursor: str | None) -> None:
    assert _after(cursor) is None
