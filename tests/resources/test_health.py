"""What a look finds in a real database of Dagster: heartbeats and ticks as the daemon writes them."""

import shutil
import socket
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
    TickData,
    TickStatus,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._daemon.types import DaemonHeartbeat
from dagster._grpc.client import DagsterGrpcClient
from dagster._utils.error import SerializableErrorInfo  # type: ignore[attr-defined]  # it does not export it

from gristmill.environment import Environment
from gristmill.lake.ledger.lake_id import make_lake_id, read_lake_id
from gristmill.lake.store.open import open_store
from resources import health
from resources.health import Looker
from resources.pauses import pause_recipes
from resources.watchman import said_daily

pytestmark = pytest.mark.slow

NOW = 1_800_000_000.0
DAEMON = "the daemon has shown no sign of life for 300 s"


def beat(instance: dg.DagsterInstance, now: float = NOW, daemon: str = "d") -> None:
    for kind in instance.get_required_daemon_types():
        instance.add_daemon_heartbeat(DaemonHeartbeat(now, kind, daemon, None))


def sensor(instance: dg.DagsterInstance, name: str, *ticks: str, cursor: str = "", stopped: bool = False) -> None:
    """A sensor whose ticks ended so, one a minute, the newest at NOW."""
    server = ManagedGrpcPythonEnvCodeLocationOrigin(LoadableTargetOrigin(module_name="definitions"), "gristmill")
    origin = RemoteInstigatorOrigin(RemoteRepositoryOrigin(server, "__repository__"), name)
    status = InstigatorStatus.STOPPED if stopped else InstigatorStatus.RUNNING
    state = InstigatorState(origin, InstigatorType.SENSOR, status, SensorInstigatorData(cursor=cursor))
    instance.add_instigator_state(state)
    for number, each in enumerate(ticks, 1):
        when, ended = NOW - 60 * (len(ticks) - number), TickStatus(each)
        more: dict[str, Any] = {"run_ids": []} if ended is TickStatus.SUCCESS else {}
        more |= {"error": SerializableErrorInfo("no disk", [], "OSError")} if ended is TickStatus.FAILURE else {}
        kind, selector = InstigatorType.SENSOR, state.selector_id
        instance.create_tick(TickData(origin.get_id(), name, kind, ended, when, selector_id=selector, **more))


def looked(instance: dg.DagsterInstance, environment: Environment, **locations: Any) -> health.Health:
    return Looker(instance, lambda: locations, environment).look(NOW)


def test_all_is_well(instance: dg.DagsterInstance, environment: Environment) -> None:
    beat(instance, NOW - 299)
    posted = '{"posted": {"a": [1799999910.0, 0], "b": [1799999000.0, 2]}}'
    sensor(instance, "alerts", "SUCCESS", cursor=f"1 posted\n{posted}")
    found = looked(instance, environment, mine=SimpleNamespace(code_location=SimpleNamespace(get_repositories=dict)))
    assert found == health.Health(queued=0, queue_seconds=0, tick_seconds=0, alert_seconds=90, code_servers=1)


def test_sensors_that_stand_still_though_the_daemon_lives_are_told(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    sensor(instance, "alerts", "SUCCESS")
    told = {"ticks": "no sensor has had a tick for 300 s, though the daemon lives"}
    for later, wrong in ((300, {}), (301, told), (90_000, told)):
        beat(instance, NOW + later)
        assert Looker(instance, dict, environment).look(NOW + later).wrong == wrong
    gone = Looker(instance, lambda: {"mine": SimpleNamespace(code_location=None)}, environment)
    assert gone.look(NOW + 90_000).wrong.keys() == {"code server mine"}  # no sensor ticks without it
    beat(instance, NOW)
    assert Looker(instance, dict, environment).look(NOW + 301).wrong.keys() == {"daemon"}


def test_two_daemons_at_once_are_told_until_one_has_ended_and_a_restart_is_not(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    looker = Looker(instance, dict, environment)
    found: list[str] = []
    for number, daemon in enumerate(["first", "second", "second", "third", "second", "third", "third"]):
        now = NOW + 100 * number
        beat(instance, now, daemon)
        found.append(looker.look(now).wrong.get("second daemon", ""))
    two = "two daemons are at work at once: each run is requested twice"
    assert found == ["", "", "", "", two, two, two]
    beat(instance, NOW + 800, "third")
    assert looker.look(NOW + 800).wrong == {}


def test_a_daemon_without_a_heartbeat_is_gone(instance: dg.DagsterInstance, environment: Environment) -> None:
    assert looked(instance, environment).wrong["daemon"].startswith(DAEMON)
    beat(instance, NOW - 301)
    assert looked(instance, environment).wrong["daemon"].startswith(DAEMON)
    beat(instance, NOW - 300)
    assert looked(instance, environment).wrong == {}


def test_a_source_that_cannot_be_looked_at_three_times_in_a_row_is_told(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    beat(instance)
    sensor(instance, "raw_arrivals", "SKIPPED", cursor='{"failed": {"books": 3, "letters": 2}, "sources": {}}')
    lists = '{"failed":{"blocklists/evals.jsonl (1 of 3 entries lost)":3},"marks":{}}'
    sensor(instance, "blocklists", "SUCCESS", cursor=f"requested 1 run: web (2024)\n{lists}")
    assert sorted(looked(instance, environment).wrong.values()) == [
        "the sensor blocklists failed 3 times in a row at blocklists/evals.jsonl (1 of 3 entries lost), and passed it",
        "the sensor raw_arrivals failed 3 times in a row at books, and passed it",
    ]


def test_three_failed_ticks_in_a_row_are_a_sensor_that_fails(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    beat(instance)
    sensor(instance, "three", "SUCCESS", "FAILURE", "FAILURE", "FAILURE")
    sensor(instance, "going_on", "FAILURE", "FAILURE", "FAILURE", "STARTED")
    sensor(instance, "two", "SUCCESS", "FAILURE", "FAILURE")
    sensor(instance, "mended", "FAILURE", "FAILURE", "FAILURE", "SKIPPED")
    sensor(instance, "stopped", "FAILURE", "FAILURE", "FAILURE", stopped=True)
    wrong = looked(instance, environment).wrong
    assert wrong == {
        f"sensor {name}": f"the last 3 ticks of the sensor {name} failed" for name in ("three", "going_on")
    }
    later = Looker(instance, dict, environment).look(NOW + 7200)  # nobody looks at them any more
    assert list(later.wrong) == ["daemon"]


def test_a_sensor_that_a_person_switched_off_is_named_and_is_not_wrong(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    beat(instance)
    for name, stopped in (("arrivals", True), ("alerts", False), ("gone_from_the_code", True)):
        sensor(instance, name, "SUCCESS", stopped=stopped)
    sensors = [
        SimpleNamespace(
            name=state.name,
            selector_id=state.selector_id,
            get_remote_origin_id=partial(str, state.instigator_origin_id),
        )
        for state in instance.all_instigator_state()
        if state.name != "gone_from_the_code"
    ]
    code = SimpleNamespace(get_repositories=lambda: {"r": SimpleNamespace(get_sensors=lambda: sensors)})
    found = looked(instance, environment, mine=SimpleNamespace(code_location=code))
    assert (found.wrong, found.off) == ({}, ["arrivals"])
    assert said_daily(found).endswith("1 code server answers; switched off: arrivals")


def test_a_lake_that_takes_no_write_is_told_and_asked_again_at_each_look(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    lake = Path(environment.lake)
    id_ = make_lake_id(open_store(environment.lake))
    looker, reader = (Looker(instance, dict, environment, writes=writes) for writes in (True, False))
    found: list[list[str]] = []
    for later, mended in ((0, True), (100, False), (299, False), (300, False), (325, True), (350, False)):
        beat(instance, NOW + later)
        shutil.rmtree(lake / ".incoming", ignore_errors=True)
        (lake / ".incoming").unlink() if (lake / ".incoming").is_file() else None
        (lake / ".incoming").mkdir() if mended else (lake / ".incoming").write_bytes(b"no folder")
        assert reader.look(NOW + later).wrong == {}
        found.append([*looker.look(NOW + later).wrong.values()])
    assert found == [[], [], [], ["the write into the lake failed (StoreError)"], [], []]
    assert read_lake_id(open_store(environment.lake)) == id_


def test_an_empty_folder_such_as_that_of_a_disk_which_is_not_mounted_stays_empty(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    beat(instance)
    assert looked(instance, environment).wrong == {}
    assert list(Path(environment.lake).iterdir()) == []


def test_what_a_person_holds_is_named_and_is_not_wrong(instance: dg.DagsterInstance, environment: Environment) -> None:
    beat(instance)
    pause_recipes(instance, ["pages", "books"])
    for pool, limit in (("tag", 0), ("mix", 1), ("train", 0)):
        instance.event_log_storage.set_concurrency_slots(pool, limit)
    found = looked(instance, environment)
    assert (found.wrong, found.paused, found.closed_pools) == ({}, ["books", "pages"], ["tag", "train"])
    assert said_daily(found).endswith("; paused: books, pages; pools without slots: tag, train")


def test_runs_that_wait_are_counted(instance: dg.DagsterInstance, environment: Environment) -> None:
    beat(instance)

    @dg.job
    def mill() -> None:
        """Nothing."""

    for status in (dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.SUCCESS):
        instance.create_run_for_job(mill, status=status)
    found = Looker(instance, dict, environment).look(time.time() + 100)
    assert found.queued == 2
    assert found.queue_seconds is not None
    assert 100 <= found.queue_seconds < 4000
    assert Looker(instance, dict, environment).look(time.time() - 100).queue_seconds == 0  # a clock that was set back


def test_what_a_database_that_is_away_would_count_is_not_zero(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    for file in Path(instance.root_directory).rglob("*.db"):
        file.write_bytes(b"this is no database " * 100)

    def no_workspace() -> dict[str, Any]:
        raise OSError

    gone = Looker(instance, no_workspace, environment).look(NOW)
    assert set(gone.wrong) == {"database", "code server"}
    assert (gone.queued, gone.queue_seconds, gone.tick_seconds, gone.code_servers) == (None, None, None, None)
    assert said_daily(gone).startswith(
        "Gristmill is alive: an unknown number of runs wait or start; no sensor has ticked; an unknown number of code"
    )


def test_a_lake_and_a_code_server_that_are_away(instance: dg.DagsterInstance, environment: Environment) -> None:
    beat(instance)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        client = DagsterGrpcClient(host="127.0.0.1", port=free.getsockname()[1])
    dead = SimpleNamespace(code_location=SimpleNamespace(client=client))
    shutil.rmtree(environment.lake)
    found = looked(instance, environment, dead=dead, unloaded=SimpleNamespace(code_location=None))
    assert found.code_servers == 0
    assert set(found.wrong) == {"lake", "code server dead", "code server unloaded"}


def test_a_part_that_hangs_hides_no_other(
    instance: dg.DagsterInstance, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = threading.Event()

    def hang() -> Mapping[str, Any]:
        end.wait()
        return {}

    looker = Looker(instance, hang, environment)
    monkeypatch.setattr(health, "LIMIT", 0.5)
    try:
        assert looker.look(NOW).wrong["code server"] == "the code server did not answer within 0 s"
        again = looker.look(NOW).wrong
        assert again["code server"] == "the code server has not answered since an earlier look"
        assert again["daemon"].startswith(DAEMON)
    finally:
        end.set()
