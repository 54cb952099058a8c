"""What a cluster adds to a shard: a thousand trivial shards on Dask and on Ray, against the same in one process.

Each has one worker on this machine. The stage is the conversion of 1 KB; lakes, plan and commit are the same.
Counted is everything: the process that runs the step, and scheduler, workers and whatever else the cluster runs. What
is paid once a run or a worker is not: imports and the connection, which a first step of a few shards has paid. Each
is done three times, in turns; the best counts.
"""

import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from bench.harness.cost import Cost, answer, measured, timed
from bench.harness.place import SNAPSHOT, SOURCE
from bench.harness.row import Row
from bench.inputs.shelf import new_lake, variables, write_shelf
from bench.stages.clusters import DaskCluster, RayCluster, descendants
from gristmill.engines.dask import DaskEngine
from gristmill.engines.ray import RayEngine
from gristmill.environment import read_environment
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.execution.work import Engine
from gristmill.lake.store.open import Lake
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.conversion.step import ConversionStep

SHARDS = 1_000
SIZE = 1_000  # bytes of text a shard
WARM = 8
TURNS = 3
MILLISECONDS = 5.0
KINDS = ("inline", "dask", "ray")


def run(work: Path, shards: int = SHARDS) -> list[Row]:
    """The rows; `work` is an empty folder."""
    write_shelf(work)
    lake, _, _ = new_lake(work, shards, SIZE)
    warm = _few(lake, work / "warm")
    costs: dict[str, list[Cost]] = {kind: [] for kind in KINDS}
    fingerprints: set[str] = set()
    with _clusters(work) as clusters:
        for turn in range(TURNS):
            for kind in KINDS:
                copy = work / f"{kind}-{turn}"
                shutil.copytree(lake, copy)
                shutil.copytree(warm, work / f"{kind}-{turn}-warm")
                cost, fingerprint = _measure(work, copy, kind, clusters.get(kind))
                costs[kind].append(cost)
                fingerprints.add(fingerprint)
    alone = _best(costs["inline"])
    return [_row(kind, _best(costs[kind]), alone, shards, agree=len(fingerprints) == 1) for kind in KINDS[1:]]


def _row(kind: str, ours: Cost, alone: Cost, shards: int, *, agree: bool) -> Row:
    cpu = (ours.cpu_s - alone.cpu_s) * 1_000 / shards
    wall = (ours.wall_s - alone.wall_s) * 1_000 / shards
    return Row(
        name=f"engine-{kind}",
        ours=ours,
        peer=alone,
        peer_name="one process",
        agree=agree,
        bar=f"<= {MILLISECONDS:.0f} ms a shard more",
        met=max(cpu, wall) <= MILLISECONDS,
        note=f"{shards:,} shards; {kind} adds {cpu:.2f} ms CPU, {wall:.2f} ms wall a shard",
        detail={"cpu_ms_a_shard": round(cpu, 3), "wall_ms_a_shard": round(wall, 3)},
    )


def _few(lake: Path, into: Path) -> Path:
    """A lake with the first few raw shards of another."""
    folder = Path("sources", SOURCE, "raw", SNAPSHOT)
    (into / folder).mkdir(parents=True)
    for path in sorted((lake / folder).iterdir())[:WARM]:
        shutil.copyfile(path, into / folder / path.name)
    return into


@contextmanager
def _clusters(work: Path) -> Iterator[dict[str, DaskCluster | RayCluster]]:
    token = work / "token"
    token.write_text(secrets.token_hex(32))
    os.environ.update({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)})
    found: dict[str, DaskCluster | RayCluster] = {}
    try:
        found["dask"] = DaskCluster(work, work, workers=1)
        found["ray"] = RayCluster(work, work, workers=1)
        yield found
    finally:
        for each in found.values():
            each.end()


def _measure(work: Path, lake: Path, kind: str, cluster: DaskCluster | RayCluster | None) -> tuple[Cost, str]:
    log = work / f"{lake.name}.log"
    more = [cluster.address, *map(str, cluster.roots)] if cluster else []
    timed([sys.executable, "-m", "bench.stages.engines", kind, *more], log, variables(work, lake))
    said = answer(log)
    return Cost(said["cpu_s"], said["wall_s"]), said["fingerprint"]


def _best(costs: Sequence[Cost]) -> Cost:
    """The least of each: noise only adds."""
    return Cost(min(cost.cpu_s for cost in costs), min(cost.wall_s for cost in costs))


def main() -> None:
    """One step on one engine: `python -m bench.stages.engines <kind> [<address> <process id>...]`; the cost as JSON."""
    kind, *rest = sys.argv[1:]
    environment = read_environment()
    if kind == "inline":
        _tell(Inline(), environment.lake, environment.shelves, [])
        return
    engine: DaskEngine | RayEngine = DaskEngine(rest[0]) if kind == "dask" else RayEngine(rest[0])
    with closing(engine):
        _tell(engine, environment.lake, environment.shelves, [int(pid) for pid in rest[1:]])


def _tell(engine: Engine, lake: str, shelves: tuple[str, ...], roots: Sequence[int]) -> None:
    step = ConversionStep(read_catalogue(shelves).sources[SOURCE], SNAPSHOT, shelves)
    make(step, Lake(f"{lake}-warm"), engine, f"bench-{time.time_ns():x}", lambda _: None)
    before = _cpu_below(roots)
    with measured() as costs:
        (ledger,) = make(step, Lake(lake), engine, f"bench-{time.time_ns():x}", lambda _: None).values()
    cost = costs[0] + Cost(_cpu_below(roots) - before, 0)
    print(json.dumps({**cost.plain(), "fingerprint": ledger.fingerprint}))


def _cpu_below(roots: Sequence[int]) -> float:
    """CPU seconds that these processes, and those below them, have used so far."""
    ticks = 0
    for pid in [*roots, *(below for root in roots for below in descendants(root))]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # user and system; proc(5)
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
