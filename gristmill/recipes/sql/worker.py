"""A process that runs rules: it checks them, and evaluates them over rows. process.py starts it and asks it.

A short rule can need any amount of time and memory, and DuckDB's own limit does not count the strings that functions
make. So DuckDB runs here alone: the operating system ends this process when a rule passes its limits.
"""

import resource
import signal
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from gristmill.interrupts import ignore_interrupt_in_child
from gristmill.recipes.sql.rule_sql import allowed_functions, check_expressions, open_sandbox

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

IDLE = 20.0
"""Seconds without a request after which the process ends."""

HEARD = b"heard"
"""Sent before the answer. Who has not heard it may ask another process: no rule has done anything yet."""

TABLE = "__rows"
"""Name of the rows in SQL; a column cannot have it, because column names begin with a letter."""


class ProcessLimits(msgspec.Struct, frozen=True):
    """What one request, or one row of an expression in jq, may use.

    Attributes:
        seconds: CPU time. A busy machine does not shorten it.
        memory: bytes that the whole process may have. DuckDB needs about 0.1 GB of them. Only Linux enforces it.
    """

    seconds: float
    memory: int


class CheckRules(msgspec.Struct, frozen=True, tag=True):
    """Asks whether rules are valid.

    Attributes:
        columns: name and SQL type of each column.
        wheres: the rules' expressions.
        limits: limits for this request.
    """

    columns: tuple[tuple[str, str], ...]
    wheres: tuple[str, ...]
    limits: ProcessLimits


class EvaluateRules(msgspec.Struct, frozen=True, tag=True):
    """Asks for a query's column `decision` (an integer) over the rows that follow as an Arrow stream.

    Attributes:
        query: a SELECT from TABLE.
        limits: limits for this request.
    """

    query: str
    limits: ProcessLimits


class RuleAnswer(msgspec.Struct, frozen=True):
    """The answer to a request. The decisions of EvaluateRules follow as bytes, if nothing is wrong.

    Attributes:
        wrong: empty; or `rule`: a rule is not valid; `row`: a query failed; `memory`: it needs more than its limit;
            `broken`: DuckDB failed, and this process must end.
        words: description of the fault; empty if all rules are right.
        number: number of the wrong rule.
    """

    wrong: Literal["", "rule", "row", "memory", "broken"] = ""
    words: str = ""
    number: int = 0


def answer_requests(connection: Connection) -> None:
    """Answers requests until there is none for IDLE seconds, the other process ends, or an answer took much memory."""
    requests = msgspec.json.Decoder(CheckRules | EvaluateRules)
    duck = open_sandbox()
    callable_ = allowed_functions(duck)
    while connection.poll(IDLE):
        request = requests.decode(connection.recv_bytes())
        rows = connection.recv_bytes() if isinstance(request, EvaluateRules) else b""
        connection.send_bytes(HEARD)
        resource.setrlimit(resource.RLIMIT_DATA, (request.limits.memory, resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_PROF, request.limits.seconds)
        answer, decisions = _answer_request(duck, callable_, request, rows)
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        connection.send_bytes(msgspec.json.encode(answer))
        if not answer.wrong and isinstance(request, EvaluateRules):
            connection.send_bytes(decisions)
        if _held_memory_bytes() > request.limits.memory // 4:
            # allocators keep what they had: the next request starts afresh
            return


def _held_memory_bytes() -> int:
    """Bytes that this process has, as RLIMIT_DATA counts them; 0 on systems that do not tell."""
    counts = Path("/proc/self/statm")
    return int(counts.read_text().split()[5]) * resource.getpagesize() if counts.exists() else 0


def _answer_request(
    duck: "DuckDBPyConnection", callable_: frozenset[str], request: CheckRules | EvaluateRules, rows: bytes
) -> tuple[RuleAnswer, bytes]:
    import duckdb  # noqa: PLC0415 - takes 0.3 s to import

    try:
        if isinstance(request, EvaluateRules):
            return RuleAnswer(), _decide_rows(duck, request.query, rows)
        fault = find_invalid_rule(duck, callable_, request.columns, request.wheres)
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        return RuleAnswer("memory", first_message_line(error)), b""
    except (duckdb.InternalException, duckdb.FatalException, duckdb.InterruptException) as error:
        return RuleAnswer("broken", first_message_line(error)), b""
    except duckdb.Error as error:
        return RuleAnswer("row", first_message_line(error)), b""
    return RuleAnswer("rule", fault[1], fault[0]) if fault else RuleAnswer(), b""


def _decide_rows(duck: "DuckDBPyConnection", query: str, rows: bytes) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import

    duck.register(TABLE, pa.ipc.open_stream(rows).read_all())
    try:
        return bytes(duck.execute(query).fetchnumpy()["decision"].tobytes())
    finally:
        duck.unregister(TABLE)


def find_invalid_rule(
    duck: "DuckDBPyConnection",
    callable_: frozenset[str],
    columns: Sequence[tuple[str, str]],
    wheres: Sequence[str],
) -> tuple[int, str] | None:
    """The first rule that is not valid: its number, and what is wrong with it; None if all are valid.

    The form of each rule is checked, then the types of all. The rules also run on a row of nulls. That finds rules that
    can never work, such as a constant that cannot be cast.

    Args:
        duck: the sandbox.
        callable_: the functions that rules may call.
        columns: name and SQL type of each column.
        wheres: the expressions.
    """
    for number, complaint in enumerate(check_expressions(duck, wheres, [name for name, _ in columns], callable_)):
        if complaint is not None:
            return number, complaint
    return _find_wrong_type(duck, columns, wheres)


def _find_wrong_type(
    duck: "DuckDBPyConnection", columns: Sequence[tuple[str, str]], wheres: Sequence[str]
) -> tuple[int, str] | None:
    """Binds all rules at once. Only if that fails, it binds them one by one, to name the wrong one."""
    import duckdb  # noqa: PLC0415 - takes 0.3 s to import

    nulls = ", ".join(f"NULL::{kind}" for _, kind in columns)
    names = ", ".join(f'"{name}"' for name, _ in columns)
    conditions = ", ".join(f"(\n{where}\n)" for where in wheres)
    try:
        duck.execute(f"SELECT {conditions} FROM (VALUES ({nulls})) AS {TABLE}({names})").fetchall()  # noqa: S608 - checked before
    except (duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.FatalException):
        raise
    except duckdb.Error as error:
        if len(wheres) == 1:
            return 0, first_message_line(error)
        for number, where in enumerate(wheres):
            fault = _find_wrong_type(duck, columns, [where])
            if fault:
                return number, fault[1]
        raise  # each rule is valid alone, so the cause is not in the rules
    for number, bound in enumerate(duck.description or ()):
        if str(bound[1]) != "BOOLEAN":
            return number, f"its value is {bound[1]}, not BOOLEAN"
    return None


def first_message_line(error: Exception) -> str:
    """The first line of DuckDB's message, at most 200 characters. The next lines only point at the place in the SQL."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def main() -> None:
    """Serves the connection whose descriptor is the only argument."""
    ignore_interrupt_in_child()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, also in the middle of native code
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Connection(int(sys.argv[1])) as connection:
        try:
            answer_requests(connection)
        except (EOFError, BrokenPipeError, ConnectionResetError):  # the other process has ended
            return


if __name__ == "__main__":
    main()
