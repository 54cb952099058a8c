"""Dagster on this machine: code server, guarded web server and daemon, each a child process of this one.

`dagster dev` starts a web server of its own, without our guard. What the children print goes to files in DAGSTER_HOME
of a bounded size. The daemon prints warnings and errors alone: the UI shows the ticks of sensors.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from gristmill.errors import GristmillError, RecipeError
from gristmill.execution.work import Say
from gristmill.process import how_ended

DAGSTER = [sys.executable, "-m", "dagster"]
WEB_SERVER = """
from gristmill.installation import import_location_module
import_location_module('resources.pools').main()
import_location_module('resources.guarded_webserver').main()
"""
"""A program, not `-m`: a project may have a folder `resources` of its own. The page of pools lists rows alone."""
DAEMON = """
from importlib.metadata import entry_points
(command,) = entry_points(group='console_scripts', name='dagster-daemon')
command.load()()
"""
"""The command `dagster-daemon`, which need not lie in a folder of PATH."""
PATIENCE = 60
"""Seconds that a child has to end by itself."""
LOG_BYTES = 5_000_000
"""Size at which a log becomes `<name>.log.1`, in place of the one before."""

NOT_LOST = (
    "no run is lost: those in the queue wait, and what a run has finished is kept in the lake; start the UI again by"
    " the same command"
)
"""What a person needs to know when a process has ended while all of them were at work."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""What Dagster puts around words for a terminal, also in a file."""

STOPS = (signal.SIGINT, signal.SIGTERM)


class Child:
    """A process of ours, and the file that takes its output."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> None:
        self.name = name
        self._asked = False
        self.log = folder / f"{name.replace(' ', '-')}.log"
        self.log.write_bytes(b"")
        with self.log.open("ab") as sink:  # to append: so it goes on at the new end after `trim`
            self.process = subprocess.Popen(  # noqa: S603 - our own modules, and Dagster's
                command, env={**variables}, stdout=sink, stderr=subprocess.STDOUT
            )

    def wait_for(self, family: int, address: object) -> None:
        """Waits until it listens.

        Raises:
            GristmillError: it ends before.
        """
        while True:
            with socket.socket(family) as probe:
                if probe.connect_ex(address) == 0:  # type: ignore[arg-type]  # the address fits the family
                    return
            if self.process.poll() is not None:
                raise self.end_error()
            time.sleep(0.2)

    def last_lines(self, number: int) -> list[str]:
        """The end of what it printed, without colours and empty lines."""
        try:
            printed = _COLOURS.sub("", self.log.read_text(errors="replace"))
        except OSError as error:
            return [f"it cannot be read: {error.strerror}"]
        return [line for line in printed.splitlines() if line.strip()][-number:]

    def trim_log(self, most: int = LOG_BYTES) -> None:
        """Moves what it printed to `<name>.log.1`, if that is longer. Lines of that moment may be lost.

        On a full disk, all of it is lost. A log that a person has removed has no size any more. Neither ends the UI.
        """
        with suppress(OSError):
            if self.log.stat().st_size > most:
                with suppress(OSError):
                    shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)

    def exit_in_words(self) -> str:
        """The name of the process that has ended, and its exit code or signal."""
        return f"the {self.name} {how_ended(self.process.wait())}"

    def end_error(self, then: str = "") -> GristmillError:
        """The error for its end, with the last lines that it printed. A process that is killed prints nothing about it.

        Args:
            then: further sentence for people.
        """
        killed = self.process.wait() in {-signal.SIGKILL, -signal.SIGTERM}
        last = [f"its log is {self.log}"] if killed else [f"the end of {self.log}:", *self.last_lines(5)]
        return GristmillError("\n".join([f"{self.exit_in_words()}; {last[0]}", *last[1:], *([then] if then else [])]))

    def ask_to_end(self) -> None:
        """Asks it to end, once: a second signal would stop it from ending its own processes."""
        if not self._asked and self.process.poll() is None:
            self.process.terminate()
        self._asked = True

    def end(self) -> None:
        """Ends it, and waits."""
        self.ask_to_end()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def end_all_processes(children: Sequence[Child]) -> None:
    """Ends all, at once: each takes seconds. Those that started last are waited for first."""
    for child in reversed(children):
        child.ask_to_end()
    for child in reversed(children):
        child.end()


class Dashboard:
    """Dagster's UI over a lake, until a signal ends it.

    Args:
        home: DAGSTER_HOME.
        variables: the environment of the children.
        host: address to listen on.
        port: port to listen on.
        say: function that takes a line for each step.

    Raises:
        RecipeError: the port is taken.
    """

    def __init__(self, home: Path, variables: Mapping[str, str], host: str, port: int, say: Say) -> None:
        with socket.socket(socket.AF_INET) as probe:  # before a log of the other UI is written over
            if probe.connect_ex((host, port)) == 0:
                raise RecipeError(
                    f"{host}:{port} is taken, perhaps by another `gristmill ui`; choose another: --port {port + 1}"
                )
        self.folder = home / "ui"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._variables, self._host, self._port, self._say = variables, host, port, say
        self._new = not (home / "history").exists()
        self._children: list[Child] = []

    def run(self, sync: Sequence[str] = ()) -> None:
        """Starts all children, and returns when SIGINT or SIGTERM has ended them.

        Args:
            sync: a command that shows the lake first; empty: none.

        Raises:
            GristmillError: a child ended by itself; the others are ended, too.
        """
        before = {number: signal.signal(number, _raise_interrupt) for number in STOPS}
        self._say(f"starting code server, daemon and web server; their logs are in {self.folder}")
        with tempfile.TemporaryDirectory(prefix="gristmill-ui-") as sockets:
            try:
                self._serve_until_stopped(Path(sockets), sync)
            except KeyboardInterrupt:
                self._say("ending ...")
            finally:
                for number in STOPS:  # a second Ctrl-C would leave children behind
                    signal.signal(number, signal.SIG_IGN)
                end_all_processes(self._children)
                for number, handler in before.items():
                    signal.signal(number, handler)

    def _start_process(self, name: str, *command: str) -> Child:
        self._children.append(Child(name, command, self.folder, self._variables))
        return self._children[-1]

    def _serve_until_stopped(self, sockets: Path, sync: Sequence[str]) -> None:
        shown = self._start_process("sync", *sync) if sync else None
        if shown and self._new:  # two processes that create Dagster's files at once would spoil them
            self._report_sync_result(shown)
        code = sockets / "code"
        workspace = sockets / "workspace.yaml"
        server = {"grpc_server": {"socket": str(code), "location_name": "gristmill"}}
        workspace.write_text(json.dumps({"load_from": [server]}))  # JSON is YAML
        target = ["-m", "gristmill.dagster_location", "--location-name", "gristmill", "--socket", str(code)]
        target += ["--use-python-environment-entry-point"]
        self._start_process("code server", *DAGSTER, "code-server", "start", *target).wait_for(
            socket.AF_UNIX, str(code)
        )
        if shown and not self._new:
            self._report_sync_result(shown)
        quiet = ["--log-level", "warning"]
        self._start_process("daemon", sys.executable, "-c", DAEMON, "run", "-w", str(workspace), *quiet)
        where = ["-h", self._host, "-p", str(self._port)]
        web = self._start_process("web server", sys.executable, "-c", WEB_SERVER, "-w", str(workspace), *where)
        web.wait_for(socket.AF_INET, (self._host, self._port))
        told = f"http://{self._host}:{self._port} answers pages of its own and programs of this machine"
        self._say(f"{told}; Ctrl-C ends it")
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)) is None:
            for child in self._children:
                child.trim_log()
            time.sleep(0.5)
        child = next(child for child in self._children if child.process.pid == ended.si_pid)
        self._say(f"{child.exit_in_words()}; ending the others ...")
        raise child.end_error(NOT_LOST)

    def _report_sync_result(self, sync: Child) -> None:
        """Waits for the end of `sync`. If it failed, says why the lake is not shown: the UI is of use all the same."""
        code = sync.process.wait()
        self._children.remove(sync)
        for line in sync.last_lines(1 if code == 0 else 5):
            self._say(line if code == 0 else f"the lake is not shown: {line}")


def _raise_interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the shape of a signal's handler
    raise KeyboardInterrupt
