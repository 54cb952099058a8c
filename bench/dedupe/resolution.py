"""Resolving duplicates: hashes a CPU-second, memory, and what one new snapshot costs beside 20 old ones.

The fingerprints are those of numbers (bench/inputs/fingerprints.py), so it is known how many must be marked. Only the
row of one new snapshot begins with documents, because the cost of fingerprints is part of what it compares.
"""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.dedupe.resolve import recipe_of
from bench.harness.cost import Cost, answer, timed
from bench.harness.place import SOURCE
from bench.harness.row import Row
from bench.inputs.corpus import write_raw
from bench.inputs.fingerprints import Made, write_snapshot
from bench.inputs.shelf import convert, write_shelf
from gristmill.lake.store.open import Lake

LIMIT = 512_000_000
PARAGRAPHS = 50_000_000
SHARE = 0.15
"""The most that one new snapshot beside 20 old ones may cost, of doing all anew."""


def run(work: Path) -> list[Row]:
    """Three rows; `work` is an empty folder. GRISTMILL_BENCH_HASHES takes another number than 50 million."""
    hashes = int(float(os.environ.get("GRISTMILL_BENCH_HASHES", str(PARAGRAPHS))))
    return [rates(work / "rates", hashes // 5), memory(work / "memory", hashes), one_new(work / "new")]


def rates(work: Path, hashes: int) -> Row:
    """How many hashes a CPU-second each step takes: four snapshots, one process."""
    keys = [f"s{number}" for number in range(4)]
    options = {"buckets": 16, "memory": 256, "rounds": [keys]}
    made = fill(work, keys, hashes // 4, options)
    said, cost = resolve(work, options, [*(f"runs:{key}" for key in keys), "verdicts:1", *(f"marks:{k}" for k in keys)])
    kinds = {kind: sum(each["cpu_s"] for each in said if each["step"].startswith(kind)) for kind in ("r", "v", "m")}
    rate = {kind: sum(each.hashes for each in made) / seconds / 1e6 for kind, seconds in kinds.items()}
    shutil.rmtree(work / "lake")
    return Row(
        name="dedupe, rates",
        ours=cost,
        bar="none",
        met=True,
        agree=marked(said) == sum(each.repeated for each in made),
        note=f"million hashes a CPU-second: runs {rate['r']:.1f}, verdicts {rate['v']:.1f}, marks {rate['m']:.1f}",
        detail={"steps": said},
    )


def memory(work: Path, hashes: int) -> Row:
    """Peak memory of two workers and the process that drives them, by the option."""
    keys = ["s0", "s1"]
    options = {"buckets": 16, "memory": 128, "rounds": [keys], "workers": 2}
    made = fill(work, keys, hashes // 2, options)
    said, cost = resolve(work, options, [*(f"runs:{key}" for key in keys), "verdicts:1", *(f"marks:{k}" for k in keys)])
    peak = max(each["peak"] for each in said)
    spilled = sum(each.get("bytes spilled", 0) for each in said)
    shutil.rmtree(work / "lake")
    return Row(
        name=f"dedupe, {hashes / 1e6:.0f} million paragraphs",
        ours=cost,
        bar="peak < 512 MB",
        met=peak < LIMIT,
        agree=marked(said) == sum(each.repeated for each in made),
        note=f"peak {peak / 1e6:.0f} MB of three processes, {spilled / 1e6:.0f} MB spilled, memory=128, two workers",
        detail={"steps": said},
    )


def one_new(work: Path, old: int = 20, size: int = 8_000_000) -> Row:
    """CPU of a new snapshot beside old ones, and of all of them anew. Both marks of the new one must be equal."""
    keys = [f"s{number:02}" for number in range(old + 1)]
    work.mkdir()
    write_shelf(work)
    for number, key in enumerate(keys):
        write_raw(work / "lake" / "sources" / SOURCE / "raw" / key, 1, size, seed=number)
    convert(work, work / "lake")
    shutil.copytree(work / "lake", work / "anew" / "lake")
    whole = {"buckets": 16, "rounds": [keys]}
    anew = resolve(work / "anew", whole, [each for verb in ("prints", "runs") for each in _all(verb, keys)] + [
        "verdicts:1", *_all("marks", keys)
    ])  # fmt: skip
    split = {"buckets": 16, "rounds": [keys[:-1], keys[-1:]]}
    before = [each for verb in ("prints", "runs") for each in _all(verb, keys[:-1])]
    resolve(work, split, [*before, "verdicts:1", *_all("marks", keys[:-1])])
    last = keys[-1]
    added = resolve(work, split, [f"prints:{last}", f"runs:{last}", "verdicts:2", f"marks:{last}"])
    ours, theirs = (sum(each["cpu_s"] for each in said) for said, _ in (added, anew))
    shutil.rmtree(work)
    return Row(
        name=f"dedupe, one new beside {old}",
        ours=Cost(ours, sum(each["wall_s"] for each in added[0])),
        peer=Cost(theirs, sum(each["wall_s"] for each in anew[0])),
        peer_name="all anew",
        agree=added[0][-1]["rows"] == anew[0][-1]["rows"],
        bar=f"<= {SHARE:.0%} of the CPU",
        met=ours <= SHARE * theirs,
        note=f"{ours / theirs:.1%} of the CPU; {added[0][1]['rows']:,} new paragraphs",
        detail={"added": added[0], "anew": anew[0]},
    )


def _all(verb: str, keys: Sequence[str]) -> list[str]:
    return [f"{verb}:{key}" for key in keys]


def fill(work: Path, keys: Sequence[str], hashes: int, options: dict[str, Any]) -> list[Made]:
    """Writes snapshots of so many hashes each into a new lake."""
    lake = work / "lake"
    lake.mkdir(parents=True)
    store, first = Lake(str(lake)).store(), 0
    made: list[Made] = []
    for key in keys:
        made.append(write_snapshot(store, recipe_of(options), SOURCE, key, first=first, hashes=hashes))
        first += made[-1].hashes - made[-1].repeated
    return made


def resolve(work: Path, options: dict[str, Any], steps: Sequence[str]) -> tuple[list[dict[str, Any]], Cost]:
    """Runs steps in a process of their own: what it says of each, and what it cost."""
    log = work / "resolve.log"
    cost = timed([sys.executable, "-m", "bench.dedupe.resolve", work / "lake", json.dumps(options), *steps], log)
    return answer(log), cost


def marked(said: Sequence[dict[str, Any]]) -> int:
    """How many hashes were marked."""
    return sum(int(each["rows"]) for each in said if each["step"].startswith("marks"))
