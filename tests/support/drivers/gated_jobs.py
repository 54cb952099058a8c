"""The definitions of a code server whose runs wait at a gate, the folder GATE. A run in it has left its pid."""

import os
import time
from pathlib import Path

import dagster as dg


@dg.op
def pass_gate(context: dg.OpExecutionContext) -> None:
    """Waits until the gate is open."""
    stand(context)


def stand(context: dg.OpExecutionContext) -> None:
    gate = Path(os.environ["GATE"])
    (gate / f"{context.run_id}.new").write_text(str(os.getpid()))
    (gate / f"{context.run_id}.new").rename(gate / f"{context.run_id}.pid")
    while not (gate / "open").exists():
        time.sleep(0.02)


@dg.op
def hear_nothing(context: dg.OpExecutionContext) -> None:
    """Waits as a process does that hangs: no signal but SIGKILL ends it."""
    while True:
        try:
            stand(context)
        except BaseException as error:  # noqa: BLE001 - that is what it is for
            context.log.info(f"did not hear {type(error).__name__}")


@dg.job(executor_def=dg.in_process_executor)
def gated() -> None:
    """Ends when the gate is open."""
    pass_gate()


@dg.op
def do_nothing() -> None:
    """Ends at once."""


@dg.job(executor_def=dg.in_process_executor)
def short() -> None:
    """Ends at once."""
    do_nothing()


@dg.job(executor_def=dg.in_process_executor)
def deaf() -> None:
    """Ends never."""
    hear_nothing()


defs = dg.Definitions(jobs=[gated, short, deaf])
