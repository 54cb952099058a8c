import json
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterInstance, DagsterInvariantViolationError, DagsterRun
from dagster._core.launcher import LaunchRunContext, WorkerStatus
from dagster._core.storage.dagster_run import RunOpConcurrency
from dagster._core.storage.tags import GRPC_INFO_TAG

from resources.run_launcher import WatchedRunLauncher


def status(**where: Any) -> WorkerStatus:
    tags = {GRPC_INFO_TAG: json.dumps(where)} if where else {}
    return WatchedRunLauncher().check_run_worker_health(DagsterRun("job", tags=tags)).status


def test_a_run_that_no_launcher_started_is_taken_for_alive() -> None:
    assert status() == WorkerStatus.RUNNING


def test_a_run_of_a_socket_on_which_nobody_listens_is_dead(tmp_path: Path) -> None:
    assert status(socket=str(tmp_path / "gone")) == WorkerStatus.NOT_FOUND


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_the_network_that_does_not_answer_may_come_back(host: str) -> None:
    assert status(host=host, port=1) == WorkerStatus.RUNNING


@pytest.mark.slow
def test_the_pools_of_a_run_have_their_rows_before_it_is_launched(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(
        "run_launcher: {module: resources.run_launcher, class: WatchedRunLauncher}\n"
        "concurrency: {pools: {default_limit: 3}}\n"
        "telemetry: {enabled: false}\n"
    )
    pools = RunOpConcurrency(root_key_counts={}, has_unconstrained_root_nodes=True, all_pools={"tag"})
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        with pytest.raises(DagsterInvariantViolationError, match="requires a workspace"):
            instance.run_launcher.launch_run(LaunchRunContext(DagsterRun("job", run_op_concurrency=pools), None))
        assert [(pool.name, pool.limit) for pool in instance.event_log_storage.get_pool_limits()] == [("tag", 3)]
