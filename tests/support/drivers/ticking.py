"""Ticks of the automation over the real definitions, and the runs that they ask for, without a daemon's clock."""

from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster_kit import Result, Works

from assets.support.keys import address_of, key_of

Asked = set[tuple[str, str | None]]


class Daemon:
    """Ticks of the automation, without the daemon's clock."""

    def __init__(self, works: Works) -> None:
        self.works = works
        self.runs: list[Result] = []
        self._cursor: Any = None  # its type is not public

    def tick(self) -> Asked:
        """What is requested now, as (address, snapshot)."""
        works = self.works
        with partition_loading_context(dynamic_partitions_store=works.instance):
            result = dg.evaluate_automation_conditions(
                defs=works.definitions,
                instance=works.instance,
                cursor=self._cursor,
            )
            self._cursor = result.cursor
            keys = works.definitions.resolve_asset_graph().get_all_asset_keys()
            return {(address_of(key), key_) for key in keys for key_ in result.get_requested_partitions(key)}

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
