"""Starts the processes that run rules (worker.py), and asks them. One that passes its limits ends alone."""

import atexit
import os

import msgspec

from gristmill.errors import DataError, undone_at_failure
from gristmill.recipes.sql.limited_process import LimitedProcess, process_end_reason
from gristmill.recipes.sql.worker import HEARD, CheckRules, EvaluateRules, ProcessLimits, RuleAnswer

LIMITS = ProcessLimits(seconds=60.0, memory=2 << 30)
"""For the rules of a selection, over one slice of a batch (rule_engine.py) or one row that is larger."""

CHECK_LIMITS = ProcessLimits(seconds=5.0, memory=LIMITS.memory)
"""For the check of a selection's rules when its recipe loads. Ten rules take two or three milliseconds."""

_TRIES = 3
"""How many processes may end before they hear a request. One ends if it was idle for long, or took much memory."""

_KEPT = frozenset({"PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TMPDIR"})
"""Environment variables of the process. The others may be secrets, and rules need none."""

_SMALL = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Keeps libraries from reserving memory at once, which would count although it is not used."""


class RuleStopped(DataError):  # noqa: N818 - named like RuleFailed
    """The process ended before it had answered: a rule passed its limits, or broke DuckDB. The message says which."""


class _RuleProcess(LimitedProcess):
    """A process that runs rules."""

    def __init__(self) -> None:
        super().__init__("gristmill.recipes.sql.worker", kept=_KEPT, variables=_SMALL)

    def send_request(self, request: CheckRules | EvaluateRules, rows: bytes) -> bool:
        """Sends a request. False: the process ended before it began to work on it."""
        try:
            self.connection.send_bytes(msgspec.json.encode(request))
            if isinstance(request, EvaluateRules):
                self.connection.send_bytes(rows)
            return self.connection.recv_bytes() == HEARD
        except (EOFError, OSError):
            return False

    def receive_answer(self, request: CheckRules | EvaluateRules) -> tuple[RuleAnswer, bytes] | None:
        """The answer, and its decisions; None if the process has ended."""
        try:
            answer = msgspec.json.decode(self.connection.recv_bytes(), type=RuleAnswer)
            more = isinstance(request, EvaluateRules) and not answer.wrong
            return answer, self.connection.recv_bytes() if more else b""
        except (EOFError, OSError):
            return None


_idle: dict[int, list[_RuleProcess]] = {}
"""Processes without work, by the process that started them: a forked child must not use those of its parent."""


@atexit.register
def _end_idle_processes() -> None:
    for process in _idle.pop(os.getpid(), []):
        process.kill_process()


def start_rule_process_early() -> None:
    """Starts a process that will run rules, so that the first request does not wait until it is there."""
    idle = _idle_processes_here()
    if not idle:
        idle.append(_RuleProcess())


def _idle_processes_here() -> list[_RuleProcess]:
    """The processes without work that this process has started."""
    return _idle.setdefault(os.getpid(), [])


def ask_rule_process(request: CheckRules | EvaluateRules, rows: bytes = b"") -> tuple[RuleAnswer, bytes]:
    """Asks a process that runs rules; starts one if none is idle. Any number of threads may ask at the same time.

    Args:
        request: task for the process, with its limits.
        rows: the rows of EvaluateRules as bytes of an Arrow stream.

    Returns:
        The answer, and the decisions of EvaluateRules: one per row, of the type that its query gives them.

    Raises:
        RuleStopped: the rules passed their limits, or broke DuckDB.
    """
    idle = _idle_processes_here()
    for _ in range(_TRIES):
        try:
            process = idle.pop()
        except IndexError:
            process = _RuleProcess()
        with undone_at_failure(
            process.kill_process
        ):  # when this process is being stopped, the answer would come too late
            heard = process.send_request(request, rows)
            answered = process.receive_answer(request) if heard else None
        if answered is None:
            code = process.end()
            if heard:
                raise RuleStopped(process_end_reason(code, request.limits, "DuckDB"))
            continue
        if answered[0].wrong in {"memory", "broken"}:
            process.kill_process()
        else:
            idle.append(process)
        if answered[0].wrong == "broken":
            raise RuleStopped(f"broke DuckDB ({answered[0].words})")
        return answered
    raise RuleStopped("could not be asked: the process that runs rules ends at once")
