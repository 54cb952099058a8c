"""Runs as processes of the code server, with an answer to whether they are still alive."""

import json
from typing import Any

from dagster import DefaultRunLauncher
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster._core.storage.dagster_run import DagsterRun
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc.client import DagsterGrpcClient
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value

_PATIENCE = 10
"""Seconds that a code server may take to say whether it knows a run."""


class WatchedRunLauncher(DefaultRunLauncher):
    """Dagster's default launcher, which can also be asked by its run monitoring whether a run is alive.

    A code server notices when one of its runs dies. But when the code server dies with its runs (its machine went
    away, or both were killed), the default launcher has no answer, and Dagster holds such runs for started for ever:
    they keep their place in the queue and their slots in the pools, and automation waits for them. Here a run that
    its code server does not know is dead: it fails, and is started again by `run_retries`.

    It is only a question of time and cost if a run is taken for dead and is not: the run that is started in its place
    takes over its claim in the lake, and it stops.
    """

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Asks the code server that started the run.

        A code server on the network that does not answer may be starting again, and is asked again at the next look.
        One on a socket is of this machine, and is gone if nobody listens.
        """
        if GRPC_INFO_TAG not in run.tags:  # from the command line, by no launcher
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        where: dict[str, Any] = json.loads(run.tags[GRPC_INFO_TAG])
        client = DagsterGrpcClient(
            host=where.get("host") or "localhost",
            port=where.get("port"),
            socket=where.get("socket"),
            use_ssl=bool(where.get("use_ssl")),
        )
        try:
            said = client.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id), timeout=_PATIENCE)
        except DagsterUserCodeUnreachableError:
            if where.get("socket"):
                return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "the code server that started it is gone")
            return CheckRunHealthResult(WorkerStatus.RUNNING, "its code server does not answer")
        if deserialize_value(said, CanCancelExecutionResult).can_cancel:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "its code server was started anew and does not know it")
