"""How Dagster's daemon records ticks of sensors that request no run: this hangs on how the pinned Dagster does it."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.scheduler.instigation import InstigatorTick
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.test_utils import create_test_daemon_workspace_context, instance_for_test
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.sensor import execute_sensor_iteration
from dagster_kit import SHELVES, Works, letters
from paths import python_path

pytestmark = pytest.mark.slow


def test_a_tick_that_found_something_is_a_success_and_one_that_did_not_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRISTMILL_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("GRISTMILL_SHELVES", ",".join(SHELVES))
    monkeypatch.setenv("GRISTMILL_INTERVAL", "1")
    monkeypatch.setenv("PYTHONPATH", python_path())
    with instance_for_test() as instance:
        works = Works(tmp_path / "lake", instance)
        works.raw(letters(1, 2))
        target = ModuleTarget("gristmill.dagster_location", None, str(tmp_path), "gristmill")
        with create_test_daemon_workspace_context(target, instance) as workspace:
            ticks: Sequence[InstigatorTick] = []
            while len(ticks) < 2:  # a sensor is asked again when its second has passed
                list(execute_sensor_iteration(workspace, logging.getLogger(__name__), None, None))
                ticks = _ticks(instance, "raw_arrivals")
                time.sleep(0.2)
        logs = [_has_log(instance, tick) for tick in ticks[:2]]
    newest = ticks[:2]
    assert [(tick.status.value, tick.run_ids, tick.origin_run_ids) for tick in newest] == [
        ("SKIPPED", [], []),
        ("SUCCESS", [], []),
    ]
    assert (newest[1].cursor or "").startswith("letters: 2024 new: 1 file, ")
    assert newest[0].skip_reason == "nothing new"
    assert logs == [False, True], "a tick that has nothing to say leaves no file"


def _has_log(instance: dg.DagsterInstance, tick: InstigatorTick) -> bool:
    """Whether the log of a tick has a file."""
    manager = instance.compute_log_manager
    assert isinstance(manager, LocalComputeLogManager)
    return Path(manager.get_captured_local_path(list(tick.log_key or ()), "err")).exists()


def _ticks(instance: dg.DagsterInstance, name: str) -> Sequence[InstigatorTick]:
    """The ticks of a sensor, the newest first."""
    found = [each for each in instance.all_instigator_state() if each.name == name]
    if not found:
        return []
    [state] = found
    return instance.get_ticks(state.instigator_origin_id, state.selector_id)
