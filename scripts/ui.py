"""make ui: Dagster on this machine, until Ctrl-C: code server, guarded web server and daemon, each a child process.

`dagster dev` starts a web server of its own, without our guard. What the children print goes to files in DAGSTER_HOME.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from gristmill.environment import CHECKOUT
from scripts.progress import say, stop

HOST = "127.0.0.1"
DAGSTER = [sys.executable, "-m", "dagster"]
PATIENCE = 60
"""Seconds that a child has to end by itself."""


class Child:
    """A process of ours, and the file that takes its output."""

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name.replace(' ', '-')}.log"
        with self.log.open("wb") as sink:
            self.process = subprocess.Popen(command, cwd=CHECKOUT, stdout=sink, stderr=subprocess.STDOUT)

    def wait_for(self, family: int, address: object) -> None:
        """Waits until it listens; stops the script if it ends before."""
        while True:
            with socket.socket(family) as probe:
                if probe.connect_ex(address) == 0:  # type: ignore[arg-type]  # the address fits the family
                    return
            if self.process.poll() is not None:
                self.complain()
            time.sleep(0.2)

    def complain(self) -> None:
        """Stops the script with the last lines that it printed."""
        lines = self.log.read_text(errors="replace").strip().splitlines()[-5:]
        stop("\n".join([f"the {self.name} has ended; the end of {self.log}:", *lines]))

    def end(self) -> None:
        """Ends it, and waits."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def serve(port: int, folder: Path, sockets: Path, children: list[Child]) -> None:
    """Starts all children, and returns when one of them has ended."""
    code = sockets / "code"
    workspace = sockets / "workspace.yaml"
    server = {"grpc_server": {"socket": str(code), "location_name": "gristmill"}}
    workspace.write_text(json.dumps({"load_from": [server]}))  # JSON is YAML
    target = ["-m", "definitions", "-d", str(CHECKOUT), "--location-name", "gristmill", "--socket", str(code)]
    target += ["--use-python-environment-entry-point"]
    children.append(Child("code server", [*DAGSTER, "code-server", "start", *target], folder))
    children[-1].wait_for(socket.AF_UNIX, str(code))
    children.append(Child("daemon", [sys.executable, "-m", "dagster._daemon", "run", "-w", str(workspace)], folder))
    guarded = [sys.executable, "-m", "resources.guarded_webserver", "-w", str(workspace), "-h", HOST, "-p", str(port)]
    children.append(Child("web server", guarded, folder))
    children[-1].wait_for(socket.AF_INET, (HOST, port))
    say(f"http://{HOST}:{port} answers pages of its own and programs of this machine; Ctrl-C ends it")
    ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    next(child for child in children if ended is not None and child.process.pid == ended.si_pid).complain()


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the shape of a signal's handler
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs until SIGINT or SIGTERM, or until a child ends."""
    parser = argparse.ArgumentParser(prog="python -m scripts.ui", description=__doc__)
    parser.add_argument("-p", "--port", type=int, default=3000, help="port of the UI (%(default)s)")
    port = parser.parse_args(arguments).port
    home = os.environ.get("DAGSTER_HOME")
    if not home:
        stop("DAGSTER_HOME is not set; `make ui` sets it")
    with socket.socket(socket.AF_INET) as probe:  # before a log of the other UI is written over
        if probe.connect_ex((HOST, port)) == 0:
            stop(f"{HOST}:{port} is taken, perhaps by another `make ui`; choose another: `make ui PORT={port + 1}`")
    folder = Path(str(home), "ui")
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, _end)
    say(f"starting code server, daemon and web server; their logs are in {folder}")
    children: list[Child] = []
    with tempfile.TemporaryDirectory(prefix="gristmill-ui-") as sockets:
        try:
            serve(port, folder, Path(sockets), children)
        except KeyboardInterrupt:
            say("ending ...")
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):  # a second Ctrl-C would leave children behind
                signal.signal(number, signal.SIG_IGN)
            for child in reversed(children):
                child.end()


if __name__ == "__main__":
    main()
