"""A whole deployment as docs/production has it, of which any process may be killed: nobody but its units mends it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from deployed import Deployed, free_port, runs_below
from hook import __file__ as hook_file
from hook import told_in
from mishaps.units import Unit
from postgres import Postgres
from seaweed import Seaweed

LONGEST = 600.0
"""Seconds within which a deployment should have done its work, whatever befell it."""

SETTINGS = {"GRISTMILL_INTERVAL": "3", "GRISTMILL_ENGINE": "inline"}
"""Sensors look often, and a run is one process."""


class Supervised(Deployed):
    """Code server, daemon, web server, Postgres, S3 server and webhook, each a unit; and the runs.

    Args:
        folder: for all files.
        prepare: fills the lake, before Dagster sees it.
        shelves: packages of recipes.
    """

    def __init__(self, folder: Path, prepare: Callable[[Seaweed], str], *, shelves: tuple[str, ...]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._told = folder / "told.jsonl"
        self._told.touch()
        hook_port = free_port()
        self._hook = [sys.executable, hook_file, str(hook_port), str(self._told)]
        self._units: dict[str, Unit] = {}
        self._postgres, self._seaweed = Postgres(), Seaweed(folder / "seaweed")
        try:
            lake = prepare(self._seaweed)
            settings = {**SETTINGS, "GRISTMILL_WEBHOOK": f"http://127.0.0.1:{hook_port}/hook"}
            told = {**self._seaweed.environment, **settings, "GRISTMILL_SHELVES": ",".join(shelves)}
            hook = self._serve_hook()
            self._units["webhook"] = Unit(hook, self._serve_hook)
            database = self._postgres.create("nights")
            super().__init__(folder, lake, database, shelves=shelves, environment=told, lost=True)
        except BaseException:
            self._end_servers()
            raise
        assert self._process is not None
        self._units |= {
            "Postgres": Unit(self._postgres.process, self._postgres.serve),
            "S3 server": Unit(self._seaweed.process, self._seaweed.serve),
            "code server": Unit(self._others["code"], partial(self.serve, "code")),
            "daemon": Unit(self._others["daemon"], partial(self.serve, "daemon")),
            "web server": Unit(self._process, partial(self.serve, "web")),
        }

    def _serve_hook(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._hook, start_new_session=True)

    def wait(self, until: Callable[[], bool], what: str, seconds: float = LONGEST, every: float = 0.5) -> None:
        """Waits until something is so. A part that does not answer is waited for."""
        end, why = time.monotonic() + seconds, ""
        while True:
            try:
                if until():
                    return
                why = ""
            except Exception as error:  # noqa: BLE001 - whatever a part raises that is away just now
                why = f"{type(error).__name__}: {error}\n"
            assert time.monotonic() < end, f"{what} did not come:\n{why}{self.log.read_text()[-3000:]}"
            time.sleep(every)

    def told(self) -> list[dict[str, Any]]:
        """What the webhook has taken, oldest first."""
        return told_in(self._told)

    def kill_unit(self, name: str) -> None:
        """SIGKILL to the process of a unit."""
        self._units[name].kill()

    def kill_run(self, at_gate: Collection[int]) -> None:
        """SIGKILL to the process of a run, as soon as there is one.

        Args:
            at_gate: the processes of which it must be one; empty: any.
        """

        def killed() -> bool:
            for process in runs_below(self.home):
                if at_gate and process not in at_gate:
                    continue
                os.kill(process, signal.SIGKILL)
                return True
            return False

        self.wait(killed, "the process of a run", every=0.05)

    def close(self) -> None:
        """Ends everything."""
        for unit in self._units.values():
            unit.stop()
        super().close()
        self._end_servers()

    def _end_servers(self) -> None:
        if "webhook" in self._units:
            self._units["webhook"].stop()
            self._units["webhook"].kill()
        self._seaweed.close()
        self._postgres.close()
