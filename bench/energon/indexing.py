"""Indexes of tars and JSON lines: ours beside those of the real `energon prepare`, compared before times are.

Start-up and imports are not counted: each program tells its own CPU seconds, with those of processes that it starts.
The bars are ten times as fast for tars, five for lines whose braces are looked at, three for lines that are parsed.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from bench.energon.corpus import SAMPLES, TARS, write_lines, write_tars
from bench.harness.cost import ROOT, BenchError, Cost
from bench.harness.environments import energon
from bench.harness.row import Row
from gristmill.energon.formats.sqlite_index import index_digest

REAL = ROOT / "bench" / "energon" / "real_prepare.py"
ROUNDS = 3
"""Each program runs so often; its best time counts, because others may use the machine meanwhile."""


def run(work: Path, size: int = 100_000_000) -> list[Row]:
    """Four rows; `work` is an empty folder."""
    return [*_tars(work / "tars"), *_lines(work / "lines", size)]


def _tars(work: Path) -> list[Row]:
    written = write_tars(work / "ours" / "shards")
    shutil.copytree(work / "ours", work / "real")
    theirs = _real("tars", work / "real", work)
    ours, peak = _ours("tars", work / "ours")
    agree = _same_files(work) and _digest(work / "ours") == _digest(work / "real")
    name = f"index of {SAMPLES:,} samples in {TARS} tars"
    note = f"{SAMPLES / ours.cpu_s:,.0f} samples per CPU second, {peak:.0f} MB more memory"
    return [_row(name, ours, theirs, 10, note, agree=agree, detail={"bytes": written})]


def _lines(work: Path, size: int) -> list[Row]:
    count = write_lines(work / "ours.jsonl", size)
    shutil.copy(work / "ours.jsonl", work / "real.jsonl")
    theirs = _real("lines", work / "real.jsonl", work)
    rows = []
    for kind, times, how in (("braces", 5, "braces looked at"), ("lines", 3, "all JSON parsed")):
        ours, peak = _ours(kind, work / "ours.jsonl")
        agree = (work / "ours.jsonl.idx").read_bytes() == (work / "real.jsonl.idx").read_bytes()
        note = f"{size / 1e6 / ours.cpu_s:,.0f} MB per CPU second, {peak:.0f} MB more memory"
        rows.append(_row(f"index of {count:,} lines, {how}", ours, theirs, times, note, agree=agree))
    return rows


def _row(
    name: str, ours: Cost, theirs: Cost, times: int, note: str, *, agree: bool, detail: dict[str, int] | None = None
) -> Row:
    return Row(
        name=name,
        ours=ours,
        peer=theirs,
        peer_name="energon 7.4.1",
        agree=agree,
        bar=f"{times} times its CPU",
        met=theirs.cpu_s >= times * ours.cpu_s,
        note=note,
        detail=detail or {},
    )


def _real(kind: str, path: Path, work: Path) -> Cost:
    """The best of the real tool's runs. Each finds the files of the run before, and writes them again."""
    return min((measured([energon(), REAL, kind, path], work)[0] for _ in range(ROUNDS)), key=lambda cost: cost.cpu_s)


def _ours(kind: str, path: Path) -> tuple[Cost, float]:
    told = []
    for _ in range(ROUNDS):
        if kind == "tars":
            shutil.rmtree(path / ".nv-meta", ignore_errors=True)
        told.append(measured([sys.executable, "-m", "bench.energon.our_prepare", kind, path], ROOT))
    return min(told, key=lambda each: each[0].cpu_s)


def measured(command: list[str | Path], folder: Path) -> tuple[Cost, float]:
    """The cost that a program tells on its last line, and its peak of memory in MB above that at its start."""
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{command[1]} ended with code {done.returncode}: {done.stderr[-2000:]}")
    last = json.loads(done.stdout.splitlines()[-1])
    return Cost(last["cpu_s"], last["wall_s"]), last.get("peak_mb", 0.0)


def _same_files(work: Path) -> bool:
    """Whether the indexes of the tars and the files of the dataset are equal, byte for byte."""
    names = [".nv-meta/.info.json", ".nv-meta/split.yaml"]
    names += [str(path.relative_to(work / "ours")) for path in (work / "ours").glob("**/*.tar.idx")]
    return len(names) == TARS + 2 and all(
        (work / "ours" / name).read_bytes() == (work / "real" / name).read_bytes() for name in names
    )


def _digest(folder: Path) -> str:
    return index_digest(folder / ".nv-meta" / "index.sqlite")
