"""Runs as processes of their own: they die, hang, are terminated, and their daemon or code server goes away."""

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from dagster import DagsterInstance, DagsterRun
from dagster._core.launcher import LaunchRunContext, WorkerStatus
from dagster._core.storage.dagster_run import RunOpConcurrency
from deployed import runs_below
from launched import Launched, wait
from mishaps.asked import storm

from gristmill.process import this_process
from resources import run_launcher
from resources.run_launcher import SILENCE, WatchedRunLauncher
from resources.run_process import PROCESS_TAG, process_tag

ALIVE = WorkerStatus.RUNNING
DEAD = WorkerStatus.NOT_FOUND


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """One code server for all."""
    found = Launched(tmp_path_factory.mktemp("launched"))
    yield found
    found.close()


def test_a_run_that_names_no_process_is_taken_for_alive() -> None:
    for tags in ({}, {PROCESS_TAG: "torn"}, {PROCESS_TAG: '{"pid": 3}'}):
        assert WatchedRunLauncher().check_run_worker_health(DagsterRun("job", tags=tags)).status == ALIVE


def test_the_process_of_a_run_is_looked_for_by_its_number_its_start_and_its_boot() -> None:
    mine = DagsterRun("job", tags=process_tag())  # as a run of `gristmill run`
    assert WatchedRunLauncher().check_run_worker_health(mine).status == ALIVE
    for change in ({"started": "1"}, {"boot": "another"}, {"pid": "999999999"}, {"pid": "no number"}):
        other = msgspec.structs.replace(this_process(), **change)
        health = WatchedRunLauncher().check_run_worker_health(
            DagsterRun("job", tags={PROCESS_TAG: msgspec.json.encode(other).decode()})
        )
        assert (health.status, health.msg) == (DEAD, f"{other} has ended")


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"machine": "other"}, {"space": "pid:[1]"}])
def test_a_run_that_cannot_be_seen_from_here_is_dead_when_its_log_has_been_silent(
    change: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(run_launcher, "time", SimpleNamespace(monotonic=lambda: clock.now))
    away = msgspec.structs.replace(this_process(), **change)
    run = DagsterRun("job", tags={PROCESS_TAG: msgspec.json.encode(away).decode()})
    with DagsterInstance.ephemeral() as instance:
        instance.add_run(run)
        launcher = WatchedRunLauncher()
        launcher.register_instance(instance)

        def after(seconds: float) -> WorkerStatus:
            clock.now = 1000 + seconds
            return launcher.check_run_worker_health(run).status

        seen = [after(0), after(SILENCE - 1)]
        instance.report_engine_event("the process of this run is at work", run)
        seen += [after(SILENCE - 0.5), after(2 * SILENCE - 1), after(2 * SILENCE)]
    assert seen == [ALIVE, ALIVE, ALIVE, ALIVE, DEAD]


@pytest.mark.slow
def test_the_pools_of_a_run_have_their_rows_before_it_is_launched(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(
        "run_launcher: {module: resources.run_launcher, class: WatchedRunLauncher}\n"
        "concurrency: {pools: {default_limit: 3}}\n"
        "telemetry: {enabled: false}\n"
    )
    pools = RunOpConcurrency(root_key_counts={}, has_unconstrained_root_nodes=True, all_pools={"tag"})
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        with pytest.raises(ValueError, match="does not say in which module its job is"):
            instance.run_launcher.launch_run(LaunchRunContext(DagsterRun("job", run_op_concurrency=pools), None))
        assert [(pool.name, pool.limit) for pool in instance.event_log_storage.get_pool_limits()] == [("tag", 3)]


@pytest.mark.slow
def test_a_run_whose_process_dies_fails_at_once_and_says_how(launched: Launched) -> None:
    run = launched.launch()
    os.kill(launched.enter(run), signal.SIGKILL)
    assert launched.end(run) == "FAILURE"
    assert any("was ended by signal 9 (SIGKILL): a person did it" in line for line in launched.said(run))


@pytest.mark.slow
def test_a_run_does_not_inherit_the_settings_of_the_daemons_memory(
    launched: Launched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    run = launched.launch()
    inherited = Path(f"/proc/{launched.enter(run)}/environ").read_bytes()
    assert (b"MALLOC_ARENA_MAX" in inherited, b"DAGSTER_HOME" in inherited) == (False, True)
    assert launched.instance.run_launcher.terminate(run)
    assert launched.end(run) == "CANCELED"


@pytest.mark.slow
def test_terminating_a_run_whose_process_has_just_died_blocks_nothing(launched: Launched) -> None:
    later = launched.daemon()
    run = launched.launch()
    os.kill(launched.enter(run), signal.SIGKILL)
    assert later.run_launcher.terminate(run) in {True, False}  # False: its daemon was faster, and it has failed
    assert launched.end(run) in {"CANCELED", "FAILURE"}
    after = launched.launch()
    launched.enter(after)
    assert later.run_launcher.terminate(after)
    assert launched.end(after) == "CANCELED"
    assert (launched.health(), launched.runs_of_code()) == (0, [])


@pytest.mark.slow
def test_a_run_starts_and_is_terminated_while_the_code_server_answers_nobody(launched: Launched) -> None:
    os.killpg(launched.code.pid, signal.SIGSTOP)
    try:
        run = launched.launch()
        launched.enter(run)
        assert launched.instance.run_launcher.terminate(run)
        assert launched.end(run) == "CANCELED"
        assert not launched.instance.run_launcher.terminate(run)
    finally:
        os.killpg(launched.code.pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_later_daemon_sees_which_run_lives_and_which_has_died(launched: Launched) -> None:
    run = launched.launch()
    process = launched.enter(run)
    later = launched.daemon()
    assert launched.look(later, run).status == ALIVE
    os.kill(process, signal.SIGSTOP)
    assert launched.look(later, run).status == ALIVE  # it hangs, and may go on
    alive = launched.run(run)
    os.kill(process, signal.SIGKILL)
    wait(lambda: later.run_launcher.check_run_worker_health(alive).status == DEAD, "the death of the run")
    assert launched.end(run) == "FAILURE"


@pytest.mark.slow
def test_a_run_that_two_daemons_launch_goes_on_when_the_second_process_ends(launched: Launched) -> None:
    run = launched.launch()
    process = launched.enter(run)
    second = launched.daemon()
    second.run_launcher.launch_run(LaunchRunContext(launched.run(run), None))
    wait(lambda: any("Ignoring a duplicate run" in line for line in launched.said(run)), "the second process")
    wait(lambda: list(runs_below(launched.home)) == [process], "the end of the second process")
    assert launched.look(launched.daemon(), run).status == ALIVE
    os.kill(process, signal.SIGKILL)
    assert launched.end(run) == "FAILURE"
    assert sum("was ended by signal 9" in line for line in launched.said(run)) == 1


@pytest.mark.slow
def test_runs_that_are_killed_while_others_ask_about_them_block_nobody(tmp_path: Path) -> None:
    assert storm(tmp_path / "storm", random.Random(1), 3) == 3  # `make faults` kills a hundred
