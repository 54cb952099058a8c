"""What a deployment of a hundred sources costs: each figure beside its bar.

100 sources of two versions with ten attribute sets, in five mixes of twenty streams with one tokenizer. Measured: the
definitions as the code server sends them; what the daemon and its code server take while nothing happens, less what
they take for an empty project, and what a day of that adds to the database of ticks; `sync` of a source with 10,000
snapshots, of which Dagster knows nothing; and backfills of as many, of assets and of a job, whose runs nobody launches.
`GRISTMILL_BENCH_SNAPSHOTS=100` shrinks the last two.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.harness.cost import ROOT, Cost, answer, timed
from bench.harness.row import Row
from bench.inputs.shelf import variables

SOURCES, SETS, STREAMS = 100, 10, 20
BYTES = 8_000_000
CORES = 0.6
GROWTH = 3_000_000
SNAPSHOTS = int(float(os.environ.get("GRISTMILL_BENCH_SNAPSHOTS", "1e4")))
SYNC_SECONDS = 60.0
FOLLOWED = 300_000_000
"""Bytes of memory of the daemon that follows the backfill."""
WARM, WATCHED = 240, 180
"""Seconds before and of a measurement of a deployment at rest."""

_SOURCE = """
from gristmill.recipes.source import Revision, Source
from gristmill.readers.dolma import DolmaLines

SOURCE = Source(name="s{number}", convert=DolmaLines("s{number}"), revisions=(Revision(version="v1"),))
"""

_TAGGER = """
from gristmill.recipes.tagger import Tagger

TAGGER = Tagger(name="t{number}-1", document=lambda document: {{}})
"""

_MIX = """
from gristmill.recipes.mix import Mix, Stream

MIX = Mix(
    name="m{number}",
    tokenizers=("bpe-1",),
    streams=tuple(Stream(source=f"s{{each}}", version="v1") for each in range({number}, {number} + {streams})),
)
"""

_TOKENIZER = """
from gristmill.recipes.tokenizer import Tokenizer

BPE = Tokenizer(name="bpe-1", eos="</s>", file="/nowhere", sha256="0" * 64)
"""

_SNAPSHOT = """
import json
from bench.harness.cost import measured, peak_memory
from dagster import serialize_value
from dagster._core.remote_representation.external_data import RepositorySnap
from definitions import defs
with measured() as costs:
    repository = defs().get_repository_def()
    sent = len(serialize_value(RepositorySnap.from_def(repository, defer_snapshots=True)))
whole = len(serialize_value(RepositorySnap.from_def(repository)))
assets = len(repository.asset_graph.get_all_asset_keys())
print(json.dumps([costs[0].plain(), sent, whole, assets, len(repository.sensor_defs), len(repository.get_all_jobs())]))
"""

_NO_EVENTS = """
event_log_storage:
  module: bench.lakes.backfill
  class: NoEvents
  config: {{base_dir: {folder}}}
"""

_EMPTY = "import dagster as dg\n\ndefs = dg.Definitions()\n"


def run(work: Path, sources: int = SOURCES, watched: float = WATCHED) -> list[Row]:
    """A row for each figure; `work` is an empty folder."""
    write_hundred(work / "hundredshelf", sources)
    (work / "empty_project.py").write_text(_EMPTY)
    lake = work / "lake"
    lake.mkdir()
    env = variables(work, lake) | {"GRISTMILL_SHELVES": "hundredshelf"}
    rows = [_snapshot(env, work), _sync(env, work), *(_backfill(env, work, what) for what in ("assets", "job"))]
    empty = _at_rest(work / "empty", "empty_project", env, watched)
    ours = _at_rest(work / "ours", "definitions", env, watched)
    return [*rows, *_idle(ours, empty)]


def write_hundred(package: Path, count: int) -> None:
    """A shelf package of `count` sources, their taggers, mixes and a tokenizer."""
    files = {f"sources/s{n}.py": _SOURCE.format(number=n) for n in range(count)}
    files |= {f"taggers/t{n}.py": _TAGGER.format(number=n) for n in range(SETS)}
    files |= {f"mixes/m{n}.py": _MIX.format(number=n, streams=min(STREAMS, count)) for n in range(0, count, STREAMS)}
    files["tokenizers/bpe_1.py"] = _TOKENIZER
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for folder in (path.parent, package):
            (folder / "__init__.py").touch()


def _snapshot(env: Mapping[str, str], work: Path) -> Row:
    log = work / "snapshot.log"
    timed([sys.executable, "-c", _SNAPSHOT], log, env)
    cost, sent, whole, assets, sensors, jobs = answer(log)
    return Row(
        name="hundred: definitions",
        ours=Cost(**cost),
        bar=f"< {BYTES / 1e6:.0f} MB sent",
        met=sent < BYTES,
        note=f"{sent / 1e6:.1f} MB sent, {whole / 1e6:.1f} MB with all jobs, {assets:,} assets, {sensors} sensors, "
        f"{jobs} jobs",
        detail={"sent": sent, "whole": whole, "assets": assets, "sensors": sensors, "jobs": jobs},
    )


def _sync(env: Mapping[str, str], work: Path) -> Row:
    log, lake = work / "sync.log", work / "synced"
    own = {**env, **variables(work, lake), "GRISTMILL_SHELVES": env["GRISTMILL_SHELVES"]}
    timed([sys.executable, "-m", "bench.lakes.synced", "s0", str(SNAPSHOTS)], log, own)
    cost, peak, known = answer(log)
    return Row(
        name=f"hundred: sync of {SNAPSHOTS:,} snapshots",
        ours=Cost(**cost),
        bar=f"< {SYNC_SECONDS:.0f} s CPU",
        met=cost["cpu_s"] < SYNC_SECONDS,
        note=f"{known:,} partitions, peak {peak / 1e6:,.0f} MB",
        detail={"snapshots": SNAPSHOTS, "known": known, "peak": peak},
    )


def _backfill(env: Mapping[str, str], work: Path, what: str) -> Row:
    log, lake = work / f"backfill-{what}.log", work / f"filled-{what}"
    own = {**env, **variables(work, lake), "GRISTMILL_SHELVES": env["GRISTMILL_SHELVES"]}
    home = Path(own["DAGSTER_HOME"])
    with (home / "dagster.yaml").open("a") as settings:
        settings.write(_NO_EVENTS.format(folder=home / "history"))
    timed([sys.executable, "-m", "bench.lakes.backfill", what, "s0", str(SNAPSHOTS)], log, own)
    cost, before, peak, iterations, runs = answer(log)
    return Row(
        name=f"hundred: backfill of {SNAPSHOTS:,} partitions ({what})",
        ours=Cost(**cost),
        bar=f"< {FOLLOWED / 1e6:.0f} MB",
        met=peak < FOLLOWED,
        note=f"peak {peak / 1e6:,.0f} MB of the daemon's process, {before / 1e6:,.0f} before; {runs:,} runs in"
        f" {iterations} iterations, without their events",
        detail={"snapshots": SNAPSHOTS, "before": before, "peak": peak, "iterations": iterations, "runs": runs},
    )


def _at_rest(folder: Path, module: str, env: Mapping[str, str], watched: float) -> dict[str, float]:
    """What a daemon and its code server take for these definitions while nothing happens, a second."""
    folder.mkdir()
    home = folder / "home"
    home.mkdir()
    shutil.copyfile(ROOT / "dagster.yaml", home / "dagster.yaml")
    (folder / "workspace.yaml").write_text(f"load_from:\n  - python_module: {module}\n")
    command = [sys.executable, "-m", "dagster._daemon", "run", "-w", str(folder / "workspace.yaml")]
    with (folder / "daemon.log").open("wb") as log:
        daemon = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **env, "DAGSTER_HOME": str(home)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            time.sleep(WARM)
            before, size, begun = _cpu(daemon.pid), _bytes(home), time.monotonic()
            time.sleep(watched)
            seconds = time.monotonic() - begun
            return {
                "cores": (_cpu(daemon.pid) - before) / seconds,
                "bytes an hour": (_bytes(home) - size) / seconds * 3600,
                "resident": float(_resident(daemon.pid)),
            }
        finally:
            os.killpg(daemon.pid, signal.SIGKILL)


def _processes(session: int) -> list[list[str]]:
    """The fields of /proc/PID/stat from the third on, of all processes of a session."""
    found: list[list[str]] = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            found.append(fields)
    return found


def _cpu(session: int) -> float:
    """CPU seconds of all processes of a session, with those that they have waited for."""
    ticks = sum(int(field) for fields in _processes(session) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident(session: int) -> int:
    return sum(int(fields[21]) for fields in _processes(session)) * os.sysconf("SC_PAGE_SIZE")


def _bytes(home: Path) -> int:
    """Bytes of the database of ticks."""
    return sum(each.stat().st_size for each in (home / "schedules").glob("schedules.db*"))


def _idle(ours: Mapping[str, float], empty: Mapping[str, float]) -> list[Row]:
    cores = ours["cores"] - empty["cores"]
    detail: dict[str, Any] = {"ours": dict(ours), "empty": dict(empty)}
    none = Cost(0.0, 0.0)
    return [
        Row(
            name="hundred: at rest",
            ours=none,
            bar=f"< {CORES} cores",
            met=cores < CORES,
            note=f"{cores:.2f} cores above an empty project ({empty['cores']:.2f}); {ours['resident'] / 1e6:,.0f} MB",
            detail=detail,
        ),
        Row(
            name="hundred: ticks",
            ours=none,
            bar=f"< {GROWTH / 1e6:.0f} MB an hour",
            met=ours["bytes an hour"] < GROWTH,
            note=f"schedules.db grows {ours['bytes an hour'] / 1e6:.1f} MB an hour",
            detail=json.loads(json.dumps(detail)),
        ),
    ]
