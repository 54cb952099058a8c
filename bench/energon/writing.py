"""Writing tars of samples with their index: 2.7 KB samples of one part and of two, hashed as an export hashes them."""

import hashlib
import resource
import time
from pathlib import Path

from bench.harness.cost import Cost
from bench.harness.row import Row
from gristmill.formats.tar.samples import index_bytes
from gristmill.formats.tar.writer import TarWriter

SAMPLES = 60_000
BARS = {1: 30_000, 2: 20_000}
"""Samples per CPU second, by the number of parts."""


def run(work: Path, samples: int = SAMPLES) -> list[Row]:
    """Two rows; `work` is an empty folder."""
    return [_row(work / f"{parts}.tar", parts, samples) for parts in BARS]


def _row(path: Path, parts: int, samples: int) -> Row:
    contents = [("txt", b"wheat " * 450), ("json", b'{"n": "' + b"7" * 2690 + b'"}')][:parts]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall = time.process_time(), time.perf_counter()
    digest = hashlib.sha256()
    with path.open("wb") as file:

        def sink(data: bytes) -> None:
            file.write(data)
            digest.update(data)

        writer = TarWriter(sink)
        for number in range(samples):
            writer.add(f"{number:08}", contents)
        writer.close()
    Path(f"{path}.idx").write_bytes(index_bytes(writer.take_index().starts))
    cost = Cost(time.process_time() - cpu, time.perf_counter() - wall)
    rate = samples / cost.cpu_s
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return Row(
        name=f"{samples:,} samples of {parts} part{'s' if parts > 1 else ''} into a tar",
        ours=cost,
        bar=f"{BARS[parts]:,} samples per CPU second",
        met=rate >= BARS[parts],
        note=f"{rate:,.0f} samples per CPU second, {grown:.0f} MB more memory, of which the index is most",
    )
