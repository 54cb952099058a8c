"""A small deployment on which things go wrong: the pages for it, without a change of the demo's lake.

It is a project as `gristmill init` writes it, whose texts are the pages of the documentation. Its source expects new
data within a minute, and its alerts go to a webhook of this process. Nothing here needs to be put back: the folder is
written anew each time.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from gristmill.environment import CHECKOUT
from gristmill.lake.address import attributes_asset, documents_asset, place, raw_asset, raw_folder
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.open import open_store
from scripts.camera import Camera
from scripts.progress import say, stop
from scripts.server import Server

SOURCE, VERSION, SET = "night", "v0", "prose-1"
SNAPSHOTS = {"2025-11": "internals", "2025-12": "reference"}
"""The snapshots, and the folders of docs/ that hold their texts."""
GIT = "https://git.example.org/acme/night/-/blob/main"
DOCUMENTS, ATTRIBUTES = documents_asset(SOURCE, VERSION), attributes_asset(SOURCE, VERSION, SET)
AUDIT = "row_alignment_audit"


def make_project(folder: Path) -> Path:
    """A new project with raw data, in this folder."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "gristmill", "init", str(folder)]
    variables = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=variables)
    recipe = folder / SOURCE / "sources" / f"{SOURCE}.py"
    declared = recipe.read_text(encoding="utf-8")
    expecting = declared.replace(
        "    name=NAME,\n", '    name=NAME,\n    owners=("team:night",),\n    expected_hours=0.02,\n'
    )
    if expecting == declared:
        stop(f"{recipe} does not declare its source as this script expects: change scripts/night.py")
    recipe.write_text(expecting, encoding="utf-8")
    (folder / SOURCE / "mixes" / "base.py").unlink()  # a source is enough, and its runs are sooner over
    (folder / SOURCE / "tokenizers" / "bpe.py").unlink()
    for snapshot, room in SNAPSHOTS.items():
        shutil.copytree(CHECKOUT / "docs" / room, raw(folder, snapshot))
    return folder


def raw(project: Path, snapshot: str) -> Path:
    """The folder of a raw snapshot."""
    return project / "lake" / raw_folder(SOURCE, snapshot)


def change_raw(project: Path) -> None:
    """One file of the newest snapshot is new, one is changed, one is gone, and one is not read."""
    newest = raw(project, max(SNAPSHOTS))
    shutil.copy(CHECKOUT / "README.md", newest / "readme.md")
    (newest / "lake.md").write_text("This page says something else now, in more words than a heading has.\n")
    (newest / "ledger.md").unlink()
    (newest / "notes.pdf").write_bytes(b"%PDF-1.7\n")


def cut_row(project: Path) -> None:
    """A row is gone from an attribute shard."""
    store = open_store(str(project / "lake"))
    here = place(ATTRIBUTES, min(SNAPSHOTS))
    path = here.shard(read_ledger(store, here)[1][0].name)
    rows = gzip.decompress(store.read(path)).splitlines(keepends=True)
    store.put(path, gzip.compress(b"".join(rows[1:]), mtime=0))


@contextmanager
def webhook() -> Iterator[tuple[str, list[str]]]:
    """A webhook on this machine: its address, and the texts of the messages that it takes."""
    taken: list[str] = []

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append(json.loads(body)["text"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Taker) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/hook", taken
        server.shutdown()


@contextmanager
def open_night(folder: Path) -> Iterator[tuple[Path, Server, list[str]]]:
    """A new project, Dagster on it, and the alerts that it posts."""
    project = make_project(folder / SOURCE)
    with webhook() as (address, alerts):
        variables = {
            "GRISTMILL_LAKE": "",
            "GRISTMILL_SHELVES": "",
            "DAGSTER_HOME": str(project / ".dagster"),
            "GRISTMILL_INTERVAL": "3",
            "GRISTMILL_WEBHOOK": address,
            "GRISTMILL_CODE_URL": GIT,
        }
        with closing(Server(folder / "night.log", project, variables)) as server:
            yield project, server, alerts


def shoot_night(project: Path, server: Server, alerts: list[str], camera: Camera) -> None:
    """All pictures of it."""
    sensor = "/locations/gristmill/sensors/raw_arrivals"
    say("the automation makes everything of the new snapshots")
    calm(server, len(SNAPSHOTS))
    camera.take("runs-of-automation", "/runs", f"gristmill/source: {SOURCE}")
    change_raw(project)
    camera.take("tick-with-news", sensor, f"{SOURCE}: {max(SNAPSHOTS)}")  # the table of ticks cuts off the rest
    camera.take("raw-changes", f"/assets/{raw_asset(SOURCE)}?view=events", "1 changed")
    camera.take("code-on-git", f"/assets/{DOCUMENTS}", "Source code", "in GitLab")
    calm(server, len(SNAPSHOTS) + 1)
    cut_row(project)
    server.check(ATTRIBUTES, AUDIT)
    failing = f"/assets/{ATTRIBUTES}?view=checks&checkDetail={AUDIT}"
    camera.take("check-failing", failing, "its ledger says", "run next")
    server.wait(lambda: any(" failed: " in alert for alert in alerts), f"a failure, but these alerts: {alerts}")
    for alert in alerts:
        say(f"posted: {alert.splitlines()[0]}")
    camera.take("alerts", "/locations/gristmill/sensors/alerts", "posted,")
    backfill = server.backfill([DOCUMENTS, ATTRIBUTES], list(SNAPSHOTS), {"why": "a picture"})
    server.wait(lambda: server.begun(backfill), "the backfill does not begin")
    camera.take("backfill", f"/runs/b/{backfill}", backfill, "completed")
    camera.take("late", f"/assets/{raw_asset(SOURCE)}", "Freshness policy", "Failed", seconds=180)


def calm(server: Server, runs: int) -> None:
    """Waits until so many runs of the source have succeeded, and no other run goes on."""
    tags = {"gristmill/source": SOURCE}

    def quiet() -> bool:
        waiting = server.runs({}, "QUEUED", "NOT_STARTED", "STARTING", "STARTED")
        return waiting == 0 and server.runs(tags, "SUCCESS") >= runs

    server.wait(quiet, f"the automation has not made {runs} runs, or its runs do not end", 600)
