"""Ticks of the automation over the real definitions, and the runs that they ask for, without a daemon's clock."""

import logging

import pytest
from dagster import AssetSelection, deserialize_value, serialize_value
from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor
from dagster._core.definitions.automation_tick_evaluation_context import AutomationTickEvaluationContext
from dagster_kit import Result, Works

from assets.support.keys import address_of, key_of

Asked = set[tuple[str, str | None]]


class Daemon:
    """Ticks of the automation, without the daemon's clock."""

    def __init__(self, works: Works) -> None:
        self.works = works
        self.runs: list[Result] = []
        self._cursor = serialize_value(AssetDaemonCursor.empty())

    def copy(self, works: Works) -> "Daemon":
        """The daemon of a copy of the lake, as far as this one has come."""
        daemon = Daemon(works)
        daemon._cursor = self._cursor
        return daemon

    def tick(self) -> Asked:
        """What is requested now, as (address, snapshot).

        By the call of Dagster's own daemon: its function for tests asks the database for the partitions thousands of
        times.
        """
        cursor = deserialize_value(self._cursor, AssetDaemonCursor)
        requests, cursor, _ = AutomationTickEvaluationContext(
            evaluation_id=cursor.evaluation_id + 1,
            instance=self.works.instance,
            asset_graph=self.works.definitions.resolve_asset_graph(),
            cursor=cursor,
            materialize_run_tags={},
            observe_run_tags={},
            auto_observe_asset_keys=set(),
            asset_selection=AssetSelection.all(include_sources=True),
            logger=logging.getLogger(__name__),
            emit_backfills=False,
        ).evaluate()
        self._cursor = serialize_value(cursor)
        return {(address_of(key), each.partition_key) for each in requests for key in each.asset_selection or ()}

    def make(self, asked: Asked, *, well: bool = True) -> None:
        """One run a snapshot of what was requested, as the daemon launches them; all end well, or all do not."""
        job = self.works.definitions.resolve_implicit_global_asset_job_def()
        for snapshot in sorted({snapshot for _, snapshot in asked}, key=str):
            done = job.execute_in_process(
                instance=self.works.instance,
                partition_key=snapshot,
                asset_selection=[key_of(address) for address, each in asked if each == snapshot],
                run_config={"resources": {"engine": {"config": {"kind": "inline"}}}},
                raise_on_error=False,
            )
            assert done.success is well
            self.runs.append(Result(done.run_id, self.works.instance))

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


def flat(waves: list[Asked]) -> list[tuple[str, str | None]]:
    """What all waves asked for, each as often as it was."""
    return sorted((each for wave in waves for each in wave), key=str)
