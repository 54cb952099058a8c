"""A backfill as the daemon follows it: `python -m bench.lakes.backfill assets|job SOURCE COUNT`, with DAGSTER_HOME set.

It launches what a person launches on a page of Dagster: all assets that have the snapshots of a source, or the job of
its chain, for so many snapshots. Our web server makes several backfills of that. Another process launches
(`launch assets|job SOURCE COUNT`), so that this one has what a daemon has, and nothing else. Its iterations request the
runs, which nobody launches: they stay in the queue. A line of JSON says what that cost, the peak memory of this process
before and after, the number of iterations, and how many runs there are.

For each run Dagster records what it plans: an event an asset and a check, 60 here, each in transactions of its own,
which take 0.6 CPU seconds a run. `NoEvents` leaves all events out. They are nine tenths of the time, and 10 MB of
the memory.
"""

import json
import logging
import os
import subprocess
import sys
from typing import Any

import dagster as dg
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.backfill import execute_backfill_iteration

from bench.harness.cost import measured, peak_memory

MOST = 20
"""Iterations after which the backfill counts as stuck."""
CODE = ModuleTarget(module_name="definitions", attribute=None, working_directory=None, location_name="gristmill")
LAUNCH = """mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
    __typename ... on PythonError { message } } }"""


class NoEvents(SqliteEventLogStorage):
    """Dagster's own storage of events, which stores none."""

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> "NoEvents":
        """As Dagster makes it; its own makes always a storage that stores."""
        return cls(inst_data=inst_data, **config_value)

    def store_event(self, event: dg.EventLogEntry) -> None:
        """Stores nothing."""


def launch(what: str, source: str, count: int) -> None:
    """Launches it by the schema of our web server, as a page does."""
    from resources.guarded_webserver import POLL, HonestWebserver  # noqa: PLC0415 - not the daemon's

    of = f"snapshots/{source}"
    names = [f"snapshot-{number:05d}" for number in range(count)]
    with dg.DagsterInstance.get() as instance, WorkspaceProcessContext(instance, CODE) as workspace:
        instance.add_dynamic_partitions(of, names)
        schema = HonestWebserver(workspace, "", POLL).build_graphql_schema()
        context = workspace.create_request_context()
        params: dict[str, Any] = {"partitionNames": names}
        if what == "job":
            place = {"repositoryLocationName": CODE.location_name, "repositoryName": "__repository__"}
            params["selector"] = {"partitionSetName": f"{source}_journey_partition_set", "repositorySelector": place}
        else:
            nodes = [context.asset_graph.get(key) for key in context.asset_graph.materializable_asset_keys]
            with_them = [node.key for node in nodes if getattr(node.partitions_def, "name", None) == of]
            params["assetSelection"] = [{"path": list(key.path)} for key in with_them]
        said = schema.execute(LAUNCH, variable_values={"params": params}, context_value=context)
        assert said.errors is None, said.errors
        assert said.data["launchPartitionBackfill"]["__typename"] == "LaunchBackfillSuccess", said.data


def follow(count: int) -> None:
    """Follows them, as the daemon does."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the code server writes there too, until after we have ended
    with dg.DagsterInstance.get() as instance, WorkspaceProcessContext(instance, CODE) as workspace:
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
    """Launches the backfills, and follows them."""
    what, source, count = sys.argv[-3:]
    if sys.argv[1] == "launch":
        launch(what, source, int(count))
        return
    program = [sys.executable, "-m", "bench.lakes.backfill"]
    subprocess.run([*program, "launch", what, source, count], check=True, stdout=sys.stderr)
    follow(int(count))


if __name__ == "__main__":
    main()
