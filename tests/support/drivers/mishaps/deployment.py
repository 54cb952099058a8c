"""A deployment that loses its processes: code server, daemon and runs are killed, and nobody lends it a hand."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import dagster as dg
from deployed import runs_below
from mishaps.lakes import Tree, check_lake, tree_of
from mishaps.runs import Drives, finish, put_letters
from one_step import work
from paths import ROOT, python_path
from testkit import Mill, link

from gristmill.execution.runner import Inline

SETTINGS = """
telemetry: {enabled: false}
nux: {enabled: false}
concurrency: {runs: {max_concurrent_runs: 2}}
run_queue: {dequeue_interval_seconds: 1, max_user_code_failure_retries: 60, user_code_failure_retry_delay: 2}
run_monitoring: {enabled: true, poll_interval_seconds: 2, start_timeout_seconds: 60}
run_retries: {enabled: true, max_retries: 10, retry_on_asset_or_op_failure: false}
run_launcher: {module: resources.run_launcher, class: WatchedRunLauncher}
"""
"""As docs/production has them, on SQLite, impatient, and with enough retries for all that we kill."""

KILLS = 6
"""Of a case."""

UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

LONGEST = 600
"""Seconds after which a deployment should have done its work, whatever befell it."""


class Deployment:
    """Code server and daemon as two processes, each in a group of its own, and so is each run."""

    def __init__(self, folder: Path, mill: Mill, home: Path) -> None:
        self.home = home
        self.log = folder / "deployment.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        (home / "dagster.yaml").write_text(SETTINGS)
        server = {"grpc_server": {"host": "127.0.0.1", "port": self._port, "location_name": "gristmill"}}
        (home / "workspace.yaml").write_text(json.dumps({"load_from": [server]}))
        self._environment = {
            **os.environ,
            "DAGSTER_HOME": str(home),
            "GRISTMILL_LAKE": mill.lake.url,
            "GRISTMILL_WORKERS": "2",
            "GRISTMILL_INTERVAL": "2",
            "DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR": "1",
            "PYTHONPATH": python_path(),
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.start()

    def start(self) -> None:
        """Starts what does not run."""
        where = ["-h", "127.0.0.1", "-p", str(self._port)]
        self._begin("code", "dagster", "api", "grpc", "-m", "mishaps.location", "-d", str(ROOT), *where)
        self._begin("daemon", "dagster-daemon", "run", "-w", str(self.home / "workspace.yaml"))

    def _begin(self, name: str, program: str, *arguments: str) -> None:
        if name in self._processes and self._processes[name].poll() is None:
            return
        with self.log.open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [str(Path(sys.executable).with_name(program)), *arguments],
                cwd=ROOT,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self, name: str) -> bool:
        """SIGKILL to the daemon, to the code server, or to a run; whether there was one."""
        if name == "run":
            return self._kill_run()
        with suppress(ProcessLookupError):
            os.killpg(self._processes[name].pid, signal.SIGKILL)
        self._processes[name].wait()
        return True

    def _kill_run(self) -> bool:
        for process in runs_below(self.home):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
                return True
        return False

    def close(self) -> None:
        for name in self._processes:
            self.kill(name)
        while self._kill_run():
            time.sleep(0.1)


def kill_deployment(drives: Drives, dice: random.Random, number: int) -> int:
    """While sensors and automation follow a change of the raw data, one process after another is killed.

    Args:
        drives: a finished lake, and Dagster's record of it.
        dice: for the moments, and for whose turn it is.
        number: of the case.
    """
    folder = drives.folder / f"deployment-{number}"
    folder.mkdir()
    alone, mill = (Mill(link(drives.undisturbed.root, folder / name)) for name in ("alone", "lake"))
    homes = [Path(shutil.copytree(drives.home, folder / name)) for name in ("alone-home", "home")]
    _change(alone)
    finish(drives.drive(alone, homes[0]))
    work(alone, "gc", Inline(), alone.said.append)
    deployed = Deployment(folder, mill, homes[1])
    try:
        with dg.DagsterInstance.from_config(str(homes[1])) as instance:
            _wait(deployed, lambda: _is_awake(instance), "the first ticks of automation")
            _change(mill)
            killed = _rain(deployed, dice)
            _wait(deployed, lambda: _is_done(instance, mill, tree_of(alone)), "the end of the work")
    finally:
        deployed.close()
    work(mill, "gc", Inline(), mill.said.append)
    check_lake(mill, tree_of(alone))
    shutil.rmtree(folder)
    return killed


def _change(mill: Mill) -> None:
    """One snapshot is new, one shard of an old one is another."""
    put_letters(mill, "letters", "2026", 301)
    put_letters(mill, "letters", "2024", 401, 1)


def _wait(deployed: Deployment, until: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + LONGEST
    while not until():
        assert time.monotonic() < end, f"{what} did not come:\n{deployed.log.read_text()[-3000:]}"
        time.sleep(1)


def _is_awake(instance: dg.DagsterInstance) -> bool:
    """Whether each automation sensor has had its first tick, which follows nothing."""
    states = [state for state in instance.all_instigator_state() if state.name == "automation"]
    return bool(states) and all(getattr(state.instigator_data, "cursor", None) for state in states)


def _is_done(instance: dg.DagsterInstance, mill: Mill, expected: Tree) -> bool:
    """Whether no run is under way, and every ledger and index says what it should."""
    if instance.get_runs_count(dg.RunsFilter(statuses=UNDER_WAY)):
        return False
    told = [path for path in expected if "/ledgers/" in path or "/index/" in path]
    found = tree_of(mill)
    return all(found.get(path) == expected[path] for path in told) and not any(".receipts/" in path for path in found)


def _rain(deployed: Deployment, dice: random.Random) -> int:
    """Kills one process after another, and starts again whatever is not a run."""
    killed = 0
    for _ in range(KILLS):
        time.sleep(dice.uniform(1, 8))
        target = dice.choice(("daemon", "code", "run", "run"))
        end = time.monotonic() + 20
        while not deployed.kill(target) and time.monotonic() < end:
            time.sleep(0.2)
        killed += time.monotonic() < end
        time.sleep(dice.uniform(0, 1))
        deployed.start()
    return killed
