import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    SensorInstigatorData,
    TickData,
    TickStatus,
)
from dagster_kit import LETTERS_V0, LETTERS_V1, Result, Works, letters

from assets.purge import Purged, purge_runs

pytestmark = pytest.mark.slow

SOON = timedelta(days=1)


def said(line: str) -> None:
    """Nobody listens."""


def test_old_runs_go_and_what_dagster_needs_to_know_of_the_lake_stays(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    first = works.run("letters_journey")
    works.run("letters_journey", only=[LETTERS_V0])
    second = works.run("letters_journey")
    only_v0 = works.run("letters_journey", only=[LETTERS_V0])
    works.know("never", source="diary")
    failed = works.run("diary_journey", "never")
    assert not failed.success
    instance, later = works.instance, datetime.now(UTC) + SOON
    shown = {address: works.version(address) for address in (LETTERS_V0, LETTERS_V1)}
    assert purge_runs(instance, datetime.now(UTC) - SOON, said, kept=0) == Purged(0, 0, 0)
    assert purge_runs(instance, later, said, kept=1) == Purged(2, 1, 2)  # the newest of two jobs are kept
    assert instance.get_run_by_id(failed.run_id)
    assert purge_runs(instance, later, said, only_count=True, kept=0) == Purged(1, 2, 0)
    assert purge_runs(instance, later, said, kept=0) == Purged(1, 2, 0)
    assert {run.run_id for run in instance.get_runs()} == {second.run_id, only_v0.run_id}
    assert instance.all_logs(first.run_id) == []
    assert works.materialized(LETTERS_V0) == works.materialized(LETTERS_V1) == {"2024"}
    assert {address: works.version(address) for address in shown} == shown


@pytest.fixture
def filed(tmp_path: Path) -> Iterator[Works]:
    """A lake whose Dagster has files: only such an instance keeps ticks."""
    (tmp_path / "home").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "home")) as instance:
        yield Works(tmp_path / "lake", instance)


def test_the_job_removes_old_ticks_and_refuses_days_out_of_bounds(filed: Works) -> None:
    location = RegisteredCodeLocationOrigin("gristmill")
    origin = RemoteRepositoryOrigin(location, "__repository__").get_instigator_origin("raw_arrivals")
    sensor, running = InstigatorType.SENSOR, InstigatorStatus.RUNNING
    state = filed.instance.add_instigator_state(InstigatorState(origin, sensor, running, SensorInstigatorData()))
    now = time.time()
    for days in (1, 29, 31, 400):
        when = now - days * 24 * 3600
        name = state.instigator_name
        tick = TickData(origin.get_id(), name, sensor, TickStatus.SKIPPED, when, selector_id=state.selector_id)
        filed.instance.create_tick(tick)
    job = filed.definitions.resolve_job_def("purge")

    def purge(**config: object) -> Result:
        options = {"ops": {"remove_old": {"config": config}}}
        run = job.execute_in_process(instance=filed.instance, run_config=options, raise_on_error=False)
        return Result(run.run_id, filed.instance)

    for days in (0, 800_000, 10**12):
        refused = purge(run_days=days)
        told = f"the run configuration: run_days is {days}: Input should be"
        assert next(iter(refused.failures.values())).startswith(told)
    for options, left in (({"only_count": True}, [1, 29, 31, 400]), ({}, [1, 29])):
        assert purge(**options).failures == {}
        ticks = filed.instance.get_ticks(origin.get_id(), state.selector_id)
        assert [round((now - tick.timestamp) / 24 / 3600) for tick in ticks] == left


def test_failed_runs_of_a_backfill_stay_until_it_ends_and_no_file_of_a_run_stays(filed: Works) -> None:
    instance, later = filed.instance, datetime.now(UTC) + SOON
    begun = BulkActionStatus.REQUESTED
    backfill = PartitionBackfill("b1", begun, from_failure=False, tags={}, backfill_timestamp=0.0, asset_selection=[])
    instance.add_backfill(backfill)
    failed = filed.definitions.resolve_job_def("purge").execute_in_process(
        instance=instance,
        tags={"dagster/backfill": "b1"},
        run_config={"ops": {"remove_old": {"config": {"run_days": 0}}}},
        raise_on_error=False,
    )
    assert purge_runs(instance, later, said, kept=0) == Purged(0, 1, 0)
    instance.update_backfill(backfill.with_status(BulkActionStatus.COMPLETED_FAILED))  # type: ignore[no-untyped-call]
    assert list((filed.root.parent / "home").rglob(f"{failed.run_id}.db"))
    assert purge_runs(instance, later, said, kept=0) == Purged(1, 0, 0)
    assert not list((filed.root.parent / "home").rglob(f"{failed.run_id}.db"))
