"""One large file of each format by one worker and by two: `python -m bench.sources.two_cores [MB of text]`.

The file is cut into parts, each a shard. Both runs must give the same bytes, and a row by one shard the same documents.
"""

import hashlib
import os
import sys
import tempfile
from pathlib import Path

from isal import igzip_lib

from bench.harness.cost import Cost, timed
from bench.harness.row import Row
from bench.sources.large_files import FORMATS, SNAPSHOT, write_large, write_recipe

REQUIRED = 1.6
PARTS = 8
SHELF = "largeshelf"
_CONVERT = """
import sys
from gristmill.engines.local import LocalPool
from gristmill.execution.step import make
from gristmill.lake.store.open import Lake
from gristmill.recipes.shelf import find
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep
kind, lake, workers = sys.argv[1:]
shelves = ("gristmill", "largeshelf")
step = ConversionStep(find("sources", Source, shelves, kind), "2024", shelves)
pool = LocalPool(int(workers), small=0)
make(step, Lake(lake, {}), pool, "bench-" + workers, lambda line: None)
pool.close()
"""


def run(work: Path, size: int) -> list[Row]:
    """A row for each format.

    Args:
        work: an empty folder.
        size: of the texts of each file in bytes.
    """
    return [_row(work / kind, kind, size) for kind in FORMATS]


def _row(work: Path, kind: str, size: int) -> Row:
    costs: dict[int, Cost] = {}
    made: dict[int, dict[str, str]] = {}
    texts: dict[int, str] = {}
    file = write_large(work / "lake-1", kind, size)
    for workers in (1, 2, 0):
        lake = work / f"lake-{workers}"
        raw = lake / file.relative_to(work / "lake-1").parent
        if not raw.exists():
            raw.mkdir(parents=True)
            os.link(file, raw / file.name)
        part = file.stat().st_size // PARTS + 1 if workers else 0
        write_recipe(work / f"shelf-{workers}", SHELF, kind, part)
        env = {"PYTHONPATH": f"{work / f'shelf-{workers}'}{os.pathsep}{os.environ.get('PYTHONPATH', '.')}"}
        command = [sys.executable, "-c", _CONVERT, kind, str(lake), str(workers or 1)]
        costs[workers] = timed(command, work / f"{workers}.log", env)
        shards = sorted((lake / "sources" / kind / "v0" / "documents" / SNAPSHOT).rglob("*.jsonl.gz"))
        made[workers] = {shard.name: hashlib.sha256(shard.read_bytes()).hexdigest() for shard in shards}
        texts[workers] = _plain(shards)
    gain = costs[1].wall_s / costs[2].wall_s
    agree = made[1] == made[2] and texts[0] == texts[1] and len(made[1]) > 1
    return Row(
        name=f"{kind}, one file, two workers",
        ours=costs[2],
        peer=costs[1],
        peer_name="one worker",
        agree=agree,
        bar=f">= {REQUIRED:.1f}x wall",
        met=gain >= REQUIRED and agree,
        note=f"{len(made[1])} parts of {file.stat().st_size / 1e6:.0f} MB; as one shard {costs[0].wall_s:.1f} s",
        detail={"one shard": costs[0].plain()},
    )


def _plain(shards: list[Path]) -> str:
    """The digest of the rows of all shards, one after the other."""
    digest = hashlib.sha256()
    for shard in shards:
        data = shard.read_bytes()
        while data:
            member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
            digest.update(member.decompress(data))
            data = member.unused_data
    return digest.hexdigest()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for row in run(Path(folder), round(float(sys.argv[1] if len(sys.argv) > 1 else "200") * 1e6)):
            found = f"wall {row.wall_ratio:.2f}x of {row.ours.wall_s:.1f} s, CPU {row.cpu_ratio:.2f}x"
            sys.stdout.write(f"{row.name}: {found}; same bytes: {row.agree}; {row.note}\n")
