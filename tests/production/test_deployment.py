"""One evening of production: settings, workspace and processes as docs/production has them, over a real Postgres.

Three snapshots stand before a closed gate in the middle of their tagging, or wait for it, while a fourth is garbage.
The run in the gate is killed. Then the gate is opened.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterEventType as Event
from deployed import Deployed
from postgres import Postgres
from testkit import packed

from assets.support.arrivals import report_arrivals
from assets.support.keys import key_of
from gristmill.lake.address import raw_folder
from gristmill.lake.store.open import open_store
from gristmill.recipes.catalogue import read_catalogue

pytestmark = pytest.mark.live

DOCUMENTS = "sources/gated/v0/documents"
GATED = "sources/gated/v0/attributes/gate-1"
TAG = "sources__gated__v0__attributes.grind"
CONVERT = "sources__gated__v0__documents.grind"
BATCH = ("one", "two", "flaky", "garbage")


@dataclass
class Evening:
    """What happened: run ids by snapshot, and the instance to look them up."""

    live: Deployed
    instance: dg.DagsterInstance
    database: str
    runs: dict[str, str] = field(default_factory=dict)
    killed: str = ""
    """The snapshot whose run was killed."""
    done_meanwhile: set[str] = field(default_factory=set)
    """The snapshots whose documents were made while the only slot of `tag` was taken."""

    def arrive(self) -> None:
        """What the raw sensor would do, which is paused."""
        store = open_store(self.live.environment["GRISTMILL_LAKE"])
        report_arrivals(self.instance, read_catalogue(("gateshelf",)).sources["gated"], store)

    def all_runs(self, snapshot: str) -> list[dg.DagsterRun]:
        """The runs over a snapshot, oldest first."""
        tagged = dg.RunsFilter(tags={"dagster/partition": snapshot})
        return list(reversed(list(self.instance.get_runs(tagged))))

    def when(self, run: str, step: str, kind: Event) -> list[float]:
        """The times of a step's events."""
        entries = self.instance.all_logs(run, of_type=kind)
        return [entry.timestamp for entry in entries if entry.step_key == step]

    def spells(self, step: str) -> list[tuple[float, float]]:
        """From when to when each attempt at a step ran, in order, over all runs; a killed one until it was found."""
        found: list[tuple[float, float]] = []
        for run in self.instance.get_runs():
            ends = {Event.STEP_SUCCESS, Event.STEP_FAILURE, Event.STEP_UP_FOR_RETRY}
            begins = self.when(run.run_id, step, Event.STEP_START) + self.when(run.run_id, step, Event.STEP_RESTARTED)
            over = sorted(time for kind in ends for time in self.when(run.run_id, step, kind))
            if len(over) < len(begins):
                over += [e.timestamp for e in self.instance.all_logs(run.run_id, of_type=Event.RUN_FAILURE)]
            found += zip(sorted(begins), over, strict=True)
        return sorted(found)


@pytest.fixture(scope="module")
def evening(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evening]:
    """The evening, over."""
    folder = tmp_path_factory.mktemp("production")
    gate = folder / "gate"
    gate.mkdir()
    (folder / "lake").mkdir()
    put_raw(folder / "lake", gate)
    database = postgres.create("evening")
    inline = {"GRISTMILL_ENGINE": "inline"}  # who stands in the gate is the run itself
    live = Deployed(folder, str(folder / "lake"), database, shelves=("gateshelf",), environment=inline)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in database.items():
                patch.setenv(name, value)
            with dg.DagsterInstance.from_config(str(live.home)) as instance:
                evening = Evening(live, instance, "evening")
                play(evening, gate)
                yield evening
    finally:
        live.close()


def put_raw(lake: Path, gate: Path) -> None:
    """One document a snapshot; and a file of which no row is one."""
    store = open_store(str(lake))
    texts = {"one": f"GATE {gate}", "two": f"GATE {gate}", "flaky": f"ONCE {gate / 'marker'}"}
    for snapshot, text in texts.items():
        row = {"id": f"letter-{snapshot}", "text": text, "source": "gated"}
        store.put(f"{raw_folder('gated', snapshot)}a.jsonl.gz", packed([row]))
    store.put(f"{raw_folder('gated', 'garbage')}a.jsonl.gz", packed([b"no row"] * 40))


def play(evening: Evening, gate: Path) -> None:
    live = evening.live
    live.pause()
    assert "Set concurrency limit for tag to 1" in live.dagster("instance", "concurrency", "set", "tag", "1")
    evening.arrive()
    evening.runs = {snapshot: live.launch("gated_journey", snapshot) for snapshot in BATCH}
    live.wait(lambda: len(list(gate.glob("*.pid"))) == 1, "somebody in the gate")
    made = key_of(DOCUMENTS)
    live.wait(
        lambda: len(evening.instance.get_materialized_partitions(made)) == 3, "the documents of the three good ones"
    )
    live.finish(evening.runs["garbage"])
    (inside,) = gate.glob("*.pid")
    evening.done_meanwhile = evening.instance.get_materialized_partitions(made)
    evening.killed = inside.stem.removeprefix("letter-")
    os.kill(int(inside.read_text()), signal.SIGKILL)
    live.wait(lambda: len(evening.all_runs(evening.killed)) == 2, "a run in place of the killed one")
    (gate / "open").touch()
    last = [evening.runs[name] for name in BATCH if name != evening.killed]
    for run in (*last, evening.all_runs(evening.killed)[1].run_id):
        live.finish(run)


def test_the_runs_went_through_the_queue_and_lie_in_postgres(evening: Evening, postgres: Postgres) -> None:
    for run in evening.runs.values():
        assert len(evening.instance.all_logs(run, of_type=Event.RUN_ENQUEUED)) == 1
        assert len(evening.instance.all_logs(run, of_type=Event.RUN_STARTING)) == 1
    rows = postgres.ask(evening.database, "SELECT run_id, status FROM runs")
    assert {run: status for run, status in rows if run in evening.runs.values()} == {
        run: "FAILURE" if name in {evening.killed, "garbage"} else "SUCCESS" for name, run in evening.runs.items()
    }


def test_two_snapshots_are_never_in_a_pool_of_one_at_once(evening: Evening) -> None:
    spells = evening.spells(TAG)
    assert len(spells) == 5  # three snapshots, the killed one again, and the flaky one again
    for (_, end), (begin, _) in pairwise(spells):
        assert end <= begin


def test_another_pool_goes_on_meanwhile(evening: Evening) -> None:
    assert evening.done_meanwhile == {"one", "two", "flaky"}
    # Whoever was faster at the gate: the killed run was in it until it was killed, and the documents were made before.
    (inside,) = evening.when(evening.runs[evening.killed], TAG, Event.STEP_START)
    (killed,) = [end for begin, end in evening.spells(TAG) if begin == inside]
    assert all(end < killed for _, end in evening.spells(CONVERT))


def test_a_run_whose_process_was_killed_is_started_again_and_makes_everything(evening: Evening) -> None:
    first, second = evening.all_runs(evening.killed)
    assert first.run_id == evening.runs[evening.killed]
    assert first.status == dg.DagsterRunStatus.FAILURE
    assert second.status == dg.DagsterRunStatus.SUCCESS
    assert (second.parent_run_id, second.tags["dagster/retry_number"]) == (first.run_id, "1")
    assert evening.killed in evening.instance.get_materialized_partitions(key_of(GATED))
    assert not evening.when(second.run_id, CONVERT, Event.STEP_START)  # what was finished is not made again


def test_wrong_data_is_not_tried_again(evening: Evening) -> None:
    (run,) = evening.all_runs("garbage")
    assert run.status == dg.DagsterRunStatus.FAILURE
    assert len(evening.when(run.run_id, CONVERT, Event.STEP_START)) == 1
    assert not evening.when(run.run_id, CONVERT, Event.STEP_UP_FOR_RETRY)
    (failed,) = evening.instance.all_logs(run.run_id, of_type=Event.STEP_FAILURE)
    assert failed.dagster_event is not None
    said = failed.dagster_event.step_failure_data.user_failure_data
    assert said is not None
    assert "a.jsonl.gz" in str(said.description)
    assert said.metadata["kind"].value == "TooManyRefused"
    assert (run.tags["dagster/failure_reason"], run.tags["dagster/will_retry"]) == ("STEP_FAILURE", "false")


def test_a_lake_that_did_not_answer_is_tried_again_by_the_op_in_the_same_run(evening: Evening) -> None:
    (run,) = evening.all_runs("flaky")
    assert run.status == dg.DagsterRunStatus.SUCCESS
    assert len(evening.when(run.run_id, TAG, Event.STEP_RESTARTED)) == 1


def test_the_command_line_shows_the_pools(evening: Evening) -> None:
    told = evening.live.dagster("instance", "concurrency", "get", "--all")
    assert '"tag": 0 / 1 slots occupied' in told
    assert '"convert": 0 / 4 slots occupied' in told
    assert "Running migration" in evening.live.dagster("instance", "migrate")


def launch_into_the_gate(evening: Evening, snapshot: str, gate: Path) -> tuple[str, int]:
    """A run of a new snapshot that waits, and its process."""
    store = open_store(evening.live.environment["GRISTMILL_LAKE"])
    row = {"id": f"letter-{snapshot}", "text": f"GATE {gate}", "source": "gated"}
    store.put(f"{raw_folder('gated', snapshot)}a.jsonl.gz", packed([row]))
    evening.arrive()
    run = evening.live.launch("gated_journey", snapshot)
    inside = gate / f"letter-{snapshot}.pid"
    evening.live.wait(inside.exists, "the run in the gate")
    return run, int(inside.read_text())


def test_a_run_that_died_while_no_daemon_was_there_is_started_again(evening: Evening, tmp_path: Path) -> None:
    live = evening.live
    run, process = launch_into_the_gate(evening, "four", tmp_path)
    live.kill_one("daemon")
    os.kill(process, signal.SIGKILL)
    (tmp_path / "open").touch()
    live.serve("daemon")
    live.wait(lambda: len(evening.all_runs("four")) == 2, "a run in place of the dead one")
    assert [live.status(run), live.finish(evening.all_runs("four")[1].run_id)] == ["FAILURE", "SUCCESS"]


def test_a_terminated_run_ends_within_seconds_and_is_not_started_again(evening: Evening, tmp_path: Path) -> None:
    run, _ = launch_into_the_gate(evening, "five", tmp_path)
    evening.instance.run_coordinator.cancel_run(run)
    assert evening.live.finish(run, seconds=60) == "CANCELED"
    assert [each.run_id for each in evening.all_runs("five")] == [run]


def test_a_run_outlives_its_code_server_and_its_daemon(evening: Evening, tmp_path: Path) -> None:
    live = evening.live
    run, _ = launch_into_the_gate(evening, "three", tmp_path)
    for name in ("code", "daemon"):
        live.kill_one(name)
    live.serve("code")
    live.serve("daemon")
    (tmp_path / "open").touch()
    live.succeed(run)
    assert [each.run_id for each in evening.all_runs("three")] == [run]
    assert "three" in evening.instance.get_materialized_partitions(key_of(GATED))
