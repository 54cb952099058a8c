"""Runs die while others ask about them and terminate them: nobody waits for ever, no living run is called dead."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from dagster._core.launcher import WorkerStatus
from launched import Launched

CASE = 10
"""Runs of a case that are killed, and as many that are left alone."""

AT_ONCE = 6
"""More than the machine has cores: that is the load."""


@dataclass
class Asker:
    """Another daemon and a person, who ask about all runs in turn, without a pause.

    Attributes:
        launched: the deployment.
        under_way: the runs to ask about.
        struck: those that were killed, or are just about to be.
        wrong: those that were called dead and had not been killed.
    """

    launched: Launched
    under_way: set[str] = field(default_factory=set)
    struck: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> None:
        """Asks until it is over."""
        daemon = self.launched.daemon()
        while not self.over.wait(0.01):
            for run in sorted(self.under_way):
                found = self.launched.run(run)
                if found.status.value != "STARTED":  # Dagster asks about no other
                    continue
                dead = daemon.run_launcher.check_run_worker_health(found).status != WorkerStatus.RUNNING
                if dead and run not in self.struck and not self.launched.run(run).is_finished:
                    self.wrong.add(run)
                if dead:
                    daemon.run_launcher.terminate(run)


def storm(folder: Path, dice: random.Random, kills: int) -> int:
    """Launches so many runs that are killed, and as many that are not, in any order.

    Args:
        folder: for all files; it is removed.
        dice: for the order, and the moments of the kills.
        kills: how many.

    Returns:
        How many were killed before they ended.
    """
    launched = Launched(folder)
    asker = Asker(launched)
    waits = [dice.uniform(0, 1) if struck else None for struck in dice.sample([True, False] * kills, 2 * kills)]

    def go(wait: float | None) -> bool:
        run = launched.launch("short" if wait is None else "gated")
        asker.under_way.add(run)
        if wait is not None:
            process = launched.enter(run)
            threading.Event().wait(wait)
            asker.struck.add(run)
            os.kill(process, signal.SIGKILL)
            with suppress(OSError):
                launched.instance.run_launcher.terminate(run)  # a person, at the same moment
        status = launched.end(run)
        asker.under_way.discard(run)
        assert status in ({"SUCCESS"} if wait is None else {"FAILURE", "CANCELED"}), (run, status)
        return wait is not None

    thread = threading.Thread(target=asker.ask)
    thread.start()
    try:
        with ThreadPoolExecutor(AT_ONCE) as together:
            killed = sum(together.map(go, waits))
        asker.over.set()
        thread.join()
        assert not asker.wrong, asker.wrong
        assert all(run.is_finished for run in launched.instance.get_runs())  # none is "canceling" for good
        assert launched.health() == 0
        assert launched.runs_of_code() == []
    finally:
        asker.over.set()
        thread.join()
        launched.close()
    shutil.rmtree(folder)
    return killed


def kill_while_asked(folder: Path, dice: random.Random, number: int) -> int:
    """A case of `make faults`.

    Args:
        folder: for all files.
        dice: for the order, and the moments of the kills.
        number: of the case.
    """
    mine = folder / f"asked-{number}"  # a process of its own, because it changes its environment
    command = [sys.executable, "-m", "mishaps.asked", str(mine), str(dice.random())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return CASE


if __name__ == "__main__":
    storm(Path(sys.argv[1]), random.Random(sys.argv[2]), CASE)
