"""A snapshot of 100,000 tiny shards: what planning it and closing its ledger cost, apart from the work on the shards.

`plan` claims the partition, reads what is recorded and lists; `ledger` assembles, checks and publishes. Three times
each, by processes of their own: for a fresh snapshot, for one in which nothing changed, and after one raw object has
changed. The work on the shards between them is real, and stands in the details.
"""

import gzip
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness.cost import Cost, answer, measured, peak_memory, timed
from bench.harness.row import Row
from bench.inputs.shelf import raw_folder, variables, write_shelf
from bench.stages.steps import step_of
from gristmill.environment import read_environment
from gristmill.execution.runner import Inline
from gristmill.execution.step import assemble_one, grind, plan, publish_one
from gristmill.recipes.catalogue import read_catalogue
from resources.lake import lake_resource

SHARDS = 100_000
SECONDS = 10.0
STEPS = (("documents", "convert"), ("one set of them", "tag:v0:length-1"))


def run(work: Path, shards: int = SHARDS, steps: Sequence[tuple[str, str]] = STEPS) -> list[Row]:
    """Three rows a step; `work` is an empty folder."""
    write_shelf(work)
    lake = work / "lake"
    env = variables(work, lake)
    raw = raw_folder(lake)
    raw.mkdir(parents=True)
    for number in range(shards):
        write_raw(raw, number, f"tiny document {number}")
    rows: list[Row] = []
    for turn, ground in (("fresh", shards), ("unchanged", 0), ("one changed", 1)):
        if turn == "one changed":
            write_raw(raw, shards // 2, "another tiny document")
        for name, step in steps:
            timed([sys.executable, "-m", "bench.lakes.many_shards", step], work / "step.log", env)
            rows.append(_row(f"{shards:,} shards, {name}, {turn}", answer(work / "step.log"), shards, ground))
    return rows


def write_raw(folder: Path, number: int, text: str) -> None:
    """One raw object of one document."""
    line = json.dumps({"id": f"d{number}", "text": text}).encode() + b"\n"
    (folder / f"{number:06d}.jsonl.gz").write_bytes(gzip.compress(line, 1, mtime=0))


def _row(name: str, said: dict[str, Any], shards: int, ground: int) -> Row:
    plan, ledger = Cost(**said["plan"]), Cost(**said["ledger"])
    both = plan + ledger
    return Row(
        name=name,
        ours=both,
        agree=said["shards"] == shards and said["ground"] == ground,
        bar=f"< {SECONDS:.0f} s wall",
        met=both.wall_s < SECONDS,
        note=f"plan {plan.cpu_s:.1f}, {plan.wall_s:.1f} s; ledger {ledger.cpu_s:.1f}, {ledger.wall_s:.1f} s;"
        f" peak {said['peaks'][-1] / 1e6:,.0f} MB",
        detail=said,
    )


def main() -> None:
    """Makes the step that the command line names, in this process."""
    environment = read_environment()
    catalogue = read_catalogue(environment.shelves)
    lake = lake_resource(environment).lake()
    step = step_of(sys.argv[1], catalogue, environment.shelves)
    with measured() as planning:
        planned = plan(step, lake, f"bench-{time.time_ns():x}")
    peaks = [peak_memory()]
    asset = planned.partitions[0].place.asset
    with measured() as grinding:
        tally = grind(planned, Inline(), lambda _: None)
    peaks.append(peak_memory())
    if tally.failed:
        raise SystemExit(tally.failed[0].message)
    del tally
    with measured() as closing:
        ledger = publish_one(planned, asset, assemble_one(step, planned, asset, {}))
    peaks.append(peak_memory())
    found = {
        "plan": planning[0].plain(),
        "grind": grinding[0].plain(),
        "ledger": closing[0].plain(),
        "peaks": peaks,  # after plan, grind and ledger
        "shards": ledger.table.shards,
        "ground": planned.items,
        "fingerprint": ledger.fingerprint,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
