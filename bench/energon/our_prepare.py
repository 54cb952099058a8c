"""Indexes a folder of tars or a JSONL file with our codecs, and tells the CPU seconds and the peak of memory.

`python -m bench.energon.our_prepare tars|lines|braces PATH`: `braces` does not parse the JSON of the lines.
"""

import json
import os
import resource
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from bench.energon.real_prepare import spent
from gristmill.energon.formats.info import INFO, META_FOLDER, info_bytes
from gristmill.energon.formats.jsonl_index import jsonl_offsets
from gristmill.energon.formats.split import SPLIT_YAML, split_by_ratio, split_bytes
from gristmill.energon.formats.sqlite_index import SqliteIndexWriter
from gristmill.formats.tar.samples import index_bytes, index_name
from gristmill.formats.tar.walk import TarWalk


def index_tars(folder: Path) -> None:
    """Writes what the real `prepare` writes."""
    tars = sorted(folder.glob("**/*.tar"))
    names = [str(tar.relative_to(folder)) for tar in tars]
    meta = folder / META_FOLDER
    meta.mkdir(exist_ok=True)
    counts = {}
    with closing(SqliteIndexWriter(meta / "index.sqlite", names)) as writer:
        for number, (tar, name) in enumerate(zip(tars, names, strict=True)):
            with tar.open("rb") as file:
                handle = file.fileno()
                walk = TarWalk(lambda at, size: os.pread(handle, size, at), tar.stat().st_size, name)  # noqa: B023
                starts = []
                for samples in walk:
                    writer.add(number, samples)
                    starts.append(samples.starts[:-1])
            Path(index_name(str(tar))).write_bytes(index_bytes(np.append(np.concatenate(starts), walk.end)))
            counts[name] = walk.samples
        writer.finish()
    (meta / SPLIT_YAML).write_bytes(split_bytes(split_by_ratio(names, {"train": 1})))
    (meta / INFO).write_bytes(info_bytes(counts))


def index_lines(path: Path, *, parse: bool) -> None:
    """Writes the index of a JSONL file."""
    with path.open("rb") as file, Path(index_name(str(path))).open("wb") as index:
        index.writelines(map(index_bytes, jsonl_offsets(file, path.name, parse=parse)))


def main() -> None:
    kind, path = sys.argv[1], Path(sys.argv[2])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall = spent(), time.perf_counter()
    if kind == "tars":
        index_tars(path)
    else:
        index_lines(path, parse=kind == "lines")
    cost = {"cpu_s": spent() - cpu, "wall_s": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**cost, "peak_mb": round((peak - before) / 1024, 1)}))


if __name__ == "__main__":
    main()
