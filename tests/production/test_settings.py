"""docs/production/dagster.yaml, loaded as it stands over a real Postgres."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.instance.config import PoolGranularity
from dagster._core.run_coordinator import QueuedRunCoordinator
from dagster._core.scheduler.instigation import TickStatus
from dagster._core.workspace.config_schema import process_workspace_config
from dagster_kit import Works, letters
from dagster_postgres import PostgresEventLogStorage, PostgresRunStorage, PostgresScheduleStorage
from dagster_shared.yaml_utils import load_yaml_from_globs
from deployed import PRODUCTION
from postgres import PASSWORD, Postgres

from resources.run_launcher import WatchedRunLauncher

pytestmark = pytest.mark.slow


def settings(path: Path) -> dict[str, Any]:
    """What Dagster reads from a file."""
    found = load_yaml_from_globs(str(path))
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def settled(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    """As `instance`, for the tests that only read how it is set."""
    folder = tmp_path_factory.mktemp("settled")
    (folder / "dagster.yaml").write_text((PRODUCTION / "dagster.yaml").read_text())
    with pytest.MonkeyPatch.context() as patch:
        for name, value in postgres.create(folder.name).items():
            patch.setenv(name, value)
        with dg.DagsterInstance.from_config(str(folder)) as found:
            yield found


def test_runs_events_and_schedules_lie_in_postgres(
    instance: dg.DagsterInstance, postgres: Postgres, tmp_path: Path
) -> None:
    works = Works(tmp_path / "lake", instance)
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    assert works.run("letters_journey").success
    assert isinstance(instance.run_storage, PostgresRunStorage)
    assert isinstance(instance.event_log_storage, PostgresEventLogStorage)
    assert isinstance(instance.schedule_storage, PostgresScheduleStorage)
    assert postgres.ask(tmp_path.name, "SELECT status FROM runs") == [("SUCCESS",)]
    assert postgres.ask(tmp_path.name, "SELECT partition FROM dynamic_partitions") == [("2024",)]
    assert postgres.ask(tmp_path.name, "SELECT count(*) > 50 FROM event_logs") == [(True,)]
    assert not list(tmp_path.rglob("*.db"))


def test_the_password_stands_in_the_environment_alone(settled: dg.DagsterInstance) -> None:
    assert os.environ["DAGSTER_PG_PASSWORD"] == PASSWORD
    assert PASSWORD not in settled.info_str()
    assert PASSWORD not in (Path(settled.root_directory) / "dagster.yaml").read_text()


def test_a_run_that_failed_stays_failed_and_one_whose_process_died_is_started_again(
    settled: dg.DagsterInstance,
) -> None:
    assert settled.run_retries_enabled
    assert settled.run_retries_max_retries == 2
    assert not settled.run_retries_retry_on_asset_or_op_failure
    assert settled.run_monitoring_enabled
    assert isinstance(settled.run_launcher, WatchedRunLauncher)
    assert settled.run_launcher.supports_check_run_worker_health
    assert settled.run_monitoring_settings["free_slots_after_run_end_seconds"] <= 60


def test_runs_wait_in_a_queue_and_pools_have_a_limit(settled: dg.DagsterInstance) -> None:
    limits = settled.get_concurrency_config()
    assert isinstance(settled.run_coordinator, QueuedRunCoordinator)
    assert limits.run_queue_config is not None
    assert limits.run_queue_config.max_concurrent_runs == 8
    assert limits.pool_config.default_pool_limit == 4
    assert limits.pool_config.pool_granularity == PoolGranularity.OP
    assert settled.event_log_storage.supports_global_concurrency_limits


def test_a_limit_of_one_pool_is_kept_in_the_database_and_the_others_keep_the_default(
    settled: dg.DagsterInstance,
) -> None:
    settled.event_log_storage.set_concurrency_slots("train", 1)
    settled.event_log_storage.initialize_concurrency_limit_to_default("tag")
    found = {pool.name: (pool.limit, pool.from_default) for pool in settled.event_log_storage.get_pool_limits()}
    assert found == {"train": (1, False), "tag": (4, True)}


def test_ticks_that_did_nothing_go_after_a_day(settled: dg.DagsterInstance) -> None:
    kept = settled.get_tick_retention_settings(InstigatorType.SENSOR)
    assert kept[TickStatus.SKIPPED] == 1
    assert all(0 < days <= 90 for days in kept.values())
    assert set(settled.get_tick_retention_settings(InstigatorType.SCHEDULE).values()) == {90}


def test_nobody_is_told_anything(settled: dg.DagsterInstance) -> None:
    assert not settled.telemetry_enabled
    assert not settled.nux_enabled


@pytest.mark.parametrize("block", ["compute_logs", "run_launcher"])
def test_what_is_commented_out_is_yaml_when_it_is_not(block: str, tmp_path: Path) -> None:
    lines = (PRODUCTION / "dagster.yaml").read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if line == f"# {block}:")
    rest = [line for line in lines[begin:] if line.startswith("#") or not line]
    text = "\n".join(line.removeprefix("# ") for line in rest[: (*rest, "").index("")])
    (tmp_path / "block.yaml").write_text(text)
    found = settings(tmp_path / "block.yaml")[block]
    assert set(found) == {"module", "class", "config"}


def test_the_workspace_names_the_code_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRISTMILL_CODE_HOST", "code.example.org")
    monkeypatch.setenv("GRISTMILL_CODE_PORT", "4000")
    found = process_workspace_config(settings(PRODUCTION / "workspace.yaml"))
    assert found.success, found.errors
    assert found.value is not None
    (location,) = cast("list[dict[str, Any]]", found.value["load_from"])
    where = location["grpc_server"]
    assert (where["host"], where["port"], where["location_name"]) == ("code.example.org", 4000, "gristmill")
