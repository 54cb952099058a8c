"""A backfill as the daemon follows it: `python -m bench.lakes.backfill SOURCE COUNT`, with DAGSTER_HOME set.

It asks for everything that is made from a source, in so many snapshots. The daemon's iterations request its runs, which
nobody launches: they stay in the queue. A line of JSON says what that cost, the peak memory of this process, which is
the daemon's part, the number of iterations, and how many runs there are.
"""

import json
import logging
import sys
import time

import dagster as dg
from dagster._core.execution.backfill import PartitionBackfill
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.backfill import execute_backfill_iteration

from assets.support.keys import key_of, snapshots_of
from bench.harness.cost import measured, peak_memory
from gristmill.environment import read_environment
from gristmill.recipes.catalogue import read_catalogue

MOST = 20
"""Iterations after which the backfill counts as stuck."""


def main() -> None:
    """Asks for the backfill, and follows it."""
    source, count = sys.argv[1], int(sys.argv[2])
    catalogue = read_catalogue(read_environment().named_shelves())
    names = [f"snapshot-{number:05d}" for number in range(count)]
    keys = [key_of(address) for address, of in catalogue.slices() if of == source]
    target = ModuleTarget(
        module_name="definitions",
        attribute=None,
        working_directory=None,
        location_name="gristmill",
    )
    with dg.DagsterInstance.get() as instance, WorkspaceProcessContext(instance, target) as workspace:
        instance.add_dynamic_partitions(snapshots_of(source).name or "", names)
        asked = PartitionBackfill.from_asset_partitions(
            backfill_id="bench",
            asset_graph=workspace.create_request_context().asset_graph,
            partition_names=names,
            asset_selection=keys,
            backfill_timestamp=time.time(),
            tags={},
            dynamic_partitions_store=instance,
            all_partitions=False,
            title=None,
            description=None,
            run_config=None,
        )
        instance.add_backfill(asked)
        logger, iterations = logging.getLogger("bench"), 0
        with measured() as costs:
            while instance.get_runs_count() < count and iterations < MOST:
                errors = [each for each in execute_backfill_iteration(workspace, logger) if each is not None]
                assert not errors, errors[0].to_string()
                iterations += 1
        print(json.dumps([costs[0].plain(), peak_memory(), iterations, instance.get_runs_count()]))


if __name__ == "__main__":
    main()
