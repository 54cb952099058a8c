"""Real clusters on this machine, for measuring and for tests; ended by their own process ids."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from bench.harness.cost import ROOT, BenchError
from gristmill.engines.dask import DaskEngine
from gristmill.engines.ray import RayEngine


class Cluster(Protocol):
    """A cluster of this machine."""

    kind: str
    address: str

    def engine(self) -> DaskEngine | RayEngine: ...

    def busy(self) -> list[int]:
        """The processes that grind, or wait for something to grind."""

    @property
    def roots(self) -> list[int]:
        """The processes below which all others of it are."""

    def end(self) -> None: ...


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def start(words: Sequence[str], log: Path, shelves: Path, **variables: str) -> subprocess.Popen[bytes]:
    """A program in a session of its own, with the checkout and a folder of recipes on its path."""
    paths = os.pathsep.join(map(str, (ROOT, shelves)))
    with log.open("ab") as sink:
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": paths, **variables},
        )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and whatever it has started."""
    family = [process.pid, *descendants(process.pid)]
    for each in family:
        kill(each)
    process.wait()


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def descendants(pid: int) -> dict[int, bytes]:
    """Command lines of the processes below a process, by their ids."""
    parents: dict[int, int] = {}
    commands: dict[int, bytes] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                commands[int(folder.name)] = (folder / "cmdline").read_bytes()
            except OSError:
                continue
    found: dict[int, bytes] = {}
    for each, words in commands.items():
        up = parents[each]
        while up not in {pid, 0}:
            up = parents.get(up, 0)
        if up == pid:
            found[each] = words
    return found


def until(ready: Callable[[], bool], log: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise BenchError(log.read_text())
        time.sleep(0.05)


class DaskCluster:
    """A scheduler that gives up an item after two dead workers, and workers of one thread under a nanny.

    Args:
        folder: takes the log and the workers' files.
        shelves: a folder with packages of recipes.
        workers: how many.
    """

    kind = "dask"

    def __init__(self, folder: Path, shelves: Path, *, workers: int = 2) -> None:
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self._log = folder / "dask.log"
        place = ["--host", "127.0.0.1", "--no-dashboard"]
        self.scheduler = start(
            ["distributed.cli.dask_scheduler", *place, "--port", self.address.rpartition(":")[2]],
            self._log,
            shelves,
            DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1",
        )
        until(lambda: self._log.exists() and "Scheduler at" in self._log.read_text(), self._log)
        self._workers: subprocess.Popen[bytes] | None = None
        if workers:
            count = ["--nthreads", "1", "--nworkers", str(workers), "--local-directory", str(folder / "dask")]
            self._workers = start(["distributed.cli.dask_worker", self.address, *place, *count], self._log, shelves)
            until(lambda: self._log.read_text().count("Starting established connection") == 2 * workers, self._log)

    def engine(self) -> DaskEngine:
        return DaskEngine(self.address)

    def busy(self) -> list[int]:
        return [pid for root in self.roots for pid, words in descendants(root).items() if b"spawn_main" in words]

    @property
    def roots(self) -> list[int]:
        return [each.pid for each in (self.scheduler, self._workers) if each]

    def end(self) -> None:
        for each in (self._workers, self.scheduler):
            if each:
                stop(each)


class RayCluster:
    """A head with so many CPUs; RAY_AUTH_MODE and RAY_AUTH_TOKEN_PATH must stand in the environment.

    Args:
        folder: takes the log and Ray's files; its path must be short, Ray has sockets there.
        shelves: a folder with packages of recipes.
        workers: how many.
    """

    kind = "ray"

    def __init__(self, folder: Path, shelves: Path, *, workers: int = 2) -> None:
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self._log = folder / "ray.log"
        words = (
            f"ray.scripts.scripts start --head --block --num-cpus {workers} --disable-usage-stats --min-worker-port 0"
        )
        words += f" --max-worker-port 0 --port {port} --object-store-memory 100000000 --include-dashboard false"
        self._head = start([*words.split(), "--temp-dir", tempfile.mkdtemp(prefix="ray-")], self._log, shelves)
        until(lambda: "Ray runtime started" in self._log.read_text(), self._log)

    def engine(self) -> RayEngine:
        return RayEngine(self.address)

    def busy(self) -> list[int]:
        return [pid for pid, words in descendants(self._head.pid).items() if words.startswith(b"ray::grind_bytes")]

    @property
    def roots(self) -> list[int]:
        return [self._head.pid]

    def end(self) -> None:
        stop(self._head)
