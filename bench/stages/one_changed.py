"""One raw file of a thousand is changed: the journey again, through Dagster, against the journey that made it all.

Journey: v0, its three attribute sets, v1, its three sets, a mix and its token cache; every process and its children
count. The file is changed three times; the median counts. Then a lake is made from scratch with the file as it is
then: its ledgers must have the same fingerprints.
"""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.harness.cost import Cost, answer, timed
from bench.harness.place import SNAPSHOT
from bench.harness.row import Row
from bench.inputs.bpe import write_tokenizer
from bench.inputs.shelf import new_lake, raw_folder, variables, write_shelf
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.folder import FolderStore

SHARDS = 1_000
MEGABYTES = 960
SHARE = 0.02
TURNS = 3
CHANGED = "shard-0417"
JOURNEY = ("arrive", "train", "job:bench_journey", "mixes/bench/documents/bench,token_caches/bench/bench-1/bench")
SETS = ("gopher-1", "language-1", "length-1")
DOCUMENTS = (
    "sources/bench/v0/documents",
    *(f"sources/bench/v0/attributes/{name}" for name in SETS),
    "sources/bench/v1/documents",
    *(f"sources/bench/v1/attributes/{name}" for name in SETS),
    "mixes/bench/documents/bench",
)
CACHE = "token_caches/bench/bench-1/bench"
ASSETS = (*DOCUMENTS, CACHE)

Tables = Mapping[str, Mapping[str, Shard]]


def run(work: Path, shards: int = SHARDS, megabytes: float = MEGABYTES) -> list[Row]:
    """The row; `work` is an empty folder."""
    write_shelf(work, write_tokenizer(work / "tokenizer.json"))
    lake, env, size = new_lake(work, shards, round(megabytes * 1e6 / shards))
    here = [sys.executable, "-m", "bench.stages.drive"]
    first = timed([*here, *JOURNEY], work / "first.log", env)
    changed = CHANGED if shards > 417 else "shard-0000"
    costs: list[Cost] = []
    wrong: list[str] = []
    for _ in range(TURNS):
        before = tables(lake)
        change(raw_folder(lake) / f"{changed}.jsonl")
        costs.append(timed([*here, *JOURNEY], work / "second.log", env))
        wrong += beyond(before, tables(lake), changed)
        wrong += _miscounted(answer(work / "second.log"), shards)
    scratch = work / "scratch"
    shutil.copytree(raw_folder(lake), raw_folder(scratch))
    timed([*here, *JOURNEY], work / "scratch.log", variables(work, scratch))
    wrong += _differing(lake, scratch)
    second = Cost(median(cost.cpu_s for cost in costs), median(cost.wall_s for cost in costs))
    share = second.cpu_s / first.cpu_s
    return [
        Row(
            name="one-changed",
            ours=second,
            peer=first,
            peer_name="the whole journey",
            agree=not wrong,
            bar=f"<= {SHARE:.0%} of the CPU",
            met=share <= SHARE,
            note=wrong[0] if wrong else _note(share, size, shards, work),
            detail={"share": round(share, 4), "wrong": wrong, "second": _phases(work / "second.log")},
        )
    ]


def change(path: Path) -> None:
    """Puts a sentence into the first document."""
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first.replace(b'"text":"', b'"text":"One sentence more. ', 1), *rest]))


def tables(lake: Path) -> Tables:
    """The tables of all partitions, by asset and shard."""
    store = FolderStore(str(lake))
    return {asset: {row.name: row for row in read_ledger(store, place(asset, SNAPSHOT))[1]} for asset in ASSETS}


def beyond(before: Tables, after: Tables, changed: str) -> list[str]:
    """What changed besides the descendants of one shard (or did not, of them), in words."""
    wrong: list[str] = []
    for asset in DOCUMENTS:
        names = {n for n in before[asset].keys() | after[asset].keys() if before[asset].get(n) != after[asset].get(n)}
        if names != {changed}:
            wrong.append(f"{asset}: {', '.join(sorted(names)[:5]) or 'no shard'} changed, not {changed} alone")
    parts = [name for name, row in after[CACHE].items() if before[CACHE].get(name) != row]
    if len(parts) != 1 or changed not in after[CACHE][parts[0]].extra["shards"]:
        wrong.append(f"{CACHE}: parts {parts} changed, not the one that holds {changed}")
    return wrong


def _miscounted(said: Sequence[Mapping[str, Any]], shards: int) -> list[str]:
    """What the runs say that they ground, where it is not one shard of each asset."""
    told = {asset: facts for each in said for asset, facts in each.get("told", {}).items()}
    wrong = [f"{asset}: no run made it" for asset in ASSETS if asset not in told]
    for asset in DOCUMENTS:
        facts = told.get(asset, {})
        if (facts.get("shards ground"), facts.get("shards kept")) != (1, shards - 1):
            wrong.append(f"{asset}: {facts.get('shards ground')} ground, {facts.get('shards kept')} kept")
    facts = told.get("facts", {})
    if told.get(CACHE, {}).get("shards ground") != 1 or facts.get("shards tokenized") != 1:
        wrong.append(f"{CACHE}: {facts.get('shards tokenized')} shards were tokenized")
    return wrong


def _differing(lake: Path, scratch: Path) -> list[str]:
    """Assets whose fingerprints are not those of the lake that was made from scratch."""
    stores = FolderStore(str(lake)), FolderStore(str(scratch))
    wrong: list[str] = []
    for asset in ASSETS:
        one, other = (read_ledger(store, place(asset, SNAPSHOT))[0].fingerprint for store in stores)
        if one != other:
            wrong.append(f"{asset}: fingerprint {one[:8]}, from scratch {other[:8]}")
    return wrong


def _phases(log: Path) -> dict[str, dict[str, float]]:
    """What each part of the last second journey cost."""
    return {said["word"]: {"cpu_s": said["cpu_s"], "wall_s": said["wall_s"]} for said in answer(log)}


def _note(share: float, size: int, shards: int, work: Path) -> str:
    start = answer(work / "second.log")[0]["cpu_s"]
    return (
        f"{share:.2%} of the CPU of {shards:,} shards ({size / 1e6:.0f} MB of text); imports and definitions are"
        f" {start:.2f} s of it"
    )
