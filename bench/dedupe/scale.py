"""As many fingerprints as are resolved in 20 minutes, up to a billion: the rates of docs/scale.md.

Snapshots of 20 million hashes are written and merged into runs, one after another. The hashes of a snapshot are removed
when its runs are made, because nothing reads them again. GRISTMILL_BENCH_MINUTES gives less time,
GRISTMILL_BENCH_HASHES fewer fingerprints.
"""

import os
import shutil
import time
from pathlib import Path
from typing import Any

from bench.dedupe.resolution import marked, resolve
from bench.dedupe.resolve import recipe_of
from bench.harness.cost import Cost
from bench.harness.place import SOURCE
from bench.harness.row import Row
from bench.inputs.fingerprints import write_snapshot
from gristmill.lake.store.open import Lake

BILLION = 1_000_000_000
SNAPSHOT = 20_000_000
MINUTES = 20.0
WRITING = 0.6
"""The share of the time after which no snapshot is added: the rest is for verdicts and marks."""
DISK = 40
"""Bytes of disk for a hash, at most."""


def run(work: Path) -> list[Row]:
    """One row; `work` is an empty folder."""
    limit = 60 * float(os.environ.get("GRISTMILL_BENCH_MINUTES", str(MINUTES)))
    most = min(int(float(os.environ.get("GRISTMILL_BENCH_HASHES", str(BILLION)))), shutil.disk_usage(work).free // DISK)
    each = min(SNAPSHOT, most)
    options: dict[str, Any] = {"buckets": 64, "memory": 512, "workers": 2}
    lake = work / "lake"
    lake.mkdir()
    store, recipe = Lake(str(lake)).store(), recipe_of(options)
    begun, first, repeated, keys = time.monotonic(), 0, 0, list[str]()
    said: list[dict[str, Any]] = []
    cost = Cost(0, 0)
    while (len(keys) + 1) * each <= most and (not keys or time.monotonic() - begun < WRITING * limit):
        keys.append(f"s{len(keys):04}")
        made = write_snapshot(store, recipe, SOURCE, keys[-1], first=first, hashes=each)
        first, repeated = first + made.hashes - made.repeated, repeated + made.repeated
        steps, spent = resolve(work, options, [f"runs:{keys[-1]}"])
        said, cost = said + steps, cost + spent
        for path in (lake / "dedupe" / recipe.name / "fingerprints" / SOURCE / keys[-1]).glob("*/hashes"):
            path.unlink()
    options["rounds"] = [keys]
    steps, spent = resolve(work, options, ["verdicts:1", *(f"marks:{key}" for key in keys)])
    said, cost = said + steps, cost + spent
    return [_row(len(keys) * each, said, cost, marked(said) == repeated, time.monotonic() - begun)]


def _row(hashes: int, said: list[dict[str, Any]], cost: Cost, agree: bool, seconds: float) -> Row:  # noqa: FBT001 - one call
    kinds = {verb: [each for each in said if each["step"].startswith(verb)] for verb in ("runs", "verdicts", "marks")}
    rates = {verb: hashes / sum(each["cpu_s"] for each in steps) / 1e6 for verb, steps in kinds.items()}
    sizes = {verb: sum(each["bytes"] for each in steps) / hashes for verb, steps in kinds.items()}
    peak = max(each["peak"] for each in said)
    spilled = sum(each.get("bytes spilled", 0) for each in said)
    parts = ", ".join(f"{verb} {rates[verb]:.1f} M a CPU-second, {sizes[verb]:.1f} bytes" for verb in kinds)
    return Row(
        name=f"dedupe, {hashes / 1e6:,.0f} million fingerprints",
        ours=cost,
        agree=agree,
        bar="none",
        met=True,
        note=f"{parts} a hash; peak {peak / 1e6:.0f} MB; {spilled / 1e6:.0f} MB spilled; {seconds:.0f} s in all",
        detail={"steps": said},
    )
