"""The index of an export with 200 parts, beside the real `energon prepare` on the same tars, compared before times are.

Ours merges the lists of samples that the parts have, and reads no tar. Start-up and imports are not counted.
"""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.energon.export_lake import MIX, make_lake
from bench.energon.indexing import REAL
from bench.harness.cost import Cost, answer, timed
from bench.harness.environments import energon
from bench.harness.place import SNAPSHOT, SOURCE
from bench.harness.row import Row

PARTS, EACH = 200, 1_000
KIND = "two"
LENGTH = 40
"""Characters of a text: the tars are not read by ours, so their size would only slow the other tool."""
LIMIT = 300_000_000
"""Bar: bytes of memory at the peak."""


def run(work: Path) -> list[Row]:
    """The row; `work` is an empty folder. GRISTMILL_BENCH_EACH takes other samples of a part than 1,000."""
    each = int(os.environ.get("GRISTMILL_BENCH_EACH", str(EACH)))
    lake, _ = make_lake(work, [each] * PARTS, LENGTH)
    timed([sys.executable, "-m", "bench.energon.one_export", lake, KIND], work / "export.log")
    ours = _told([sys.executable, "-m", "bench.energon.one_export", lake, KIND, "--index"], work / "index.log")
    export = lake / "exports" / MIX / KIND
    shutil.copytree(export / SOURCE / SNAPSHOT, work / "real", ignore=shutil.ignore_patterns("*.idx"))
    theirs = _told([energon(), REAL, "tars", work / "real"], work / "real.log")
    (release,) = (export / "index").glob("release-*")
    samples = sum(_info(release).values())
    agree = samples == each * PARTS and all(
        mine == other for mine, other in zip(_rows(release), _rows(work / "real"), strict=True)
    )
    return [
        Row(
            name=f"energon export: index of {PARTS} parts",
            ours=Cost(ours["cpu_s"], ours["wall_s"]),
            peer=Cost(theirs["cpu_s"], theirs["wall_s"]),
            peer_name="energon 7.4.1",
            agree=agree,
            bar="peak < 300 MB",
            met=ours["peak"] < LIMIT,
            note=f"{samples:,} samples, {samples / ours['cpu_s']:,.0f} a CPU second; peak {ours['peak'] / 1e6:.0f} MB,"
            f" of which {ours['start'] / 1e6:.0f} MB are the program",
        )
    ]


def _told(command: list[str | Path], log: Path) -> dict[str, Any]:
    timed(command, log)
    said: dict[str, Any] = answer(log)
    return said


def _info(dataset: Path) -> dict[str, int]:
    counts: dict[str, int] = json.loads((dataset / ".nv-meta" / ".info.json").read_bytes())["shard_counts"]
    return counts


def _rows(dataset: Path) -> Iterator[tuple[Any, ...]]:
    """The rows of both tables, with the names of tars for their numbers, in the order of those names."""
    names = ["/".join(name.split("/")[-2:]) for name in _info(dataset)]
    with closing(sqlite3.connect(dataset / ".nv-meta" / "index.sqlite")) as db:
        for query in (
            "SELECT * FROM samples WHERE tar_file_id = ? ORDER BY sample_index",
            "SELECT * FROM sample_parts WHERE tar_file_id = ? ORDER BY sample_index, content_byte_offset",
        ):
            for name, number in sorted(zip(names, range(len(names)), strict=True)):
                for row in db.execute(query, (number,)):
                    yield name, *row[1:]
