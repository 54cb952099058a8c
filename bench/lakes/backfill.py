"""A backfill as the daemon follows it: `python -m bench.lakes.backfill SOURCE COUNT`, with DAGSTER_HOME set.

It asks for everything that is made from a source, in so many snapshots, in as many backfills as the automation would
launch. Another process asks (`ask SOURCE COUNT`), so that this one has what a daemon has, and nothing else. Its
iterations request the runs, which nobody launches: they stay in the queue. A line of JSON says what that cost, the peak
memory of this process before and after, the number of iterations, and how many runs there are.

For each run Dagster records what it plans: an event an asset and a check, 60 here, each in transactions of its own,
which take 0.6 CPU seconds a run. `NoEvents` leaves all events out. They are nine tenths of the time, and 10 MB of
the memory.
"""

import json
import logging
import os
import subprocess
import sys
import time
from typing import Any

import dagster as dg
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.backfill import execute_backfill_iteration

from bench.harness.cost import measured, peak_memory

MOST = 20
"""Iterations after which the backfill counts as stuck."""


class NoEvents(SqliteEventLogStorage):
    """Dagster's own storage of events, which stores none."""

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> "NoEvents":
        """As Dagster makes it; its own makes always a storage that stores."""
        return cls(inst_data=inst_data, **config_value)

    def store_event(self, event: dg.EventLogEntry) -> None:
        """Stores nothing."""


def ask(source: str, count: int) -> None:
    """Asks for the backfills, as the automation does."""
    from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset  # noqa: PLC0415 - not the daemon's
    from dagster._core.execution.backfill import PartitionBackfill  # noqa: PLC0415

    from assets.support.keys import key_of, snapshots_of  # noqa: PLC0415
    from gristmill.environment import read_environment  # noqa: PLC0415
    from gristmill.recipes.catalogue import read_catalogue  # noqa: PLC0415
    from sensors.following.parts import in_parts  # noqa: PLC0415

    names = [f"snapshot-{number:05d}" for number in range(count)]
    snapshots = snapshots_of(source)
    catalogue = read_catalogue(read_environment().named_shelves())
    keys = [key_of(address) for address, of in catalogue.slices() if of == source]
    with dg.DagsterInstance.get() as instance:
        instance.add_dynamic_partitions(snapshots.name or "", names)
        subset = snapshots.empty_subset().with_partition_keys(names)
        whole: Any = AssetGraphSubset
        whole = whole(partitions_subsets_by_asset_key=dict.fromkeys(keys, subset))
        for number, part in enumerate(in_parts(dg.RunRequest.for_asset_graph_subset(whole, tags={}))):
            instance.add_backfill(
                PartitionBackfill.from_asset_graph_subset(
                    backfill_id=f"bench{number}",
                    asset_graph_subset=part.asset_graph_subset,  # type: ignore[arg-type]  # a backfill has one
                    dynamic_partitions_store=instance,
                    backfill_timestamp=time.time(),
                    tags={},
                    title=None,
                    description=None,
                    run_config=None,
                )
            )


def follow(count: int) -> None:
    """Follows them, as the daemon does."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the code server writes there too, until after we have ended
    target = ModuleTarget(
        module_name="definitions",
        attribute=None,
        working_directory=None,
        location_name="gristmill",
    )
    with dg.DagsterInstance.get() as instance, WorkspaceProcessContext(instance, target) as workspace:
        before = peak_memory()
        logger, iterations = logging.getLogger("bench"), 0
        with measured() as costs:
            while instance.get_runs_count() < count and iterations < MOST:
                errors = [each for each in execute_backfill_iteration(workspace, logger) if each is not None]
                assert not errors, errors[0].to_string()
                iterations += 1
        told = [costs[0].plain(), before, peak_memory(), iterations, instance.get_runs_count()]
    print(json.dumps(told), file=answer, flush=True)


def main() -> None:
    """Asks for the backfills, and follows them."""
    source, count = sys.argv[-2], int(sys.argv[-1])
    if sys.argv[1] == "ask":
        ask(source, count)
        return
    subprocess.run([sys.executable, "-m", "bench.lakes.backfill", "ask", source, str(count)], check=True)
    follow(count)


if __name__ == "__main__":
    main()
