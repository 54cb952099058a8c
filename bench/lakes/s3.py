"""A lake on an S3 server of this machine against one in a folder: the whole journey of a snapshot, two workers.

Journey: v0, its three attribute sets, v1, its three sets, a mix and its token cache; every process and its children
count, the server does not: its CPU is told beside, for it takes it from the same cores. Both lakes must hold the same
objects, byte for byte. Folder and bucket take turns; the best of each counts.
"""

import hashlib
import importlib
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.harness.cost import ROOT, Cost, answer, timed
from bench.harness.row import Row
from bench.inputs.bpe import write_tokenizer
from bench.inputs.shelf import new_lake, write_shelf
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Store

SHARDS = 8
MEGABYTES = 960
WORKERS = 2
TURNS = 2
SHARE = 0.20
SETS = "gopher-1,language-1,length-1"
JOURNEY = ("convert", f"tag:v0:{SETS}", "revise", f"tag:v1:{SETS}", "mix:bench", "spell:bench")


def run(work: Path, shards: int = SHARDS, megabytes: float = MEGABYTES, turns: int = TURNS) -> list[Row]:
    """The row; `work` is an empty folder."""
    write_shelf(work, write_tokenizer(work / "tokenizer.json"))
    lake, env, size = new_lake(work, shards, round(megabytes * 1e6 / shards))
    server = _server(work)
    folder: list[Cost] = []
    bucket: list[Cost] = []
    served: list[float] = []
    trees: list[dict[str, str]] = []
    steps: dict[str, Any] = {}
    try:
        for turn in range(turns):
            copy = work / f"folder-{turn}"
            shutil.copytree(lake, copy)
            store = server.store(f"lake-{turn}")
            _copy(FolderStore(str(lake)), store)
            folder.append(_journey(work / f"folder-{turn}.log", {**env, "GRISTMILL_LAKE": str(copy)}))
            before = _cpu_of(server.pid)
            bucket.append(
                _journey(work / f"bucket-{turn}.log", {**env, **server.environment, "GRISTMILL_LAKE": store.url})
            )
            served.append(_cpu_of(server.pid) - before)
            trees += [_tree(FolderStore(str(copy))), _tree(store)]
            steps = {kind: _walls(work / f"{kind}-{turn}.log") for kind in ("folder", "bucket")}
            shutil.rmtree(copy)
            store.delete([entry.path for entry in store.list("")])
    finally:
        server.close()
    ours, peer = _best(bucket), _best(folder)
    more = ours.wall_s / peer.wall_s - 1
    note = (
        f"{size / 1e6:.0f} MB in {shards} shards; bucket {more:+.1%} wall, {ours.cpu_s / peer.cpu_s - 1:+.1%} CPU,"
        f" besides {min(served):.1f} CPU s of the server"
    )
    return [
        Row(
            name="s3",
            ours=ours,
            peer=peer,
            peer_name="the same journey in a folder",
            agree=all(tree == trees[0] for tree in trees),
            bar=f"<= {SHARE:.0%} more wall",
            met=more <= SHARE,
            note=note,
            detail={"more_wall": round(more, 4), "server_cpu_s": served, "objects": len(trees[0]), "steps": steps},
        )
    ]


def _server(work: Path) -> Any:
    """The S3 server of the tests."""
    sys.path.append(str(ROOT / "tests" / "support" / "servers"))
    server = importlib.import_module("seaweed").Seaweed(work / "seaweed")
    os.environ.update(server.environment)
    return server


def _journey(log: Path, env: Mapping[str, str]) -> Cost:
    return timed([sys.executable, "-m", "bench.stages.steps", f"--workers={WORKERS}", *JOURNEY], log, env)


def _walls(log: Path) -> dict[str, list[float]]:
    """CPU and wall seconds of each step."""
    return {each["step"]: [each["cpu_s"], each["wall_s"]] for each in answer(log)}


def _copy(lake: Store, store: Store) -> None:
    for entry in lake.list(""):
        upload = store.upload(entry.path)
        for piece in lake.stream(entry.path):
            upload.write(piece)
        upload.close()


def _tree(store: Store) -> dict[str, str]:
    """sha256 of every object but the notes about runs, which hold stamps of this very lake."""
    found: dict[str, str] = {}
    for entry in store.list(""):
        if not entry.path.endswith(".run.json"):
            digest = hashlib.sha256()
            for piece in store.stream(entry.path):
                digest.update(piece)
            found[entry.path] = digest.hexdigest()
    return found


def _cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _best(costs: list[Cost]) -> Cost:
    """The least of each: noise only adds."""
    return Cost(min(cost.cpu_s for cost in costs), min(cost.wall_s for cost in costs))
