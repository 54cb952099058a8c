"""A takedown in a lake of 10 million documents: every place of one id, and of a thousand, in a fresh process.

The lake is the one of bench/lakes/trace.py: two versions, a set, a mix and a token cache in 100 shards. The places are
compared with those where the documents were put.
"""

import json
import sys
from pathlib import Path
from typing import Any

from bench.harness.cost import Cost, timed
from bench.harness.row import Row
from bench.lakes.trace import CACHE, DROPPED, SET, STREAM, V0, V1, Maker
from gristmill.lake.store.folder import FolderStore

SHARDS, ROWS = 100, 100_000
SECONDS = 2.0
MANY = 1000


def run(work: Path, shards: int = SHARDS, rows: int = ROWS) -> list[Row]:
    """Two rows; `work` is an empty folder."""
    lake = work / "lake"
    lake.mkdir()
    Maker(FolderStore(str(lake)), shards, rows, ["takedowns"]).make()
    documents = shards * rows
    middle = documents // 2 + 1  # neither dropped nor held out
    many = list(range(1, documents, documents // min(MANY, documents // 4)))
    return [_row(work, lake, [middle], documents, rows, SECONDS), _row(work, lake, many, documents, rows, 10 * SECONDS)]


def _row(work: Path, lake: Path, numbers: list[int], documents: int, rows: int, bar: float) -> Row:
    """The command three times; the middle one counts."""
    ids = work / "ids.jsonl"
    ids.write_text("".join(json.dumps({"source": "pages", "id": f"doc-{number}"}) + "\n" for number in numbers))
    costs: list[Cost] = []
    agree = True
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "gristmill",
        "takedown",
        lake,
        "--ids",
        ids,
        "--dry-run",
        "--json",
    ]
    for turn in range(3):
        log = work / f"takedown-{turn}.log"
        costs.append(timed([*command, "--shelves", "gristmill"], log, code=1))  # its lake has no recipes
        found = [json.loads(line) for line in Path(f"{log}.out").read_text().splitlines()]
        agree &= _right(found, numbers, rows)
    middle = sorted(costs, key=lambda cost: cost.wall_s)[1]
    return Row(
        name=f"takedown of {len(numbers):,} of {documents:,} documents: all places",
        ours=middle,
        agree=agree,
        bar=f"< {bar:.0f} s wall",
        met=middle.wall_s < bar,
        note=f"{len(found)} places",
        detail={"turns": [cost.plain() for cost in costs]},
    )


def _right(found: list[dict[str, Any]], numbers: list[int], rows: int) -> bool:
    """Whether the places are those where the documents were put."""
    expected = set()
    for number in numbers:
        shard, row = divmod(number, rows)
        kept = row - row // DROPPED - 1
        places = {V0.asset: row, SET.asset: row}
        if number % DROPPED:
            places |= {V1.asset: kept, STREAM.asset: kept}
        expected |= {(f"doc-{number}", asset, f"{shard:03d}.jsonl.gz: row {at}") for asset, at in places.items()}
        expected.add((f"doc-{number}", "sources/pages/raw", ""))
        if number % DROPPED:
            expected.add((f"doc-{number}", CACHE.asset, ""))
    by_row = {"documents", "attributes", "mixes"}
    ends = (each["where"].rpartition("/")[2] if each["area"] in by_row else "" for each in found)
    return {(each["id"], each["asset"], end) for each, end in zip(found, ends, strict=True)} == expected
