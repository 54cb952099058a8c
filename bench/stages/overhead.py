"""What Dagster adds to a shard: a thousand small shards in one run, against the stage function called alone.

Both grind the same raw objects on the same engine, into lakes of their own. Imports are counted in neither: they are
paid once a run (see `unchanged`), whatever the number of shards. Each is done three times, in turns; the best counts.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

from bench.harness.cost import Cost, answer, timed
from bench.harness.place import SOURCE
from bench.harness.row import Row
from bench.inputs.shelf import new_lake, variables, write_shelf

SHARDS = 1_000
SIZE = 5_000  # bytes of text a shard
TURNS = 3
MILLISECONDS = 5.0
ASSET = f"sources/{SOURCE}/v0/documents"


def run(work: Path, shards: int = SHARDS) -> list[Row]:
    """The row; `work` is an empty folder."""
    write_shelf(work)
    lake, _, _ = new_lake(work, shards, SIZE)
    alone: list[Cost] = []
    dagster: list[Cost] = []
    fingerprints: set[str] = set()
    for turn in range(TURNS):
        for kind, way, costs in (("alone", _alone, alone), ("dagster", _dagster, dagster)):
            copy = work / f"{kind}-{turn}"
            shutil.copytree(lake, copy)
            cost, fingerprint = way(work, copy)
            costs.append(cost)
            fingerprints.add(fingerprint)
    ours, peer = _best(dagster), _best(alone)
    cpu = (ours.cpu_s - peer.cpu_s) * 1_000 / shards
    wall = (ours.wall_s - peer.wall_s) * 1_000 / shards
    return [
        Row(
            name="overhead",
            ours=ours,
            peer=peer,
            peer_name="the stage function alone",
            agree=len(fingerprints) == 1,
            bar=f"<= {MILLISECONDS:.0f} ms a shard more",
            met=max(cpu, wall) <= MILLISECONDS,
            note=f"{shards:,} shards; Dagster adds {cpu:.2f} ms CPU, {wall:.2f} ms wall a shard",
            detail={"cpu_ms_a_shard": round(cpu, 3), "wall_ms_a_shard": round(wall, 3)},
        )
    ]


def _alone(work: Path, lake: Path) -> tuple[Cost, str]:
    log = work / f"{lake.name}.log"
    timed([sys.executable, "-m", "bench.stages.steps", "convert"], log, variables(work, lake))
    (said,) = answer(log)
    return _cost(said), said["made"][ASSET]["fingerprint"]


def _dagster(work: Path, lake: Path) -> tuple[Cost, str]:
    log = work / f"{lake.name}.log"
    timed([sys.executable, "-m", "bench.stages.drive", "--inline", "arrive", ASSET], log, variables(work, lake))
    said = answer(log)[-1]
    return _cost(said), said["told"][ASSET]["fingerprint"]


def _cost(said: dict[str, Any]) -> Cost:
    return Cost(said["cpu_s"], said["wall_s"])


def _best(costs: list[Cost]) -> Cost:
    """The least of each: noise only adds."""
    return Cost(min(cost.cpu_s for cost in costs), min(cost.wall_s for cost in costs))
