"""Peak memory of one grinding process for each stage, on one shard of 2 GB of ordinary documents.

A fresh process a step (plan, grind, commit; imports included), its peak by the kernel's count. What a later step does
not read is removed before it, so that less than 3 GB of disk are used.
"""

import os
import random
import shutil
import sys
from pathlib import Path

from isal import igzip_threaded

from bench.harness.cost import answer, timed
from bench.harness.place import SOURCE
from bench.harness.row import Row
from bench.inputs.bpe import write_tokenizer
from bench.inputs.corpus import line, texts
from bench.inputs.shelf import raw_folder, variables, write_shelf

LIMIT = 1_000_000_000
STOCK = 20_000_000  # bytes of different texts; the others are these with edits
SEED = 31
STEPS = (  # (row's name, step of bench/stages/steps.py, folders of the lake that no later step reads)
    ("conversion", "convert", ("sources/bench/raw",)),
    ("tagging", "tag:v0:gopher-1,language-1,length-1", ()),
    ("mixing", "revise", ("sources/bench/v0", "sources/bench/v1")),
    ("token cache", "spell:whole", ()),
)


def run(work: Path) -> list[Row]:
    """A row a stage; `work` is an empty folder. GRISTMILL_BENCH_GB takes another size than 2 GB."""
    size = round(float(os.environ.get("GRISTMILL_BENCH_GB", "2")) * 1e9)
    tokenizer = write_tokenizer(work / "tokenizer.json")
    write_shelf(work, tokenizer)
    lake = work / "lake"
    env = variables(work, lake)
    written = write_shard(raw_folder(lake) / "large.jsonl.gz", size)
    rows: list[Row] = []
    try:
        for name, step, spent in STEPS:
            rows.append(_row(name, step, work, env, written))
            if step == "revise":  # the mix that is spelled, while v0 is there to be copied
                timed([sys.executable, "-m", "bench.stages.steps", "mix:whole"], work / "mix.log", env)
            for folder in spent:
                shutil.rmtree(lake / folder)
    finally:
        shutil.rmtree(lake)
    return rows


def _row(name: str, step: str, work: Path, env: dict[str, str], written: int) -> Row:
    log = work / f"{name.replace(' ', '-')}.log"
    cost = timed([sys.executable, "-m", "bench.stages.steps", step], log, env)
    (said,) = answer(log)
    peak = said["peak"]
    rate = written / cost.cpu_s / 1e6
    return Row(
        name=f"memory, {name}",
        ours=cost,
        bar="peak < 1 GB",
        met=peak < LIMIT,
        note=f"peak {peak / 1e6:.0f} MB on a shard of {written / 1e9:.2f} GB, {rate:.0f} MB a CPU second",
        detail={"peak": peak, "bytes": written, "source": SOURCE},
    )


def write_shard(path: Path, size: int, stock: int = STOCK) -> int:
    """Documents of `size` bytes as rows: the stock again and again, each time with new ids and a word put in.

    Returns:
        The bytes of the rows.
    """
    path.parent.mkdir(parents=True)
    chance = random.Random(SEED)  # noqa: S311 - a corpus, no secret
    originals = list(texts(SEED, min(stock, size)))
    written = number = 0
    with igzip_threaded.open(path, "wb", compresslevel=2, threads=1) as sink:  # type: ignore[no-untyped-call] # no types
        while written < size:
            text = originals[number % len(originals)]
            at = chance.randrange(len(text) + 1)
            row = line(str(number), f"{text[:at]} edit{number} {text[at:]}")
            sink.write(row)
            written += len(row)
            number += 1
    return written
