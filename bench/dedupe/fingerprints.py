"""Fingerprints: megabytes of text a CPU-second for each unit, from the packed shard of documents to the written part.

One process, one shard; start-up and imports are not in it. GRISTMILL_BENCH_DEDUPE_MB takes another size than 100 MB.
"""

import os
from pathlib import Path

from bench.harness.cost import measured
from bench.harness.place import SNAPSHOT, SOURCE
from bench.harness.row import Row
from bench.inputs.corpus import write_raw
from bench.inputs.shelf import convert, raw_folder, write_shelf
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.store.open import Lake
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import (
    DocumentUnits,
    LineUnits,
    MinHashUnits,
    NgramUnits,
    ParagraphUnits,
    SentenceUnits,
    Unit,
)
from gristmill.stages.fingerprints.step import FingerprintStep

UNITS: dict[str, Unit] = {
    "documents": DocumentUnits(),
    "paragraphs": ParagraphUnits(),
    "13-grams": NgramUnits(),
    "lines": LineUnits(),
    "sentences": SentenceUnits(),
    "13-grams of normalised words": NgramUnits(normalised="words-1"),
    "signatures": MinHashUnits(),
}
TURNS = 3


def run(work: Path) -> list[Row]:
    """A row a unit; `work` is an empty folder."""
    size = int(float(os.environ.get("GRISTMILL_BENCH_DEDUPE_MB", "100")) * 1e6)
    write_shelf(work)
    written = write_raw(raw_folder(work / "lake"), 1, size)
    convert(work, work / "lake")
    lake = Lake(str(work / "lake"))
    return [_row(name, unit, lake, written) for name, unit in UNITS.items()]


def _row(name: str, unit: Unit, lake: Lake, written: int) -> Row:
    recipe = Dedupe(name=f"{type(unit).__name__.lower()}-1", unit=unit, sources=(f"{SOURCE}/v0",), draft=True)
    step = FingerprintStep(recipe, SOURCE, SNAPSHOT, ("gristmill",))
    with measured() as costs:
        for turn in range(TURNS):
            (ledger,) = make(step, lake, Inline(), f"turn-{turn}", lambda _: None, force=True).values()
    (cost,) = costs
    rate = TURNS * written / cost.cpu_s / 1e6
    totals = ledger.totals
    return Row(
        name=f"fingerprints, {name}",
        ours=cost,
        bar="none",
        met=True,
        note=f"{rate:.0f} MB of text a CPU-second, {totals['hashes']} hashes, {totals['bytes'] / 1e6:.0f} MB written",
        detail={"bytes": written, "turns": TURNS, "totals": totals},
    )
