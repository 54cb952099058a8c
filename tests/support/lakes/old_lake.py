"""Makes the old lake of tests/test_upgrade.py: `PYTHONPATH=. python tests/support/lakes/old_lake.py CHECKOUT OUT`.

The Gristmill of a checkout brings one year of the shelf `oldshelf` from raw to tokens by its scripts, and the next by
its own daemon, sensors and all. It does so in a bucket: its etags are digests of bytes, and its address is no path, so
both are the same wherever the lake is put back. OUT holds the lake, Dagster's database, and all names in it.
"""

import io
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import dagster as dg
import zstandard
from dagster._core.scheduler.instigation import InstigatorType
from seaweed import Seaweed
from versions import Checkout

PREFIX = "old"
"""Of the lake in the bucket; the test must put it back there."""
DATABASES = {
    "history/runs.db": (
        "DELETE FROM snapshots",
        "UPDATE runs SET run_body = replace(replace(run_body, :checkout, '/gristmill'), :python, '/gristmill/python')",
    ),
    "history/runs/index.db": (),
    "schedules/schedules.db": (
        "DELETE FROM asset_daemon_asset_evaluations",
        "DELETE FROM job_ticks WHERE id NOT IN (SELECT MAX(id) FROM job_ticks GROUP BY selector_id)",
    ),
}
"""What is kept of Dagster's files, without what people alone read: past ticks, and how jobs looked when they ran."""
WORKSPACE = """load_from:
  - python_module: {module_name: oldshelf.location, location_name: gristmill}
"""
PATIENCE = 900
"""Seconds until nothing moves any more."""


def main(checkout: str, out: str) -> None:
    """Makes it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Seaweed(folder / "bucket")
        try:
            os.environ |= {**server.environment, "GRISTMILL_INTERVAL": "1", "GRISTMILL_WORKERS": "1"}
            made = Checkout(Path(checkout), folder / "made", server.url(PREFIX))
            for command in (("arrive", "2024"), ("grind",), ("pack",)):
                made.run("oldshelf.make", *command)
            with dagster(made, folder):
                made.run("oldshelf.make", "arrive", "2025")
                settle(made.home)
            names = made.run("oldshelf.make", "names")
            store = server.store(PREFIX)
            lake = {entry.path: store.read(entry.path) for entry in store.list("")}
        finally:
            server.close()
        files = {f"lake/{path}": data for path, data in lake.items()}
        files |= {f"home/{path}": stripped(made, path) for path in DATABASES}
        write(Path(out), {**files, "names.json": names.encode()})


@contextmanager
def dagster(made: Checkout, folder: Path) -> Iterator[None]:
    """A running daemon with its code server: sensors, automation, queue."""
    workspace = folder / "workspace.yaml"
    workspace.write_text(WORKSPACE)
    command = [sys.executable, "-m", "dagster._daemon", "run", "-w", str(workspace)]
    with (folder / "daemon.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=made.root, env=made.environment, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


def settle(home: Path) -> None:
    """Waits until each sensor has looked twice at what the last run has left, and all partitions are made."""
    end = time.monotonic() + PATIENCE
    with dg.DagsterInstance.from_config(str(home)) as instance:
        while not is_calm(instance):
            assert time.monotonic() < end, "it never comes to rest"
            time.sleep(1)


def is_calm(instance: dg.DagsterInstance) -> bool:
    """Whether the second year has reached the tokens, and since the last run each sensor has ticked twice."""
    tokens = dg.AssetKey(["token_caches", "reading", "tiny-1", "books"])
    if "2025" not in instance.get_materialized_partitions(tokens):
        return False
    records = instance.get_run_records()
    if any(record.end_time is None for record in records):
        return False
    last = max(record.end_time or 0.0 for record in records)
    states = instance.all_instigator_state(instigator_type=InstigatorType.SENSOR)
    ticks = [instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=2) for state in states]
    return all(len(each) == 2 and min(tick.timestamp for tick in each) > last for each in ticks)


def stripped(made: Checkout, path: str) -> bytes:
    """An SQLite database of Dagster's in one file, without what DATABASES leaves out."""
    names = {"checkout": str(made.root), "python": sys.executable}
    with closing(sqlite3.connect(made.home / path, isolation_level=None)) as connection:
        for statement in (*DATABASES[path], "PRAGMA journal_mode = DELETE", "VACUUM"):
            connection.execute(statement, names)
    return (made.home / path).read_bytes()


def write(out: Path, files: Mapping[str, bytes]) -> None:
    """An archive that is the same for the same files."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for path in sorted(files):
            info = tarfile.TarInfo(path)
            info.size = len(files[path])
            archive.addfile(info, io.BytesIO(files[path]))
    out.write_bytes(zstandard.ZstdCompressor(level=19).compress(plain.getvalue()))


if __name__ == "__main__":
    main(*sys.argv[1:])
