"""Runs that Dagster's queue, run monitoring and retries gave up are requested again: tick by tick."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.events import EngineEventData, JobFailureData, RunFailureReason
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.remote_origin import GrpcServerCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import GrpcServerTarget
from dagster._daemon.auto_run_reexecution.auto_run_reexecution import consume_new_runs_for_automatic_reexecution
from dagster_kit import BLEND_INDEX, COUNT_V0, JOURNEY, LETTERS_V0, Works, letters
from deployed import free_port

from assets.support.keys import address_of, key_of
from sensors.alert_events import ATTEMPT, alert_of, events_after
from sensors.unstarted_runs import unstarted_sensor

pytestmark = pytest.mark.slow

LATER = 10.0**10
"""A time at which Dagster has decided everything."""


class Watch:
    """Ticks of the sensor, one after another."""

    def __init__(self, works: Works) -> None:
        self.works = works
        self.cursor: str | None = None
        self.server = GrpcServerCodeLocationOrigin("127.0.0.1", free_port(), location_name="gristmill")
        assert self.tick() == []

    def tick(self) -> list[dg.RunRequest]:
        sensor = unstarted_sensor(self.works.catalogue, now=lambda: LATER)
        with dg.build_sensor_context(
            instance=self.works.instance, cursor=self.cursor, definitions=self.works.definitions
        ) as context:
            found: Any = sensor(context)
        self.cursor = found.cursor
        told = found.skip_reason.skip_message if found.skip_reason else f"requested {len(found.run_requests)} run"
        assert (self.cursor or "").startswith(told)
        return list(found.run_requests or ())

    def queued(self, *addresses: str, snapshot: str | None = "2024", **tags: str) -> dg.DagsterRun:
        """A run that waits for the code server."""
        job = self.works.definitions.resolve_implicit_global_asset_job_def()
        keys = [key_of(address) for address in addresses]
        partition = {"dagster/partition": snapshot} if snapshot else {}
        return self.works.instance.create_run_for_job(
            job.get_subset(asset_selection=set(keys)),
            asset_selection=frozenset(keys),
            tags={**partition, **tags},
            remote_job_origin=RemoteJobOrigin(RemoteRepositoryOrigin(self.server, "__repository__"), job.name),
        )

    def give_up(self, run: dg.DagsterRun) -> None:
        """What Dagster's queue does after `max_user_code_failure_retries`."""
        message = "Run dequeue failed to reach the user code server after 60 attempts, failing run"
        self.works.instance.report_engine_event(message, run, EngineEventData())
        self.works.instance.report_run_failed(run)

    def die(self, run: dg.DagsterRun) -> None:
        """The process of a run is killed at work."""
        begin = dg.DagsterEvent(dg.DagsterEventType.RUN_START.value, run.job_name)
        self.works.instance.report_dagster_event(begin, run.run_id)
        self.works.instance.report_run_failed(run, "its process 17 was ended by signal 9 (SIGKILL)")

    def retry(self, run: dg.DagsterRun) -> None:
        """What Dagster's daemon does with a run that failed. No code server answers."""
        server = GrpcServerTarget("127.0.0.1", self.server.port, None, "gristmill")
        with pytest.warns(UserWarning, match="Could not reach user code server"):
            context = WorkspaceProcessContext(self.works.instance, server)
        with context as workspace:
            records = self.works.instance.get_run_records(dg.RunsFilter(run_ids=[run.run_id]))
            list(consume_new_runs_for_automatic_reexecution(workspace, records, logging.getLogger()))

    def will_retry(self, run: dg.DagsterRun) -> str:
        """Whether Dagster says that it starts a run again."""
        found = self.works.instance.get_run_by_id(run.run_id)
        assert found is not None
        return found.tags["dagster/will_retry"]

    def alerts(self) -> list[Any]:
        """The alerts of all failures, oldest first."""
        records = events_after(self.works.instance, dg.DagsterEventType.RUN_FAILURE, 0)
        return [alert_of(self.works.instance, record.event_log_entry, {}) for record in records]

    def alert(self) -> Any:
        """The alert of the only failure."""
        [alert] = self.alerts()
        return alert


@pytest.fixture
def watch(works: Works) -> Watch:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    return Watch(works)


@pytest.fixture
def retrying(tmp_path: Path) -> Iterator[Watch]:
    """Over an instance that starts runs again whose process died, as in production."""
    retries = {"run_retries": {"enabled": True, "max_retries": 2, "retry_on_asset_or_op_failure": False}}
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=retries) as instance:
        works = Works(tmp_path / "lake", instance)
        works.raw(letters(1, 2, 3))
        works.arrive("letters")
        yield Watch(works)


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
    said = [(alert.next.partition(":")[0], alert.topic) for alert in watch.alerts()]
    assert [words for words, _ in said] == ["it never started"] * 3 + [
        "it was launched again three times, and nothing launches it any more"
    ]
    assert len({topic for _, topic in said}) == 2  # so the last is posted, however lately the others were
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
    alert = watch.alert()
    assert "it never started" in alert.next
    assert (alert.assets, alert.snapshot) == ([LETTERS_V0], "2024")


def test_a_job_without_assets_is_left_to_people_and_the_alert_says_so(watch: Watch) -> None:
    job = watch.works.definitions.resolve_job_def("sync")
    watch.give_up(watch.works.instance.create_run_for_job(job))
    assert watch.tick() == []
    assert "nothing launches this job again by itself" in watch.alert().next


def test_a_run_that_died_while_no_code_server_answered_is_requested_again_and_told(retrying: Watch) -> None:
    run = retrying.queued(LETTERS_V0)
    retrying.die(run)
    assert retrying.alert() is None  # Dagster means to start it again
    retrying.retry(run)
    assert retrying.will_retry(run) == "false"
    assert asked(retrying.tick()) == [({LETTERS_V0}, "2024")]
    assert retrying.tick() == []
    alert = retrying.alert()
    assert alert.error == "its process 17 was ended by signal 9 (SIGKILL)"
    assert "it was to make is requested again" in alert.next


def test_a_run_that_dagster_never_started_again_though_it_says_so_is_requested(retrying: Watch) -> None:
    run = retrying.queued(LETTERS_V0, **{"dagster/backfill": "removed"})
    retrying.die(run)
    retrying.retry(run)  # it does nothing for a backfill that no longer exists
    assert retrying.will_retry(run) == "true"
    assert asked(retrying.tick()) == [({LETTERS_V0}, "2024")]


def test_a_run_that_died_too_often_is_left_to_people(retrying: Watch) -> None:
    retrying.die(retrying.queued(LETTERS_V0, **{"dagster/max_retries": "0"}))
    assert retrying.tick() == []
    assert "re-execute it" in retrying.alert().next


def test_a_run_of_a_backfill_that_a_person_canceled_is_not_requested(retrying: Watch) -> None:
    instance = retrying.works.instance
    instance.add_backfill(
        PartitionBackfill("abcdefgh", BulkActionStatus.CANCELED, from_failure=False, tags={}, backfill_timestamp=0.0)
    )
    run = retrying.queued(LETTERS_V0, **{"dagster/backfill": "abcdefgh"})
    retrying.die(run)
    retrying.retry(run)
    assert retrying.tick() == []
