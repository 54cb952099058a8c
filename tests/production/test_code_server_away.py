"""The code server is away for longer than the queue waits, while a run waits there.

The queue is closed while Dagster's daemon and the code server end, and while they are started again.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml  # type: ignore[import-untyped]
from deployed import PRODUCTION, Deployed, free_port
from hook import __file__ as hook_file
from hook import told_in
from postgres import Postgres
from testkit import packed

from assets.support.arrivals import report_arrivals
from assets.support.next_steps import OF_GIVEN_UP, OF_UNSTARTED
from gristmill.lake.address import raw_folder
from gristmill.lake.store.open import open_store
from gristmill.recipes.catalogue import read_catalogue

SETTINGS = {"max_concurrent_runs": 0, "max_user_code_failure_retries": 2, "user_code_failure_retry_delay": 1}
"""The queue is closed; open, it tries three times, a second apart, where production tries for ten minutes."""
DAGSTERS_OWN = {"module": "dagster", "class": "DefaultRunLauncher"}
"""The launcher that lets the code server start each run."""

SENSOR = "unstarted_runs"
LATE = "late"
TIMES = 4
"""How often the queue gives up: the run that a person has launched, and three that the sensor has requested."""


class Away:
    """A deployment with a snapshot `late`, and a webhook.

    Args:
        folder: for all files.
        database: environment of a database.
        launcher: settings of the run launcher, if it is not that of production.
    """

    def __init__(self, folder: Path, database: dict[str, str], launcher: dict[str, str]) -> None:
        self._told = folder / "told.jsonl"
        self._told.touch()
        lake, port = folder / "lake", free_port()
        lake.mkdir()
        self._hook = subprocess.Popen([sys.executable, hook_file, str(port), str(self._told)])
        told = {"GRISTMILL_WEBHOOK": f"http://127.0.0.1:{port}/hook", "GRISTMILL_INTERVAL": "1"}
        told |= {"GRISTMILL_ENGINE": "inline"}
        settings = {**SETTINGS, **launcher}
        self.live = Deployed(folder, str(lake), database, shelves=("gateshelf",), environment=told, settings=settings)
        self.live.pause()
        store, row = open_store(str(lake)), {"id": "letter-1", "text": "calm", "source": "gated"}
        store.put(f"{raw_folder('gated', LATE)}a.jsonl.gz", packed([row]))
        with dg.DagsterInstance.from_config(str(self.live.home)) as instance:
            report_arrivals(instance, read_catalogue(("gateshelf",)).sources["gated"], store)

    def end(self, *names: str) -> None:
        """SIGKILL to the code server, or the daemon."""
        for name in names:
            self.live.kill_one(name)

    def begin_daemon(self, slots: int) -> None:
        """Starts the daemon, whose queue has so many slots; 0: it is closed."""
        file = self.live.home / "dagster.yaml"
        file.write_text(re.sub(r"(max_concurrent_runs:) [0-9]+", rf"\1 {slots}", file.read_text()))
        self.live.serve("daemon")

    def begin_code(self) -> None:
        """Starts the code server, and waits for it."""
        self.live.serve("code")
        self.live.wait(self.live.is_up, "the code server")

    def late(self) -> list[str]:
        """The statuses of the runs of `late`, newest first."""
        return [run["status"] for run in self.live.runs(tags=[{"key": "dagster/partition", "value": LATE}])]

    def told(self) -> list[str]:
        """The messages about `late`, oldest first."""
        return [each["text"] for each in told_in(self._told) if each["snapshot"] == LATE]

    def wait_for_tick(self, sensor: str) -> None:
        """Waits until a tick has begun and ended from now on."""
        before = {tick["timestamp"] for tick in self.live.ticks(sensor)}

        def two_more() -> bool:  # the first of them may have begun before
            return len([tick for tick in self.live.ticks(sensor) if tick["timestamp"] not in before]) > 1

        self.live.wait(two_more, f"a tick of {sensor}")

    def close(self) -> None:
        """Ends everything."""
        self.live.close()
        self._hook.kill()
        self._hook.wait()


@pytest.fixture
def away(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Away]:
    database = postgres.create(tmp_path.name)
    for name, value in database.items():
        monkeypatch.setenv(name, value)
    away = Away(tmp_path, database, request.param)
    yield away
    away.close()


def test_in_production_the_queue_waits_ten_minutes_for_the_code_server() -> None:
    queue = yaml.safe_load((PRODUCTION / "dagster.yaml").read_text())["run_queue"]
    assert queue["max_user_code_failure_retries"] * queue["user_code_failure_retry_delay"] == 600


@pytest.mark.live
@pytest.mark.parametrize("away", [{}], indirect=True, ids=["production"])
def test_with_the_launcher_of_production_a_run_that_waited_needs_no_code_server(away: Away) -> None:
    run = away.live.launch("gated_journey", LATE)
    away.end("code", "daemon")
    away.begin_daemon(1)
    away.live.succeed(run)


@pytest.mark.live
@pytest.mark.parametrize("away", [DAGSTERS_OWN], indirect=True, ids=["dagster"])
def test_a_run_that_the_queue_gave_up_is_requested_three_times_and_told(away: Away) -> None:
    live = away.live
    for name in ("alerts", SENSOR):
        live.resume(name)
        away.wait_for_tick(name)  # what failed before is history
    live.launch("gated_journey", LATE)
    for number in range(1, TIMES + 1):
        queued = ["QUEUED"] + ["FAILURE"] * (number - 1)
        live.wait(lambda wanted=queued: away.late() == wanted, "the request")  # type: ignore[misc]
        away.end("code", "daemon")
        away.begin_daemon(1)
        live.wait(lambda: away.late()[0] == "FAILURE", "the end of the queue's patience")
        away.end("daemon")
        away.begin_daemon(0)
        away.begin_code()
    live.wait(lambda: len(away.told()) == 3, "the alert that nothing requests it any more")
    away.wait_for_tick(SENSOR)
    assert away.late() == ["FAILURE"] * TIMES
    # Of a journey, of what it was to make, and the last; the third is like the second.
    assert [text.partition("Next: ")[2].partition("\n")[0] for text in away.told()] == [
        OF_UNSTARTED,
        OF_UNSTARTED,
        OF_GIVEN_UP,
    ]
    away.end("daemon")
    away.begin_daemon(1)
    live.succeed(live.launch("gated_journey", LATE))
