"""Runs that never started, as Dagster's queue and run monitoring leave them, are requested again: tick by tick."""

from typing import Any

import dagster as dg
import pytest
from dagster._core.events import EngineEventData, JobFailureData, RunFailureReason
from dagster_kit import BLEND_INDEX, COUNT_V0, JOURNEY, LETTERS_V0, Works, letters

from assets.support.keys import address_of, key_of
from sensors.alert_events import alert_of, events
from sensors.unstarted_runs import ATTEMPT, unstarted_sensor

pytestmark = pytest.mark.slow

LATER = 10.0**10
"""A time at which Dagster has decided everything."""


class Watch:
    """Ticks of the sensor, one after another."""

    def __init__(self, works: Works) -> None:
        self.works = works
        self.cursor: str | None = None
        assert self.tick() == []

    def tick(self) -> list[dg.RunRequest]:
        sensor = unstarted_sensor(self.works.catalogue, now=lambda: LATER)
        with dg.build_sensor_context(
            instance=self.works.instance, cursor=self.cursor, definitions=self.works.definitions
        ) as context:
            found: Any = sensor(context)
        self.cursor = found.cursor
        return list(found.run_requests or ())

    def queued(self, *addresses: str, snapshot: str | None = "2024", **tags: str) -> dg.DagsterRun:
        """A run that waits for the code server."""
        job = self.works.definitions.resolve_implicit_global_asset_job_def()
        keys = [key_of(address) for address in addresses]
        partition = {"dagster/partition": snapshot} if snapshot else {}
        return self.works.instance.create_run_for_job(
            job.get_subset(asset_selection=set(keys)), asset_selection=frozenset(keys), tags={**partition, **tags}
        )

    def give_up(self, run: dg.DagsterRun) -> None:
        """What Dagster's queue does after `max_user_code_failure_retries`."""
        message = "Run dequeue failed to reach the user code server after 60 attempts, failing run"
        self.works.instance.report_engine_event(message, run, EngineEventData())
        self.works.instance.report_run_failed(run)


@pytest.fixture
def watch(works: Works) -> Watch:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    return Watch(works)


def asked(requests: list[dg.RunRequest]) -> list[tuple[set[str], str | None]]:
    return [({address_of(key) for key in each.asset_selection or ()}, each.partition_key) for each in requests]


def test_a_run_that_the_queue_gave_up_is_requested_again_once(watch: Watch) -> None:
    run = watch.queued(LETTERS_V0, COUNT_V0, **{"gristmill/source": "letters", "dagster/backfill": "abcdefgh"})
    watch.give_up(run)
    before = watch.cursor
    [request] = watch.tick()
    assert asked([request]) == [({LETTERS_V0, COUNT_V0}, "2024")]
    assert request.run_key == run.run_id
    assert {key: request.tags[key] for key in request.tags if key.startswith("gristmill/")} == {
        "gristmill/source": "letters",
        ATTEMPT: "1",
    }
    assert "dagster/backfill" not in request.tags
    assert watch.tick() == []
    watch.cursor = before  # the daemon was killed before it had written the cursor
    assert [each.run_key for each in watch.tick()] == [run.run_id]  # by which Dagster finds the run that it launched


def test_a_run_that_took_too_long_to_start_is_requested_again(watch: Watch) -> None:
    run = watch.queued(LETTERS_V0)
    failure = JobFailureData(error=None, failure_reason=RunFailureReason.START_TIMEOUT)
    watch.works.instance.report_run_failed(run, "Run timed out due to taking longer than 300 seconds", failure)
    assert asked(watch.tick()) == [({LETTERS_V0}, "2024")]


def test_an_index_is_requested_again(watch: Watch) -> None:
    watch.give_up(watch.queued(BLEND_INDEX, snapshot=None))
    assert asked(watch.tick()) == [({BLEND_INDEX}, None)]


def test_the_request_is_a_run_that_dagster_can_make(watch: Watch) -> None:
    watch.give_up(watch.queued(LETTERS_V0))
    [request] = watch.tick()
    job = watch.works.definitions.resolve_implicit_global_asset_job_def()
    done = job.get_subset(
        asset_selection=set(request.asset_selection or ()), asset_check_selection=set(request.asset_check_keys or ())
    ).execute_in_process(instance=watch.works.instance, tags=dict(request.tags), partition_key=request.partition_key)
    assert done.success
    assert {each.check_name for each in done.get_asset_check_evaluations()} == {"ids_unique", "volume"}  # no audit


def test_after_the_third_time_it_is_left_to_people(watch: Watch) -> None:
    for attempt in ("1", "2", "3"):
        watch.give_up(watch.queued(LETTERS_V0, **({} if attempt == "1" else {ATTEMPT: str(int(attempt) - 1)})))
        [request] = watch.tick()
        assert request.tags[ATTEMPT] == attempt
    watch.give_up(watch.queued(LETTERS_V0, **{ATTEMPT: "3"}))
    assert watch.tick() == []
    watch.give_up(watch.queued(LETTERS_V0, **{ATTEMPT: "1", "dagster/retry_number": "2"}))  # Dagster's own count
    assert watch.tick() == []


def test_runs_that_failed_or_were_terminated_are_left_to_people(watch: Watch) -> None:
    instance = watch.works.instance
    watch.works.raw([{"id": "a"}], name="b")
    assert not watch.works.run("letters_journey").success
    canceled = watch.queued(LETTERS_V0)
    instance.report_run_canceled(canceled)
    assert watch.tick() == []


def test_what_another_run_has_taken_up_is_not_requested(watch: Watch) -> None:
    run = watch.queued(LETTERS_V0, COUNT_V0)
    watch.queued(LETTERS_V0)
    watch.give_up(run)
    assert asked(watch.tick()) == [({COUNT_V0}, "2024")]


def test_a_run_that_dagster_has_launched_again_is_not_requested(watch: Watch) -> None:
    run = watch.queued(LETTERS_V0)
    watch.give_up(run)
    watch.works.instance.add_run_tags(run.run_id, {"dagster/auto_retry_run_id": "b"})
    assert watch.tick() == []


def test_a_run_of_a_job_is_requested_by_its_assets_and_one_of_a_lost_snapshot_holds_back_nothing(watch: Watch) -> None:
    instance = watch.works.instance
    lost = watch.queued(LETTERS_V0, snapshot="2023")
    job = watch.works.definitions.resolve_job_def("letters_journey")
    run = instance.create_run_for_job(job, tags={"dagster/partition": "2024"})
    for each in (lost, run):
        watch.give_up(each)
    assert asked(watch.tick()) == [(set(JOURNEY), "2024")]


def test_the_alert_says_that_it_is_requested_again(watch: Watch) -> None:
    watch.give_up(watch.queued(LETTERS_V0))
    [record] = events(watch.works.instance, dg.DagsterEventType.RUN_FAILURE, 0)
    alert = alert_of(watch.works.instance, record.event_log_entry, {})
    assert alert is not None
    assert "it never started" in alert.next
    assert (alert.assets, alert.snapshot) == ([LETTERS_V0], "2024")
