"""Gristmill as in production: code server, web server, daemon as three processes, with its settings as they stand."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from live import REPOSITORY, Live
from paths import ROOT

PRODUCTION = ROOT / "docs" / "production"

SENSORS = """query ($in: RepositorySelector!) { sensorsOrError(repositorySelector: $in) {
    ... on Sensors { results { id name sensorState { status } } } } }"""
START = """mutation ($in: SensorSelector!) { startSensor(sensorSelector: $in) {
    __typename ... on Sensor { sensorState { status } } } }"""
STOP = """mutation ($id: String!) { stopSensor(id: $id) {
    __typename ... on StopSensorMutationResult { instigationState { status } } } }"""
TICKS = """query ($in: SensorSelector!) { sensorOrError(sensorSelector: $in) {
    ... on Sensor { sensorState { ticks { status timestamp runIds } } } } }"""


class Deployed(Live):
    """Three processes over a lake and a database, with the files of docs/production as they stand.

    Args:
        folder: for Dagster's home, the workspace and the log.
        lake: address of the lake.
        database: environment of a database (see Postgres.create()).
        shelves: packages of recipes besides ours.
        environment: further variables.
        lost: whether the database was lost: the job `sync` goes first, while no daemon runs.
        settings: values that replace those in dagster.yaml, by the name of the setting. The file must have each name
            exactly once.
    """

    def __init__(
        self,
        folder: Path,
        lake: str,
        database: Mapping[str, str],
        *,
        shelves: Sequence[str],
        environment: Mapping[str, str] | None = None,
        lost: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self._lost = lost
        self._others: dict[str, subprocess.Popen[bytes]] = {}
        self._code_port = free_port()
        text = (PRODUCTION / "dagster.yaml").read_text()
        for name, value in (settings or {}).items():
            text, changed = re.subn(rf"^( *{name}:) .*$", rf"\1 {value}", text, flags=re.MULTILINE)
            assert changed == 1, name
        places = {"GRISTMILL_CODE_HOST": "127.0.0.1", "GRISTMILL_CODE_PORT": str(self._code_port)}
        asked = {"DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR": "1"}  # by docs/how-to/production.md
        patience = {"DAGSTER_GRPC_TIMEOUT_SECONDS": "300"}  # on a machine with much to do
        told = {**database, **places, **asked, **patience, **(environment or {})}
        super().__init__(folder, lake, shelves=shelves, yaml=text, environment=told)

    def start(self) -> None:
        """Starts the three, each in a process group of its own, as docs/how-to/production.md says; or none."""
        shutil.copy(PRODUCTION / "workspace.yaml", self.home)
        self.dagster("instance", "migrate")  # or the three would make the tables at once, and one of them fail
        subprocess.run([sys.executable, "-m", "resources.pools"], cwd=ROOT, env=self.environment, check=True)
        if self._lost:
            self.dagster("job", "execute", "-m", "definitions", "-j", "sync")
        try:
            self._start()
        except BaseException:
            self.kill()
            raise

    def _start(self) -> None:
        self.port = free_port()
        for name in ("code", "daemon", "web"):
            self.serve(name)
        self.wait(self.is_up, "the web server and its code")

    def wait(self, until: Callable[[], bool], what: str, seconds: float = 900, every: float = 0.5) -> None:
        """As the web server's, and for the other two as well."""

        def so() -> bool:
            for name, process in self._others.items():
                assert process.poll() is None, f"{name} ended:\n{self.log.read_text()[-3000:]}"
            return until()

        super().wait(so, what, seconds, every)

    def serve(self, name: str) -> subprocess.Popen[bytes]:
        """Starts the code server ("code"), the daemon ("daemon") or the web server ("web")."""
        workspace = ["-w", str(self.home / "workspace.yaml")]
        here = ["-h", "127.0.0.1", "-p"]
        programs = {
            "code": ["dagster", "api", "grpc", "-m", "definitions", "-d", str(ROOT), *here, str(self._code_port)],
            "daemon": ["dagster-daemon", "run", *workspace],
            "web": [Path(sys.executable).name, "-m", "resources.guarded_webserver", *workspace, *here, str(self.port)],
        }
        process = self._run(*programs[name])
        if name == "web":
            self._process = process
        else:
            self._others[name] = process
        return process

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [str(Path(sys.executable).with_name(program)), *arguments],
                cwd=self.home,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def is_up(self) -> bool:
        """Whether the web server and its code answer."""
        found = self.ask(SENSORS, **{"in": REPOSITORY})
        return bool(found and found["sensorsOrError"].get("results"))

    def ask_sensors(self) -> list[dict[str, str]]:
        """Id and name of each sensor."""
        return list(self.ask(SENSORS, **{"in": REPOSITORY})["sensorsOrError"]["results"])

    def pause(self, *names: str) -> None:
        """Stops these sensors; without names all: from now on nothing is launched that the test did not launch."""
        for sensor in self.ask_sensors():
            if not names or sensor["name"] in names:
                said = self.ask(STOP, id=sensor["id"])["stopSensor"]
                assert said["instigationState"]["status"] == "STOPPED", said

    def resume(self, name: str) -> None:
        """Starts a sensor."""
        said = self.ask(START, **{"in": {**REPOSITORY, "sensorName": name}})["startSensor"]
        assert said["sensorState"]["status"] == "RUNNING", said

    def ticks(self, sensor: str) -> list[dict[str, str]]:
        """The finished ticks of a sensor, newest first."""
        found = self.ask(TICKS, **{"in": {**REPOSITORY, "sensorName": sensor}})
        return [tick for tick in found["sensorOrError"]["sensorState"]["ticks"] if tick["status"] != "STARTED"]

    def dagster(self, *arguments: str) -> str:
        """What the `dagster` command says, as a person would type it in the checkout."""
        done = subprocess.run(
            [str(Path(sys.executable).with_name("dagster")), *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill_one(self, name: str) -> None:
        """SIGKILL to the code server ("code") or the daemon, and not to runs."""
        _kill(self._others.pop(name))

    def kill(self) -> None:
        """SIGKILL to all of it, runs included."""
        while self._others:
            _kill(self._others.popitem()[1])
        for run in list(runs_below(self.home)):
            with suppress(ProcessLookupError):
                os.kill(run, signal.SIGKILL)
        if self._process is not None:
            super().kill()

    def close(self) -> None:
        """Ends it all at once: there is nothing in it that needs time to end."""
        self.kill()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def runs_below(home: Path) -> Iterator[int]:
    """The processes of all runs with this DAGSTER_HOME."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"resources.run_worker" not in (folder / "cmdline").read_bytes().split(b"\0"):
                continue
            if f"DAGSTER_HOME={home}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
