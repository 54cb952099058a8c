"""The process of a run: `python -m resources.run_worker RUN_ID`, which the run launcher starts.

It is Dagster's own `dagster api execute_run`, whose arguments come by standard input. Beside it a thread looks at the
run in Dagster's database, and ends the process when somebody has terminated the run. So nobody needs to reach this
process, neither by a code server nor by a signal.
"""

import os
import runpy
import signal
import sys
import time

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, deserialize_value, serialize_value
from dagster._grpc.types import ExecuteRunArgs

from gristmill.threads import start_thread
from resources.patience import be_patient
from resources.run_process import process_tag

_BEFORE = frozenset({DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTING})

LOOK = 3.0
"""Seconds between two looks at the run."""
BEAT = 300.0
"""Seconds between two lines in the run's log that say that it works."""
GRACE = 60.0
"""Seconds that the process may take to end after its run has ended in Dagster."""


class RunWatch:
    """Looks at a run until its process ends.

    Args:
        instance: Dagster's.
        run_id: the run that this process executes.
    """

    def __init__(self, instance: DagsterInstance, run_id: str) -> None:
        self._instance, self._run_id = instance, run_id
        self._beat = time.monotonic()
        self._ended: float | None = None
        self._asked = False

    def look(self) -> None:
        """Looks once. It ends the process by a signal, or at once if its run has ended long ago."""
        now = time.monotonic()
        run = self._instance.get_run_by_id(self._run_id)
        if run is None or run.is_finished:
            self._ended = self._ended or now
            if now - self._ended >= GRACE:  # terminated by force, say, while the process hangs
                os.kill(os.getpid(), signal.SIGKILL)
        elif run.status == DagsterRunStatus.CANCELING:
            if not self._asked:
                os.kill(os.getpid(), signal.SIGTERM)
            self._asked = True
        elif now - self._beat >= BEAT:
            self._instance.report_engine_event("the process of this run is at work", run)
            self._beat = now

    def watch(self) -> None:
        """Looks for ever. A database that does not answer is asked again."""
        while True:
            time.sleep(LOOK)
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - whatever it is, the next look is asked anew
                sys.stderr.write(f"run {self._run_id}: {type(error).__name__}: {error}\n")


def worker_input(instance: DagsterInstance, run: DagsterRun) -> bytes:
    """The message that the process of a run reads from its standard input: what to execute.

    Everybody could read it on a command line, and dagster.yaml may hold a password.

    Args:
        instance: Dagster's.
        run: the run.

    Raises:
        ValueError: the run does not say where its code is: nobody can launch it.
    """
    if run.job_code_origin is None:
        raise ValueError(f"run {run.run_id} does not say in which module its job is")
    return serialize_value(ExecuteRunArgs(run.job_code_origin, run.run_id, instance.get_ref())).encode()


def main() -> None:
    """Says which process the run is, and executes it. Without a whole input, whoever started it has died: it ends."""
    text = sys.stdin.read()
    args = deserialize_value(text, ExecuteRunArgs)
    if args.instance_ref is None:  # worker_input names it
        raise ValueError("the input names no instance")
    be_patient()
    with DagsterInstance.from_ref(args.instance_ref) as instance:
        run = instance.get_run_by_id(args.run_id)
        if run is not None and run.status in _BEFORE:  # else another process executes it, and Dagster ignores this one
            instance.add_run_tags(args.run_id, process_tag())
        start_thread(RunWatch(instance, args.run_id).watch, name="watch")
        sys.argv = ["dagster", "api", "execute_run", text]
        runpy.run_module("dagster", run_name="__main__")


if __name__ == "__main__":
    main()
