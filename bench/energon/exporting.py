"""Exports of a mix to Energon through all stages: speed, a second worker, and memory.

Plan, grind and commit into a lake, with hashes and ledgers. Imports are not counted. What was written is compared with
what Python's `json` and `tarfile` make of the documents.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from bench.energon.export_lake import make_lake
from bench.energon.reference import same
from bench.harness.cost import Cost, answer, timed
from bench.harness.row import Row

SHARDS, ROWS = 4, 10_000
TIMES = 5
"""Each export is made so often; its best time counts, because others may use the machine meanwhile."""
MEGABYTES = {"copied": 150, "mapped": 100}
"""Bars: megabytes of text a CPU second."""
SAMPLES = {"one": 30_000, "two": 20_000}
"""Bars: samples a CPU second."""
NAMES = {
    "copied": "JSON lines, rows copied",
    "mapped": "JSON lines, through a field map",
    "one": "tars, one part a sample",
    "two": "tars, two parts a sample",
}
REQUIRED = 1.7
"""Bar: wall time of one worker over that of two."""
GROWTH = 100_000_000
"""Bar: bytes by which a shard that is ten times as large may raise the peak of memory."""
LONG = 100_000_000
"""Characters of the longest sample that is tried."""
LIMIT = 1_000_000_000


def run(work: Path) -> list[Row]:
    """The rows; `work` is an empty folder. GRISTMILL_BENCH_GB takes another size than 1 GB for the large shard."""
    size = round(float(os.environ.get("GRISTMILL_BENCH_GB", "1")) * 1e9)
    return [*_speed(work / "speed"), _two_workers(work / "workers"), *_memory(work / "memory", size)]


def _speed(work: Path) -> list[Row]:
    work.mkdir()
    lake, text = make_lake(work, [ROWS] * SHARDS)
    return [_row(lake, kind, text, work) for kind in NAMES]


def _row(lake: Path, kind: str, text: int, work: Path) -> Row:
    said = min((_made(lake, kind, work) for _ in range(TIMES)), key=lambda each: float(each["cpu_s"]))
    megabytes, samples = text / 1e6 / said["cpu_s"], SHARDS * ROWS / said["cpu_s"]
    in_bytes = kind in MEGABYTES
    return Row(
        name=f"energon export: {NAMES[kind]}",
        ours=Cost(said["cpu_s"], said["wall_s"]),
        agree=same(lake, kind),
        bar=f"{MEGABYTES[kind]} MB of text a CPU s" if in_bytes else f"{SAMPLES[kind]:,} samples a CPU s",
        met=megabytes >= MEGABYTES[kind] if in_bytes else samples >= SAMPLES[kind],
        note=f"{megabytes:,.0f} MB of text and {samples:,.0f} samples a CPU second",
        detail={"text": text, "rows": said["rows"], "peak": said["peak"]},
    )


def _made(lake: Path, kind: str, work: Path, *options: str) -> dict[str, Any]:
    """Makes an export anew in a process of its own, and returns what it said."""
    shutil.rmtree(lake / "exports", ignore_errors=True)
    log = work / "export.log"
    timed([sys.executable, "-m", "bench.energon.one_export", lake, kind, *options], log)
    said: dict[str, Any] = answer(log)
    return said


def _two_workers(work: Path) -> Row:
    work.mkdir()
    lake, text = make_lake(work, [ROWS] * 4 * SHARDS)
    best: dict[int, dict[str, Any]] = {}
    prints: set[str] = set()
    for _ in range(TIMES):
        for workers in (1, 2):
            said = _made(lake, "two", work, "--workers", str(workers))
            best[workers] = min(best.get(workers, said), said, key=lambda each: float(each["wall_s"]))
            prints.add(said["fingerprint"])
    gain = best[1]["wall_s"] / best[2]["wall_s"]
    shutil.rmtree(lake)
    return Row(
        name="energon export: tars, two workers",
        ours=Cost(best[2]["cpu_s"], best[2]["wall_s"]),
        peer=Cost(best[1]["cpu_s"], best[1]["wall_s"]),
        peer_name="one worker",
        agree=len(prints) == 1,
        bar=f">= {REQUIRED}x wall",
        met=gain >= REQUIRED,
        note=f"{text / 1e6:.0f} MB of text; wall {gain:.2f}x less with two; workers' starts included",
    )


def _memory(work: Path, size: int) -> list[Row]:
    """The peak on a large shard beside that on one of a tenth of its size, and on one very long sample."""
    peaks: dict[str, list[dict[str, Any]]] = {}
    for part in (size // 10, size):
        (work / str(part)).mkdir(parents=True)
        lake, _ = make_lake(work / str(part), [part // 2_700])
        for kind in ("mapped", "two"):
            peaks.setdefault(kind, []).append(_made(lake, kind, work))
        shutil.rmtree(lake)
    rows = []
    for kind, (small, large) in peaks.items():
        grown = large["peak"] - small["peak"]
        rows.append(
            Row(
                name=f"energon export: memory, {NAMES[kind]}",
                ours=Cost(large["cpu_s"], large["wall_s"]),
                bar="+100 MB for 10x the shard",
                met=grown <= GROWTH,
                note=f"peak {large['peak'] / 1e6:.0f} MB on a shard of {size / 1e9:.2f} GB, {grown / 1e6:.0f} MB more"
                f" than on one of {size / 1e10:.2f} GB",
            )
        )
    (work / "long").mkdir()
    lake, _ = make_lake(work / "long", [1], LONG)
    said = _made(lake, "two", work)
    note = f"peak {said['peak'] / 1e6:.0f} MB, of which {said['start'] / 1e6:.0f} MB are the program"
    cost = Cost(said["cpu_s"], said["wall_s"])
    rows.append(
        Row(
            name="energon export: memory, one sample of 100 MB",
            ours=cost,
            agree=same(lake, "two"),
            bar="peak < 1 GB",
            met=said["peak"] < LIMIT,
            note=note,
        )
    )
    return rows
