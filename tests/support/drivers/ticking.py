"""Ticks of the automation over the real definitions, and the runs that they ask for, without a daemon's clock."""

from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.execution.api import execute_run_iterator
from dagster_kit import Result, Works

from assets.support.keys import address_of, key_of
from sensors.automation import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

Asked = set[tuple[str, str | None]]


_INLINE = {"resources": {"engine": {"config": {"kind": "inline"}}}}


class Daemon:
    """Ticks of the automation sensor, without the daemon's clock."""

    def __init__(self, works: Works) -> None:
        self.works = works
        self.runs: list[Result] = []
        self.said = ""
        self._cursor: str | None = None

    def copy(self, works: Works) -> "Daemon":
        """The daemon of a copy of the lake, as far as this one has come."""
        daemon = Daemon(works)
        daemon._cursor = self._cursor
        return daemon

    def tick(self) -> Asked:
        """What one tick requests now, as (address, snapshot)."""
        sensor = self.works.definitions.resolve_sensor_def(NAME)
        repository = self.works.definitions.get_repository_def()
        with dg.build_sensor_context(
            instance=self.works.instance, cursor=self._cursor, repository_def=repository
        ) as context:
            told = sensor.evaluate_tick(context)
        self._cursor = told.cursor
        self.said = told.skip_message or ""
        asked: Asked = set()
        for request in told.run_requests or ():
            if request.asset_graph_subset is not None:  # a backfill
                asked |= {
                    (address_of(e.asset_key), e.partition_key)
                    for e in request.asset_graph_subset.iterate_asset_partitions()
                }
            else:
                asked |= {(address_of(key), request.partition_key) for key in request.asset_selection or ()}
        return asked

    def make(self, asked: Asked, *, well: bool = True) -> None:
        """One run a snapshot of what was requested, as the daemon launches them; all end well, or all do not."""
        job = self.works.definitions.resolve_implicit_global_asset_job_def()
        for snapshot in sorted({snapshot for _, snapshot in asked}, key=str):
            done = job.execute_in_process(
                instance=self.works.instance,
                partition_key=snapshot,
                asset_selection=[key_of(address) for address, each in asked if each == snapshot],
                run_config=_INLINE,
                raise_on_error=False,
            )
            assert done.success is well
            self.runs.append(Result(done.run_id, self.works.instance))

    def launch(self, asked: Asked, snapshot: str | None) -> "Going":
        """A run of what was requested of one snapshot, which goes on when it is told to."""
        keys = frozenset(key_of(address) for address, each in asked if each == snapshot)
        job = self.works.definitions.resolve_implicit_global_asset_job_def().get_subset(asset_selection=keys)
        return Going(self.works.instance, job, keys, snapshot)

    def settle(self, most: int = 12) -> list[Asked]:
        """Ticks until nothing is asked for; what each asked for."""
        waves: list[Asked] = []
        for _ in range(most):
            asked = self.tick()
            if not asked:
                return waves
            waves.append(asked)
            self.make(asked)
        pytest.fail(f"it never comes to rest: {waves[-1]}")


class Going:
    """A run that is in progress, as far as the test lets it come."""

    def __init__(
        self, instance: dg.DagsterInstance, job: dg.JobDefinition, keys: frozenset[dg.AssetKey], snapshot: str | None
    ) -> None:
        self._instance = instance
        self.run = instance.create_run_for_job(
            job, run_config=_INLINE, asset_selection=keys, tags={"dagster/partition": snapshot} if snapshot else {}
        )
        in_memory = InMemoryJob(job)
        self._events: Iterator[dg.DagsterEvent] = execute_run_iterator(in_memory, self.run, instance)
        next(self._events)

    def go_on(self, until: str = "") -> None:
        """To the end, or to the end of the step that materializes this asset."""
        step = None
        for event in self._events:
            if event.is_step_materialization and event.asset_key == key_of(until):
                step = event.step_key
            if event.is_step_success and event.step_key == step:
                return
        assert not until

    def terminate(self) -> None:
        """What a person does in the UI: the run ends as canceled."""
        self._instance.report_run_canceling(self.run)
        self._events.throw(DagsterExecutionInterruptedError())  # type: ignore[attr-defined]
        list(self._events)
        run = self._instance.get_run_by_id(self.run.run_id)
        assert run is not None
        assert run.status == dg.DagsterRunStatus.CANCELED


def flat(waves: list[Asked]) -> list[tuple[str, str | None]]:
    """What all waves asked for, each as often as it was."""
    return sorted((each for wave in waves for each in wave), key=str)
