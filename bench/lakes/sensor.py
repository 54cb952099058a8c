"""The raw-arrival sensor over a million objects in a hundred snapshots: an unchanged pass, and one changed object.

The objects are listed over S3's protocol from a server that makes them up (bench/lakes/key_server.py); the sensor is
the real one with a real Dagster instance in SQLite, its ticks boxed as in production. Each page takes `LATENCY`
milliseconds, so that a pass reaches the end of its time box, and the next tick continues it.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.harness.cost import ROOT, Cost, answer, timed
from bench.harness.row import Row
from bench.inputs.shelf import variables
from bench.lakes.key_server import PREFIX

OBJECTS, SNAPSHOTS = 1_000_000, 100
LATENCY = 20
CPU_SECONDS = 30.0
PEAK = 500_000_000
PASSES = 3


def run(work: Path, objects: int = OBJECTS, snapshots: int = SNAPSHOTS) -> list[Row]:
    """The row; `work` is an empty folder."""
    command = [sys.executable, "-m", "bench.lakes.key_server", str(objects), str(snapshots), str(LATENCY)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}) as it:
        try:
            port = int((it.stdout.readline() if it.stdout else b"") or 0)
            told = _ticks(work, port, objects // snapshots // 2)
        finally:
            it.kill()  # where SIGINT is ignored, Dagster makes its children ignore SIGTERM too
    return [_row(told, objects, snapshots)]


def _ticks(work: Path, port: int, number: int) -> dict[str, Any]:
    """What bench/lakes/ticks.py says of it."""
    env = variables(work, work) | {
        "GRISTMILL_LAKE": "s3://bench",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
    }
    log = work / "ticks.log"
    timed(
        [sys.executable, "-m", "bench.lakes.ticks", "s3://bench", f"{PREFIX}snapshot-0000/part-{number:06d}.jsonl.gz"],
        log,
        env,
    )
    told: dict[str, Any] = answer(log)
    return told


def _row(told: dict[str, Any], objects: int, snapshots: int) -> Row:
    unchanged, noticed = told["unchanged"], told["noticed"]
    silent = unchanged["said"] == "nothing new"
    seen = noticed[-1]["said"] == "snapshot-0000 reported"
    return Row(
        name="sensor",
        ours=Cost(unchanged["cpu_s"], unchanged["wall_s"]),
        agree=silent and seen,
        bar=f"<= {CPU_SECONDS:.0f} s CPU, {PEAK // 1_000_000} MB, an event within {PASSES} passes",
        met=unchanged["cpu_s"] <= CPU_SECONDS and told["peak"] <= PEAK and len(noticed) <= PASSES,
        note=(
            f"{objects:,} objects in {snapshots:,} snapshots, {unchanged['ticks']} ticks; "
            f"peak {told['peak'] // 1_000_000} MB; a change after {len(noticed)} pass; "
            f"cursor at most {told['largest cursor']:,} characters"
        ),
        detail=told,
    )
