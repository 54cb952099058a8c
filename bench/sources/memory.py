"""Peak memory of the conversion of one file of 1 GB of each format: `python -m bench.sources.memory [GB of text]`.

In one process, imports included, by the kernel's count: as one shard, and in parts.
"""

import os
import sys
import tempfile
from pathlib import Path

from bench.harness.cost import timed
from bench.sources.large_files import FORMATS, write_large, write_recipe

LIMIT = 300_000_000
SHELF = "largeshelf"
_CONVERT = """
import re, sys
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.store.open import Lake
from gristmill.recipes.shelf import find
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep
kind, lake = sys.argv[1:]
shelves = ("gristmill", "largeshelf")
step = ConversionStep(find("sources", Source, shelves, kind), "2024", shelves)
made = make(step, Lake(lake, {}), Inline(), "bench", lambda line: None)
rows = next(iter(made.values())).totals["rows"]
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]
print(rows, peak)
"""


def peak_of(work: Path, kind: str, size: int, parts: int) -> tuple[int, int]:
    """The peak in bytes, and the number of rows.

    Args:
        work: an empty folder.
        kind: one of FORMATS.
        size: of the file's texts in bytes.
        parts: how many parts; 1: the file is one shard.
    """
    file = write_large(work / "lake", kind, size)
    write_recipe(work / "shelf", SHELF, kind, 0 if parts == 1 else file.stat().st_size // parts + 1)
    env = {"PYTHONPATH": f"{work / 'shelf'}{os.pathsep}{os.environ.get('PYTHONPATH', '.')}"}
    timed([sys.executable, "-c", _CONVERT, kind, str(work / "lake")], work / "log", env)
    rows, peak = map(int, (work / "log.out").read_text().split())
    return peak * 1024, rows


if __name__ == "__main__":
    text = round(float(sys.argv[1] if len(sys.argv) > 1 else "1") * 1e9)
    for each in FORMATS:
        for count in (1, 8):
            with tempfile.TemporaryDirectory() as folder:
                found, documents = peak_of(Path(folder), each, text, count)
            verdict = "met" if found < LIMIT else "MISSED"
            sys.stdout.write(f"{each}, {count} shards, {documents:,} rows: peak {found / 1e6:.0f} MB ({verdict})\n")
