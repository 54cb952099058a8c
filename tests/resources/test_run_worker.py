"""The process of a run ends when its run has ended in Dagster, whatever it does itself, and says that it works."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launched import Launched, wait

from resources.run_worker import worker_input

pytestmark = pytest.mark.slow

HASTY = "import resources.run_worker as it; it.LOOK, it.BEAT, it.GRACE = 0.2, 0.2, 1.0; it.main()"


def test_a_process_that_hears_no_signal_ends_after_its_run_was_terminated_by_force(tmp_path: Path) -> None:
    launched = Launched(tmp_path)
    run = launched.create("deaf")

    def says(words: str) -> bool:
        return any(words in line for line in launched.said(run.run_id))

    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen([sys.executable, "-c", HASTY], stdin=subprocess.PIPE, stdout=log, stderr=log)
    assert worker.stdin is not None
    worker.stdin.write(worker_input(launched.instance, run))
    worker.stdin.close()
    try:
        assert launched.enter(run.run_id) == worker.pid
        wait(lambda: says("the process of this run is at work"), "a line that says so")
        assert launched.instance.run_launcher.terminate(run.run_id)
        wait(lambda: says("did not hear DagsterExecutionInterruptedError"), "the signal")
        assert worker.poll() is None
        launched.instance.report_run_canceled(launched.run(run.run_id))  # as "Force termination immediately" does
        assert worker.wait(timeout=60) == -signal.SIGKILL
    finally:
        worker.kill()
        worker.wait()
        launched.close()
