"""An old lake and an old Dagster database, opened with this version: nothing moves.

Each archive in tests/support/lakes/old is named after the commit that made it, by tests/support/lakes/old_lake.py. It
holds a lake of the shelf tests/support/shelves/oldshelf, and Dagster's database after its sensors came to rest. A
difference here would be a storm in production: every lake would be built again.
"""

import io
import json
import logging
import shutil
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import zstandard
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.definitions.selector import JobSubsetSelector
from dagster._core.execution.api import execute_run
from dagster._core.execution.plan.resume_retry import ReexecutionStrategy
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.scheduler.instigation import TickStatus
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.sensor import execute_sensor_iteration
from dagster_shared.check import CheckError
from oldshelf.location import SHELVES, defs
from oldshelf.make import names
from seaweed import Seaweed

from gristmill.__main__ import main as command
from gristmill.lake.store.open import Lake
from gristmill.pipeline.planner import Planner
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.packing.plans import plan_cache

# Dagster's own daemon warns of Dagster.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::dagster.BetaWarning"),
]

ROOT = Path(__file__).resolve().parent
SOURCES = ("books", "talks", "exams")
ARCHIVES = sorted((ROOT / "support" / "lakes" / "old").glob("*.tar.zst"))
assert ARCHIVES
PREFIX = "old"
"""Where the lake lay in the bucket: `data.yaml` and Dagster's events name the address."""

NO_LEDGER = "there is no ledger: an earlier Gristmill made these files, or the ledger was lost"
INDEX = "token_caches/reading/tiny-1/index"
NEW = {
    "35c536c": {"mixes/reading/index/ledger.json", f"{INDEX}/ledger.json", f"{INDEX}/packing/48.json"},
    "8a2e682": set(),
}
"""The ledgers of indexes that a version had not. Each is written when its index is made again, not before."""
_NO_LEDGER = ("it has no ledger: an earlier Gristmill made it, or the ledger was lost",)
DUE = {
    "35c536c": {("mixes/reading/index", "make"): _NO_LEDGER, (INDEX, "make"): _NO_LEDGER},
    "8a2e682": {(INDEX, "make"): (f"{INDEX}/mixture.json should have another content",)},
}
"""What a lake of a version makes due, and why: each of these is in the changelog."""
PROVEN = {"35c536c": "33 of 36 ledgers proven, 3 findings", "8a2e682": "34 of 36 ledgers proven, 7 findings"}
"""The end of `verify --all`. Packing plans are older than the second year: their six findings need a ledger. The second
lake has an earlier `mixture.json`, which is due."""
CHANGED = {
    "35c536c": {"mixes/reading/index/index.json", f"{INDEX}/cache_catalog.json"},
    "8a2e682": {f"{INDEX}/{name}" for name in ("cache_catalog.json", "ledger.json", "mixture.json")},
}
"""What this version writes anew: the index of the first lake's mix is older than its last slice."""


FORMER = ("_raw_arrivals", "_automation")
"""The ends of the names of sensors that every source had. There is one for all now."""


def renamed(name: str) -> str:
    """The name of a sensor or a job in this version."""
    end = next((end for end in FORMER if name.endswith(end)), "")
    return end.removeprefix("_") or name


class Old:
    """The old lake in a bucket, and Dagster's files in a folder."""

    def __init__(self, archive: Path, seaweed: Seaweed, home: Path) -> None:
        self.version = archive.name.partition(".")[0]
        self.store = seaweed.store(PREFIX)
        self.lake = Lake(seaweed.url(PREFIX), seaweed.options)
        self.home = home
        data = zstandard.ZstdDecompressor().decompress(archive.read_bytes(), max_output_size=1 << 24)
        with tarfile.open(fileobj=io.BytesIO(data)) as files:
            content = {each.name: file.read() for each in files if (file := files.extractfile(each))}
        self.store.delete([entry.path for entry in self.store.list("")])
        for name, each in content.items():
            top, _, path = name.partition("/")
            if top == "lake":
                self.store.put(path, each)
            elif top == "home":
                (home / path).parent.mkdir(parents=True, exist_ok=True)
                (home / path).write_bytes(each)
        self.names: dict[str, Any] = json.loads(content["names.json"])

    def objects(self) -> dict[str, bytes]:
        """All objects."""
        return {entry.path: self.store.read(entry.path) for entry in self.store.list("")}


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def old(request: pytest.FixtureRequest, seaweed: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Old:
    monkeypatch.setenv("GRISTMILL_LAKE", seaweed.url(PREFIX))
    monkeypatch.setenv("GRISTMILL_INTERVAL", "1")
    shutil.copy(ROOT.parent / "dagster.yaml", tmp_path)
    return Old(request.param, seaweed, tmp_path)


def test_every_name_and_code_version_that_an_old_database_knows_is_the_same(
    old: Old, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRISTMILL_MORE_JOBS", "1")
    now = names()
    assert {address: now["assets"].get(address) for address in old.names["assets"]} == old.names["assets"]
    for kind in ("checks", "jobs", "sensors", "schedules"):
        assert set(map(renamed, old.names[kind])) <= set(now[kind]), kind


def test_the_plan_of_an_old_lake_is_empty_but_for_its_indexes(old: Old) -> None:
    found = list(Planner(read_catalogue(SHELVES), SHELVES, old.lake).survey_all())
    assert {(each.asset, each.state): each.why for each in found if each.state != "finished"} == DUE[old.version]
    sliced = {address for address, each in old.names["assets"].items() if each["code version"] and each["partitions"]}
    assert len(sliced) == 16
    assert {(address, year) for address in sliced for year in ("2024", "2025")} <= {
        (f.asset, f.snapshot) for f in found
    }


@pytest.mark.slow
def test_an_old_lake_is_proven_from_its_bytes_but_for_indexes_that_lack_a_ledger_or_are_older_than_their_slices(
    old: Old, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--option={key}={value}" for key, value in old.lake.options.items()]
    options += ["--shelves", ",".join(SHELVES)]
    new = NEW[old.version]
    assert command(["verify", old.lake.url, *options, "--all", "--reencode", "1"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert {line.split(": ")[0].strip() for line in said if line.startswith(" ") and NO_LEDGER in line} == new
    assert said[-1] == PROVEN[old.version]
    objects = old.objects()
    assert command(["make", old.lake.url, "mixes/reading", *options]) == 0
    catalogue = read_catalogue(SHELVES)
    plan_cache(old.store, catalogue.mixes["reading"], catalogue.tokenizers["tiny-1"], 48, print)
    assert command(["verify", old.lake.url, *options]) == 0
    now = old.objects()
    noted = {"withdrawn/blocklists/takedowns.jsonl"}
    assert now.keys() - objects.keys() == new | noted | ({f"{INDEX}/mixture.json"} if new else set())
    changed = {path for path, data in objects.items() if now[path] != data}
    # The plans were made before the second year came.
    assert {path for path in changed if not path.startswith(f"{INDEX}/packing/")} == CHANGED[old.version]


class Daemon:
    """Dagster's daemon in this process: the sensors of this version over an old database."""

    def __init__(self, instance: dg.DagsterInstance, context: WorkspaceProcessContext) -> None:
        self.instance = instance
        self._context = context

    def tick(self) -> dict[str, TickStatus]:
        """One tick of every sensor: what became of it."""
        began = time.time()
        list(execute_sensor_iteration(self._context, logging.getLogger("sensors"), None, None))
        found: dict[str, TickStatus] = {}
        for state in self.instance.all_instigator_state():
            if state.name.endswith(FORMER):
                continue
            [tick] = self.instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=1)
            assert tick.timestamp >= began, f"{state.name} was not asked"
            assert tick.error is None, f"{state.name}: {tick.error}"
            found[state.name] = tick.status
        return found

    def execute_again(self, run: dg.DagsterRun) -> str:
        """What the button "Re-execute" of a run's page does; the new run's status."""
        here = JobSubsetSelector("gristmill", "__repository__", run.job_name, None)
        with self._context.create_request_context() as request:
            new = self.instance.create_reexecuted_run(
                parent_run=run,
                request_context=request,
                code_location=request.get_code_location("gristmill"),
                remote_job=request.get_full_job(here),
                strategy=ReexecutionStrategy.ALL_STEPS,
                run_config=run.run_config,
                use_parent_run_tags=True,
            )
        execute_run(InMemoryJob(defs().resolve_job_def(run.job_name)), new, self.instance)
        done = self.instance.get_run_by_id(new.run_id)
        assert done is not None
        assert done.parent_run_id == run.run_id
        return done.status.value

    def state(self) -> dict[str, Any]:
        """What grows when a sensor reports something or asks for a run."""
        return {
            "runs": self.instance.get_runs_count(),
            "events": self.instance.event_log_storage.get_maximum_record_id(),
            "partitions": [self.instance.get_dynamic_partitions(f"snapshots/{name}") for name in SOURCES],
        }


@pytest.fixture
def more_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an operator sets before the code is loaded."""
    monkeypatch.setenv("GRISTMILL_MORE_JOBS", "1")


@pytest.fixture
def daemon(old: Old) -> Iterator[Daemon]:
    target = LoadableTargetOrigin(module_name="oldshelf.location")
    origin = InProcessCodeLocationOrigin(target, location_name="gristmill")
    with (
        dg.DagsterInstance.from_config(str(old.home)) as instance,
        WorkspaceProcessContext(instance, InProcessWorkspaceLoadTarget(origin)) as context,
    ):
        yield Daemon(instance, context)


def test_no_sensor_reports_and_no_automation_asks_for_anything(old: Old, daemon: Daemon) -> None:
    objects, state = old.objects(), daemon.state()
    quiet = dict.fromkeys([*map(renamed, old.names["sensors"]), "last_readings", "unstarted_runs"], TickStatus.SKIPPED)
    assert daemon.tick() == quiet
    time.sleep(1)  # the interval of the sensors
    assert daemon.tick() == quiet
    assert daemon.state() == state
    noted = "withdrawn/blocklists/takedowns.jsonl"  # the sensor of lists looks at each once, and notes its entries
    assert {path: data for path, data in old.objects().items() if path != noted} == objects


def test_what_arrives_after_the_upgrade_is_noticed_and_nothing_else(old: Old, daemon: Daemon) -> None:
    old.store.put("sources/books/raw/2026/a.jsonl.gz", old.store.read("sources/books/raw/2025/a.jsonl.gz"))
    runs = daemon.instance.get_runs_count()
    daemon.tick()
    time.sleep(1)  # the interval of the sensors: the automation may have been asked before the arrival was reported
    daemon.tick()
    assert daemon.instance.get_dynamic_partitions("snapshots/books") == ["2024", "2025", "2026"]
    asked = daemon.instance.get_runs(limit=daemon.instance.get_runs_count() - runs)
    assert {run.tags["dagster/partition"] for run in asked} == {"2026"}
    assert dg.AssetKey(["sources", "books", "v0", "documents"]) in {
        key for run in asked for key in run.asset_selection or ()
    }


@pytest.mark.usefixtures("more_jobs")
def test_old_runs_of_jobs_that_are_no_longer_listed_are_executed_again_where_a_person_asks_for_them(
    daemon: Daemon,
) -> None:
    [refresh] = daemon.instance.get_runs(dg.RunsFilter(job_name="reading_books_refresh"))
    audits = daemon.instance.create_run_for_job(defs().resolve_job_def("books_audits"))  # the archives have none
    assert [daemon.execute_again(run) for run in (refresh, audits)] == ["SUCCESS", "SUCCESS"]


def test_without_that_they_are_not_found(daemon: Daemon) -> None:
    [refresh] = daemon.instance.get_runs(dg.RunsFilter(job_name="reading_books_refresh"))
    with pytest.raises(CheckError, match='No remote job named "reading_books_refresh" found'):
        daemon.execute_again(refresh)
