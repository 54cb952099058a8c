"""First runs at once over a new Postgres database, each in its own process: twenty, five times; in CI six."""

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import dagster as dg
import pytest
from deployed import PRODUCTION
from postgres import Postgres

from resources.pools import make_pools

pytestmark = pytest.mark.slow


@dg.op(pool="tag")
def grind() -> None:
    """Takes a slot of the pool."""


@dg.job(executor_def=dg.in_process_executor)
def first() -> None:
    grind()


def run_once(home: Path, together: Barrier) -> None:
    """One run in its own process. First it does what the run launcher does before it launches a run."""
    with dg.DagsterInstance.from_config(str(home)) as instance:
        together.wait()
        make_pools(instance, ("tag",))
        together.wait()
        first.execute_in_process(instance=instance)


@pytest.mark.parametrize(
    "runs", [6, *(pytest.param(20, marks=pytest.mark.exhaustive, id=f"20-{evening}") for evening in range(5))]
)
def test_first_runs_at_once_all_succeed(
    runs: int, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in postgres.create(tmp_path.name).items():
        monkeypatch.setenv(name, value)
    text = (PRODUCTION / "dagster.yaml").read_text()
    assert "default_limit: 4" in text
    (tmp_path / "dagster.yaml").write_text(text.replace("default_limit: 4", f"default_limit: {runs}"))  # none waits
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:  # this makes the tables
        fork = multiprocessing.get_context("fork")
        together = fork.Barrier(runs, timeout=120)
        processes = [fork.Process(target=run_once, args=(tmp_path, together)) for _ in range(runs)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * runs
        assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.SUCCESS] * runs
        (pool,) = instance.event_log_storage.get_pool_limits()
    assert (pool.name, pool.limit, pool.from_default) == ("tag", runs, True)
    assert postgres.ask(tmp_path.name, "SELECT count(*) FROM concurrency_slots") == [(runs,)]


def test_a_changed_default_limit_reaches_the_rows_that_have_it(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    log = instance.event_log_storage
    log.initialize_concurrency_limit_to_default("tag")
    log.set_concurrency_slots("train", 1)
    text = (tmp_path / "dagster.yaml").read_text()
    (tmp_path / "dagster.yaml").write_text(text.replace("default_limit: 4", "default_limit: 6"))
    with dg.DagsterInstance.from_config(str(tmp_path)) as later:
        assert make_pools(later, ("tag", "train")) == ["tag"]
        assert first.execute_in_process(instance=later).success
        limits = {pool.name: pool.limit for pool in later.event_log_storage.get_pool_limits()}
        slots = {pool: later.event_log_storage.get_concurrency_info(pool).slot_count for pool in limits}
        assert limits == slots == {"tag": 6, "train": 1}
