"""Runs that the run launcher of docs/production starts, over a code server and SQLite. This process is the daemon."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import dagster as dg
from dagster._core.launcher import CheckRunHealthResult
from dagster._core.remote_representation.code_location import GrpcServerCodeLocation
from dagster._core.test_utils import create_run_for_test
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import GrpcServerTarget
from deployed import free_port, runs_below
from paths import python_path

from resources.run_launcher import WAITER

SETTINGS = """
telemetry: {enabled: false}
run_monitoring: {enabled: true}
run_launcher: {module: resources.run_launcher, class: WatchedRunLauncher}
"""

LONGEST = 600
"""Seconds that anything may take: on a machine with much to do, a run needs minutes to begin."""


class Launched:
    """A code server of gated jobs, and this process as the daemon that launches their runs.

    Args:
        folder: for all files.
    """

    def __init__(self, folder: Path) -> None:
        self.home, self.gate = folder / "home", folder / "gate"
        self.home.mkdir(parents=True)
        self.gate.mkdir()
        (self.home / "dagster.yaml").write_text(SETTINGS)
        told = {"DAGSTER_HOME": str(self.home), "GATE": str(self.gate), "PYTHONPATH": python_path()}
        self._before = {name: os.environ.get(name) for name in told}
        os.environ.update(told)  # the runs are this process's children
        self._open = ExitStack()
        self._port = free_port()
        with (folder / "code.log").open("wb") as log:
            self.code = subprocess.Popen(
                [sys.executable, "-m", "dagster", "api", "grpc", "-m", "gated_jobs", *self._where],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            wait(lambda: self.health() == 0, "the code server")
            self.instance = self.daemon()
            self.instance.schedule_storage  # noqa: B018 - it makes its tables, before the runs could do so at once
            target = GrpcServerTarget(host="127.0.0.1", port=self._port, socket=None, location_name="gristmill")
            process = self._open.enter_context(WorkspaceProcessContext(self.instance, target))
            self._workspace = process.create_request_context()
            self._location = self._workspace.get_code_location("gristmill")
        except BaseException:
            self.close()
            raise

    @property
    def _where(self) -> list[str]:
        return ["-h", "127.0.0.1", "-p", str(self._port)]

    def daemon(self) -> dg.DagsterInstance:
        """The instance of another daemon, as after a restart: its launcher has started no run."""
        return self._open.enter_context(dg.DagsterInstance.from_config(str(self.home)))

    def launch(self, job: str = "gated") -> str:
        """Launches a run; its id."""
        run = self.create(job)
        self.instance.launch_run(run.run_id, self._workspace)
        return run.run_id

    def create(self, job: str) -> dg.DagsterRun:
        """A run that nobody has launched."""
        found = self._location.get_repository("__repository__").get_full_job(job)
        run: dg.DagsterRun = create_run_for_test(
            self.instance,
            job_name=job,
            remote_job_origin=found.get_remote_origin(),
            job_code_origin=found.get_python_origin(),
        )
        return run

    def enter(self, run: str) -> int:
        """Waits until a run is in the gate; its process."""
        file = self.gate / f"{run}.pid"
        wait(file.exists, "the run in the gate")
        return int(file.read_text())

    def open(self) -> None:
        """Opens the gate."""
        (self.gate / "open").touch()

    def run(self, run: str) -> dg.DagsterRun:
        """The run as Dagster knows it now."""
        found = self.instance.get_run_by_id(run)
        assert found is not None
        return found

    def end(self, run: str) -> str:
        """Waits for the end of a run; its status."""
        ended: list[dg.DagsterRun] = []

        def has_ended() -> bool:
            ended[:] = [self.run(run)]
            return ended[0].is_finished

        wait(has_ended, f"the end of run {run}")
        return ended[0].status.value

    def said(self, run: str) -> list[str]:
        """What Dagster's log of a run says."""
        return [entry.user_message or entry.message for entry in self.instance.all_logs(run)]

    def look(self, daemon: dg.DagsterInstance, run: str) -> CheckRunHealthResult:
        """What run monitoring of a daemon is told about a run."""
        return daemon.run_launcher.check_run_worker_health(self.run(run))

    def health(self) -> int:
        """The exit code of `dagster api grpc-health-check`."""
        command = [sys.executable, "-m", "dagster", "api", "grpc-health-check", *self._where]
        return subprocess.run(command, capture_output=True, check=False).returncode

    def runs_of_code(self) -> list[str]:
        """The runs that the code server knows. It takes the lock for which everything waited."""
        assert isinstance(self._location, GrpcServerCodeLocation)
        return list(self._location.get_current_runs())

    def close(self) -> None:
        """Ends everything."""
        for process in list(runs_below(self.home)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(self.code.pid, signal.SIGKILL)
        self.code.wait()
        for thread in threading.enumerate():
            if thread.name.startswith(WAITER):  # it reports the end of its run into the database
                thread.join(LONGEST)
        self._open.close()
        for name, value in self._before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def wait(until: Callable[[], bool], what: str) -> None:
    """Waits until something is so."""
    end = time.monotonic() + LONGEST
    while not until():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.02)
