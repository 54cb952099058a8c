"""A re-run through Dagster of a partition of a thousand shards in which nothing has changed, from a fresh process."""

import sys
from pathlib import Path

from bench.harness.cost import Cost, answer, timed
from bench.harness.place import SOURCE
from bench.harness.row import Row
from bench.inputs.shelf import new_lake, write_shelf

SHARDS = 1_000
SIZE = 5_000  # bytes of text a shard
TURNS = 3
SECONDS = 5.0
ASSET = f"sources/{SOURCE}/v0/documents"


def run(work: Path, shards: int = SHARDS) -> list[Row]:
    """The row; `work` is an empty folder."""
    write_shelf(work)
    _, env, _ = new_lake(work, shards, SIZE)
    here = [sys.executable, "-m", "bench.stages.drive"]
    first = timed([*here, "arrive", ASSET], work / "first.log", env)
    made = answer(work / "first.log")[-1]["told"][ASSET]
    again: list[Cost] = []
    told = []
    for _ in range(TURNS):
        again.append(timed([*here, ASSET], work / "again.log", env))
        told.append(answer(work / "again.log")[-1]["told"][ASSET])
    ours = Cost(min(cost.cpu_s for cost in again), min(cost.wall_s for cost in again))
    kept = {"fingerprint": made["fingerprint"], "shards ground": 0, "shards kept": shards}
    start = answer(work / "again.log")[0]
    return [
        Row(
            name="unchanged",
            ours=ours,
            peer=first,
            peer_name="the first run",
            agree=made["shards ground"] == shards and all(each == kept for each in told),
            bar=f"< {SECONDS:.0f} s wall",
            met=ours.wall_s < SECONDS,
            note=f"{shards:,} shards kept, {told[-1]['shards ground']} ground; {start['wall_s']:.2f} s of it to import"
            " and define",
        )
    ]
