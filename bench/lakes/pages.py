"""How long a person waits for the first page of a hundred sources.

The guarded web server and its code server run over the shelves of `hundred`, without a daemon. When the server answers,
a browser without a window and without a cache opens its address, and waits until the page has read the definitions. It
does so several times, each time as a new visitor; the first one also waits for what the server reads once. The browser
and the server share the machine.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.harness.cost import ROOT, BenchError, Cost
from bench.harness.row import Row
from bench.inputs.shelf import variables
from bench.lakes.hundred import SOURCES, write_hundred
from scripts.camera import open_browser

SECONDS = 3.0
VISITORS = 5
PATIENCE = 120
"""Seconds within which the server must answer, and a page show what it has."""
SHOWN = "Materialize an asset"
"""What the timeline offers when the definitions are there and no run is."""


def run(work: Path, sources: int = SOURCES) -> list[Row]:
    """One row; `work` is an empty folder."""
    write_hundred(work / "hundredshelf", sources)
    lake = work / "lake"
    lake.mkdir()
    env = variables(work, lake) | {"GRISTMILL_SHELVES": "hundredshelf"}
    with _served(work / "server.log", env) as url:
        waits = _waits(url, work)
    return [
        Row(
            name="pages: the first page of a hundred sources",
            ours=Cost(0.0, max(waits)),
            bar=f"< {SECONDS:.0f} s wall on a quiet machine",
            met=max(waits) < SECONDS,
            note=f"each visitor waited {', '.join(f'{wait:.2f}' for wait in waits)} s; load {os.getloadavg()[0]:.1f}",
            detail={"waits": waits},
        )
    ]


def _waits(url: str, work: Path) -> list[float]:
    """Seconds until each visitor sees the page's content; a picture of the last is left."""
    waits: list[float] = []
    with open_browser() as browser:
        for _ in range(VISITORS):
            context = browser.new_context(viewport={"width": 1600, "height": 1000})
            page = context.new_page()
            begun = time.perf_counter()
            page.goto(url)
            page.get_by_text(SHOWN, exact=True).locator("visible=true").first.wait_for(timeout=PATIENCE * 1000)
            waits.append(round(time.perf_counter() - begun, 3))
            page.screenshot(path=work / "first.png")
            context.close()
    return waits


@contextmanager
def _served(log: Path, env: Mapping[str, str]) -> Iterator[str]:
    """The address of a guarded web server whose code is loaded."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = [sys.executable, "-m", "resources.guarded_webserver", "-w", str(ROOT / "workspace.yaml"), "-p", str(port)]
    with log.open("wb") as said:
        process = subprocess.Popen(
            server, cwd=ROOT, env={**os.environ, **env}, stdout=said, stderr=said, start_new_session=True
        )
    try:
        _wait_for(port, process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when the server listens, which it does after it has loaded the code."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.2)
    raise BenchError(f"the web server did not listen:\n{log.read_text(errors='replace')[-3000:]}")
