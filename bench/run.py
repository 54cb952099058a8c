"""`make bench`: ours and the peers on the same files, in one sitting; `make bench BENCH=name` for one.

Each bench gets a fresh folder below `.cache/bench/work`. The table is printed, all figures go to bench/results.json.
Exit code 1 where outputs do not agree or a program failed; a bar that is missed is said and never fails.
"""

import argparse
import importlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.harness.cost import ROOT, BenchError, machine
from bench.harness.environments import CACHE
from bench.harness.row import Row, disagreements, table

BENCHES = {
    "tagging": "bench.taggers.compare",
    "one-pass": "bench.taggers.one_pass",
    "tokenizing": "bench.tokens.tokenizing",
    "chat": "bench.tokens.chat_caches",
    "url-list": "bench.taggers.urls",
    "language": "bench.taggers.language",
    "gopher-datatrove": "bench.taggers.gopher_datatrove",
    "two-workers": "bench.stages.two_workers",
    "token-memory": "bench.tokens.memory",
    "overhead": "bench.stages.overhead",
    "journey": "bench.stages.journey",
    "engines": "bench.stages.engines",
    "unchanged": "bench.stages.unchanged",
    "definitions": "bench.lakes.load",
    "tick": "bench.lakes.tick",
    "hundred": "bench.lakes.hundred",
    "pages": "bench.lakes.pages",
    "many-shards": "bench.lakes.many_shards",
    "small-files": "bench.lakes.small_files",
    "one-changed": "bench.stages.one_changed",
    "memory": "bench.stages.memory",
    "fingerprints": "bench.dedupe.fingerprints",
    "dedupe": "bench.dedupe.resolution",
    "exact": "bench.dedupe.exact",
    "decontamination": "bench.dedupe.decontamination",
    "dedupe-scale": "bench.dedupe.scale",
    "s3": "bench.lakes.s3",
    "sensor": "bench.lakes.sensor",
    "trace": "bench.lakes.trace",
    "verifying": "bench.lakes.verifying",
    "takedown": "bench.mixing.takedown",
    "preview": "bench.mixing.preview",
    "edits": "bench.mixing.edits",
    "near-duplicates": "bench.dedupe.near",
    "dolma-mix": "bench.mixing.dolma_mix",
    "energon-indexing": "bench.energon.indexing",
    "energon-media": "bench.energon.media",
    "energon-writing": "bench.energon.writing",
    "energon-exports": "bench.energon.exporting",
    "energon-index": "bench.energon.merging",
}
RESULTS = ROOT / "bench" / "results.json"

Bench = Callable[[Path], list[Row]]


def load(name: str) -> Bench:
    """A bench's `run`, imported when it is its turn."""
    run: Bench = importlib.import_module(BENCHES[name]).run
    return run


def run_all(names: Sequence[str], find: Callable[[str], Bench], work: Path) -> tuple[list[Row], list[str]]:
    """The rows of these benches, and what failed, in words. The work folders of those that succeed are removed."""
    rows: list[Row] = []
    trouble: list[str] = []
    for name in names:
        print(f"{name} ...", flush=True)
        folder = work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        begun = time.perf_counter()
        try:
            found = find(name)(folder)
        except BenchError as error:
            trouble.append(f"{name}: {error}")
            continue
        rows += found
        print(f"{name}: {time.perf_counter() - begun:.0f} s", flush=True)
        if not disagreements(found):
            shutil.rmtree(folder)
    return rows, trouble


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the named benches, or all; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; all if none is given")
    names: list[str] = parser.parse_args(arguments).names or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        parser.error(f"no bench {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    facts = machine()
    print(f"{facts['processor']}, {facts['cores']} cores, Python {facts['python']}, load {facts['load_before']}")
    rows, trouble = run_all(names, load, CACHE / "work")
    RESULTS.write_text(json.dumps({"machine": facts, "rows": [row.plain() for row in rows]}, indent=1) + "\n")
    print(f"\n{table(rows)}\n")
    for name in disagreements(rows):
        print(f"{name}: the outputs do NOT agree; its files are left in {CACHE / 'work'}")
    for words in trouble:
        print(f"failed: {words}")
    return 1 if trouble or disagreements(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
