"""A run launcher whose runs are processes of their own, and which sees whether they live."""

import os
import subprocess
import sys
import time

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, DefaultRunLauncher
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, WorkerStatus

from gristmill.process import how_ended, this_process
from gristmill.threads import start_thread
from resources.pools import make_pools
from resources.run_process import process_of
from resources.run_worker import BEAT, worker_input

SILENCE = 3 * BEAT
"""Seconds without a new line in its log after which a run counts as dead whose process cannot be seen from here."""


DAEMON_ONLY = "MALLOC_"
"""How the names of variables begin that runs do not inherit: glibc's settings, which keep the daemon small and would
make runs, which take and give back large arrays, slower."""

WAITER = "waits for run"
"""How the names of the threads begin that wait for the end of a run."""


class WatchedRunLauncher(DefaultRunLauncher):
    """Starts each run as a process that depends on no other, and tells Dagster's run monitoring whether it lives.

    Dagster's default launcher lets the code server start a run, and asks the code server about it. If the run dies at
    that moment, the answer may never come, and no run starts any more. A request that takes too long is sent again, and
    the run is executed twice. Here nobody asks the code server for anything:

    1. The queue of Dagster's daemon asks for a run. The launcher makes the rows of its pools (resources/pools.py), and
       starts `resources.run_worker` in a session of its own. It is started, or it is not: nothing is sent twice.
    2. The worker writes a tag of the run, with host, boot, process number and start, and executes the run.
    3. A thread of the daemon waits for the worker. If that dies, the run fails at once, and `run_retries` begins anew.
    4. A later daemon looks whether the process lives. If it cannot see it (another machine or container), it looks
       whether the log of the run grows: each worker writes a line every five minutes.
    5. Whoever terminates a run writes so into the database. The worker reads it there.

    If a living run is counted as dead all the same, only time is lost: the new run takes over its claim in the lake.
    """

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]  # Dagster's own arguments
        self._children: set[str] = set()
        self._heard: dict[str, tuple[int, float]] = {}

    def launch_run(self, context: LaunchRunContext) -> None:
        """Starts the process of a run whose pools all have their rows.

        Raises:
            OSError: the system starts no process. Then Dagster fails the run.
        """
        run, instance = context.dagster_run, self._instance
        concurrency = run.run_op_concurrency
        if concurrency is not None:
            make_pools(instance, concurrency.all_pools or ())
        told = worker_input(instance, run)
        command = [sys.executable, "-m", "resources.run_worker", run.run_id]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(DAEMON_ONLY)}
        child = subprocess.Popen(command, stdin=subprocess.PIPE, env=inherited, start_new_session=True)  # noqa: S603 - our own module
        self._children.add(run.run_id)
        start_thread(self._wait, instance, run.run_id, child, told, name=f"{WAITER} {run.run_id}")

    def _wait(self, instance: DagsterInstance, run_id: str, child: "subprocess.Popen[bytes]", told: bytes) -> None:
        """Tells a process what to execute, waits for it, and reports its end if the run has not ended."""
        try:
            child.communicate(told)
            how = how_ended(child.wait())
            run = instance.get_run_by_id(run_id)
            if run is not None and not run.is_finished and _is_gone(run):
                canceled = run.status == DagsterRunStatus.CANCELING
                report = instance.report_run_canceled if canceled else instance.report_run_failed
                report(run, f"its process {child.pid} {how}")
        finally:  # also if the database is away: then run monitoring finds the dead process
            self._children.discard(run_id)

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Whether Dagster may ask for the health of a run's process: always."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Whether a run lives. It asks the system and Dagster's database, and no other process.

        A run that no launcher has started (`dagster job execute`) names no process, and is taken for alive.
        """
        process = process_of(run.tags)
        if run.run_id in self._children or process is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        alive = process.runs(this_process())
        if alive is False:
            return CheckRunHealthResult(WorkerStatus.NOT_FOUND, f"{process} has ended")
        if alive is None and (silent := self._silence(run.run_id)) >= SILENCE:
            return CheckRunHealthResult(WorkerStatus.NOT_FOUND, f"{process} has been silent for {silent:.0f} s")
        return CheckRunHealthResult(WorkerStatus.RUNNING)

    def _silence(self, run_id: str) -> float:
        """Seconds since this launcher saw the log of a run grow. Clocks of two machines are not compared."""
        last = self._instance.get_records_for_run(run_id, limit=1, ascending=False).records
        newest, now = (last[0].storage_id if last else 0), time.monotonic()
        before, since = self._heard.get(run_id, (-1, now))
        if newest != before:
            since = now
        self._heard[run_id] = newest, since
        return now - since

    def terminate(self, run_id: str) -> bool:
        """Writes that a run is to end. Its process sees it within seconds.

        Returns:
            Whether the run had not ended yet.
        """
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        if process_of(run.tags) and _is_gone(
            run
        ):  # also if it has just failed: else it would be "canceling" for minutes
            self._instance.report_run_canceled(run, "its process had ended before")
        return True


def _is_gone(run: DagsterRun) -> bool:
    """Whether no process executes a run, as far as one can see from here.

    If two daemons work by mistake, both may have started a process, and one of them has nothing to do and ends.
    """
    process = process_of(run.tags)
    return process is None or process.runs(this_process()) is False
