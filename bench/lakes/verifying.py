"""What `gristmill verify` costs: with defaults beside an earlier version, and with shards derived again beside making.

Three lakes: one large shard, sixteen small ones, and the lake of `make demo`. All runs of a lake take turns, in another
order each time, and their CPU seconds are added up. An earlier version is compared if GRISTMILL_BENCH_BEFORE names a
checkout of it; it makes the lake that both verify. Every verify must find the lake sound.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.harness.cost import ROOT, Cost, timed
from bench.harness.row import Row
from bench.inputs.bpe import write_tokenizer
from bench.inputs.corpus import write_raw
from bench.inputs.shelf import PACKAGE, raw_folder, variables, write_shelf
from gristmill.lake.store.folder import FolderStore
from scripts.demo import acquire

TURNS = 3
MEGABYTES = 60
LAKES = {"one shard": 1, "16 shards": 16}
BEFORE = "GRISTMILL_BENCH_BEFORE"
SHARE = 1.05
DERIVED = ("--all", "--raw", "--reconvert", "1", "--retag", "1", "--remix", "1")
TARGETS = ("sources/bench", "mixes/bench", "token_caches/bench")


def run(
    work: Path,
    megabytes: float = MEGABYTES,
    turns: int = TURNS,
    lakes: Mapping[str, int] = LAKES,
    *,
    demo: bool = True,
) -> list[Row]:
    """Two rows a lake; `work` is an empty folder."""
    write_shelf(work, write_tokenizer(work / "tokenizer.json"))
    (work / PACKAGE / "mixes" / "whole.py").unlink()  # it would be making that no option derives
    rows: list[Row] = []
    for name, shards in lakes.items():
        raw = work / f"raw of {shards}"
        write_raw(raw_folder(raw), shards, round(megabytes * 1e6 / shards))
        rows += _rows(work, f"{name}, {megabytes} MB of text", raw, TARGETS, turns, {})
    if demo:
        raw = work / "raw of the demo"
        acquire(FolderStore(str(raw)), ROOT / ".cache" / "packages", offline=False)
        rows += _rows(work, "the demo", raw, (), turns, {"GRISTMILL_SHELVES": "gristmill"})
    return rows


def _rows(work: Path, name: str, raw: Path, targets: Sequence[str], turns: int, env: Mapping[str, str]) -> list[Row]:
    lake, old = work / "lake", work / "old lake"
    before = os.environ.get(BEFORE)
    works = {
        "make": lambda: _gristmill(work, ROOT, lake, env, "make", str(_fresh(raw, lake)), *targets),
        "derive": lambda: _gristmill(work, ROOT, lake, env, "verify", str(lake), *DERIVED),
        "verify": lambda: _gristmill(work, ROOT, old if before else lake, env, "verify", str(old if before else lake)),
    }
    if before:
        _gristmill(work, Path(before), old, env, "make", str(_fresh(raw, old)), *targets)
        works["before"] = lambda: _gristmill(work, Path(before), old, env, "verify", str(old))
    costs = {each: Cost(0, 0) for each in works}
    for turn in range(turns):
        for each in list(works)[
            :: -1 if turn % 2 else 1
        ]:  # the lake of the turn before is derived where making is last
            costs[each] += works[each]()
    made, derived = costs["make"], costs["derive"]
    share = round(derived.cpu_s / made.cpu_s, 3)
    found = [
        Row(
            name=f"verify, all derived again but tokens: {name}",
            ours=derived,
            peer=made,
            peer_name="making it",
            agree=True,  # timed() raises unless the lake is found sound
            bar="<= making",
            met=share <= 1,
            note=f"{share} of making, {turns} turns",
            detail={"share": share, "turns": turns},
        )
    ]
    rest = costs.get("before")
    share = round(costs["verify"].cpu_s / rest.cpu_s, 3) if rest else 0.0
    found.append(
        Row(
            name=f"verify with defaults: {name}",
            ours=costs["verify"],
            peer=rest,
            peer_name="before",
            agree=True,
            bar=f"<= {SHARE} of before" if rest else "none",
            met=share <= SHARE,
            note=f"{share} of before, {turns} turns" if rest else f"{BEFORE} names no checkout to compare with",
            detail={"share": share, "turns": turns},
        )
    )
    return found


def _fresh(raw: Path, lake: Path) -> Path:
    """A lake with raw data alone."""
    shutil.rmtree(lake, ignore_errors=True)
    shutil.copytree(raw, lake)
    return lake


def _gristmill(work: Path, checkout: Path, lake: Path, env: Mapping[str, str], *words: str) -> Cost:
    """What a command of a checkout costs. `-P`: without the folder that it runs in, which is this checkout."""
    own = {**variables(work, lake), "PYTHONPATH": f"{checkout}:{work}", **env}
    return timed([sys.executable, "-P", "-m", "gristmill", *words], work / "logs" / f"{words[0]}.log", own)
