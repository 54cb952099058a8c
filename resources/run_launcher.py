"""A run launcher whose runs are processes of the code server, and which can tell whether they are alive."""

import json
from typing import Any

from dagster import DefaultRunLauncher
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, WorkerStatus
from dagster._core.storage.dagster_run import DagsterRun
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc.client import DagsterGrpcClient
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value

from resources.pools import make_pools

_PATIENCE = 10
"""Longest time in seconds that a code server may take to answer whether it knows a run."""


class WatchedRunLauncher(DefaultRunLauncher):
    """Dagster's default launcher, extended: Dagster's run monitoring can ask it whether a run is alive.

    A code server notices when one of its runs dies. If the code server dies together with its runs, Dagster's default
    launcher cannot tell. Dagster then counts such runs as started for ever. They keep their places in the queue and
    their slots in the pools, and automation waits for them. With this launcher, a run that its code server does not
    know counts as dead: it fails, and `run_retries` starts it again.

    If a living run is counted as dead, only time is lost: the new run takes over its claim in the lake, and it stops.

    Before it launches a run, it makes the rows of the run's pools, one run after the other (see resources/pools.py).
    """

    def launch_run(self, context: LaunchRunContext) -> None:
        """Launches a run whose pools all have their rows."""
        concurrency = context.dagster_run.run_op_concurrency
        if concurrency is not None:
            make_pools(self._instance, concurrency.all_pools or ())
        super().launch_run(context)

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Asks the code server that started the run.

        A code server on the network that does not answer may be restarting, so it is asked again at the next check.
        A code server on a socket is on this machine. If no process listens on the socket, it has ended.
        """
        if GRPC_INFO_TAG not in run.tags:  # started from the command line, without a launcher
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        server: dict[str, Any] = json.loads(run.tags[GRPC_INFO_TAG])
        client = DagsterGrpcClient(
            host=server.get("host") or "localhost",
            port=server.get("port"),
            socket=server.get("socket"),
            use_ssl=bool(server.get("use_ssl")),
        )
        try:
            answer = client.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id), timeout=_PATIENCE)
        except DagsterUserCodeUnreachableError:
            if server.get("socket"):
                return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "the code server that started it has ended")
            return CheckRunHealthResult(WorkerStatus.RUNNING, "its code server does not answer")
        if deserialize_value(answer, CanCancelExecutionResult).can_cancel:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "its code server was restarted and does not know it")
