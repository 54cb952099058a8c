"""Gopher's rules over the same documents: Dolma's `dolma tag --taggers gopher_v1` against our set `gopher-1`.

Ours is the platform's step over a lake, plan to ledger, in one process; Dolma is its command with one process. Both
read the same gzip shards and write gzip attributes; both start from nothing. Every attribute of every document is
compared before a ratio is given.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness.cost import timed
from bench.harness.environments import dolma
from bench.harness.place import SNAPSHOT, SOURCE
from bench.harness.row import Row
from bench.inputs.shelf import new_lake, write_shelf

SHARDS = 8
MEGABYTES = 25
REQUIRED = 4.0


def run(work: Path) -> list[Row]:
    """The row; `work` is an empty folder."""
    write_shelf(work)
    lake, env, size = new_lake(work, SHARDS, MEGABYTES * 1_000_000 // SHARDS)
    here = [sys.executable, "-m", "bench.stages.steps"]
    timed([*here, "convert"], work / "convert.log", env)
    ours = timed([*here, "tag:v0:gopher-1"], work / "ours.log", env)
    documents = work / "peer" / "documents"
    documents.mkdir(parents=True)
    made = lake / "sources" / SOURCE / "v0"
    for shard in sorted((made / "documents" / SNAPSHOT).iterdir()):
        (documents / shard.name).hardlink_to(shard)
    program = dolma().with_name("dolma")
    command: list[str | Path] = [program, "tag", "--documents", f"{documents}/*.gz", "--experiment", "peer"]
    peer = timed([*command, "--taggers", "gopher_v1", "--processes", "1"], work / "dolma.log")
    attributes = made / "attributes" / "gopher-1" / SNAPSHOT
    compared, different = compare(attributes, work / "peer" / "attributes" / "peer")
    return [
        Row(
            name="tagging",
            ours=ours,
            peer=peer,
            peer_name="dolma tag gopher_v1",
            agree=compared > 0 and not different,
            bar=f">= {REQUIRED:.0f}x CPU (10x to come)",
            met=peer.cpu_s / ours.cpu_s >= REQUIRED,
            note=different or f"{size / 1e6:.0f} MB of text, {compared:,} documents compared",
        )
    ]


def compare(ours: Path, theirs: Path) -> tuple[int, str]:
    """How many documents have been compared, and the first difference, if any."""
    if sorted(path.name for path in ours.iterdir()) != sorted(path.name for path in theirs.iterdir()):
        return 0, "the shards differ"
    compared = 0
    for shard in sorted(ours.iterdir()):
        mine, other = list(_attributes(shard)), list(_attributes(theirs / shard.name))
        if len(mine) != len(other):
            return compared, f"{shard.name}: {len(mine)} rows, the peer has {len(other)}"
        for row, peer_row in zip(mine, other, strict=True):
            if row != peer_row:
                return compared, f"{shard.name}: {row} is not {peer_row}"
            compared += 1
    return compared, ""


def _attributes(shard: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The id and the spans by label; a label without spans is as good as none."""
    with gzip.open(shard, "rb") as rows:
        for row in map(json.loads, rows):
            found = {name.rpartition("__")[2]: spans for name, spans in row["attributes"].items() if spans}
            yield row["id"], found
