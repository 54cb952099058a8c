"""How long CI may take: thirty minutes of tests on the reference machine, and longer on a slower one.

The time of installs is measured apart: it depends on the network. The yardstick is a computation that is always the
same: its time tells how fast the machine is. This file runs before anything is installed, so it imports no package.
"""

import hashlib
import statistics
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

ALL_TESTS = 30 * 60.0
"""Seconds that all steps of CI may take together, without installs."""
FAST_TESTS = 4 * 60.0
"""Seconds that `make test` may take once its environment exists."""
REFERENCE = 1.05
"""Seconds that the yardstick takes on the reference: two cores of an AMD EPYC that have nothing else to do."""
CORES = 2
"""So many computations run at once, because so many test processes do."""


@dataclass(frozen=True)
class Span:
    """One step of CI.

    Attributes:
        name: for people.
        begin: seconds on a monotonic clock.
        end: on the same clock.
        cpu: processor seconds of its process and of the children that it waited for.
        install: whether it installs packages; else it tests.
        ok: whether it ended well.
        note: what it said last, if it ran beside others.
    """

    name: str
    begin: float
    end: float
    cpu: float
    install: bool = False
    ok: bool = True
    note: str = ""


def compute(_: int = 0) -> str:
    """The computation of the yardstick: half of it in Python, half of it in C."""
    state, digest = 1, hashlib.sha256()
    for _ in range(100):
        words = []
        for _ in range(20_000):
            state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
            words.append(state % 1_000)
        data = ",".join(map(str, words)).encode()
        digest.update(zlib.compress(data, 6))
    return digest.hexdigest()


def yardstick() -> float:
    """Seconds that the computation takes now, on all cores at once."""
    begin = time.perf_counter()
    with ProcessPoolExecutor(CORES) as pool:
        results = set(pool.map(compute, range(CORES)))
    if len(results) != 1:
        raise ArithmeticError("the same computation had two results")
    return time.perf_counter() - begin


def allowed(seconds: float, yardsticks: Sequence[float]) -> float:
    """What a budget is on this machine.

    The median of the yardsticks counts, because one of them may be disturbed. A fast machine shortens no budget.
    """
    return seconds * max(1.0, statistics.median(yardsticks) / REFERENCE)


def covered(spans: Sequence[Span]) -> float:
    """Seconds during which at least one of the steps ran."""
    total = end = 0.0
    for span in sorted(spans, key=lambda each: each.begin):
        total += max(0.0, span.end - max(span.begin, end))
        end = max(end, span.end)
    return total


def over_budget(spans: Sequence[Span], yardsticks: Sequence[float]) -> bool:
    """Whether the tests took longer than this machine may need."""
    return covered([span for span in spans if not span.install]) > allowed(ALL_TESTS, yardsticks)


def table(spans: Sequence[Span], yardsticks: Sequence[float], fast: str) -> str:
    """All steps, then installs, tests and total beside the yardstick.

    Args:
        spans: the steps, in the order in which they are shown.
        yardsticks: what was measured at the start, in the middle and at the end.
        fast: name of the step that has a budget of its own.
    """
    begin = min(span.begin for span in spans)
    lines = [f"{'step':<24}{'from':>7}{'wall':>7}{'CPU':>7}"]
    for span in spans:
        verdict = "" if span.ok else "  FAILED"
        times = (clock(span.begin - begin), clock(span.end - span.begin), clock(span.cpu))
        lines.append(f"{span.name:<24}" + "".join(f"{each:>7}" for each in times) + f"{verdict}  {span.note}".rstrip())
    tests = [span for span in spans if not span.install]
    installs = [span for span in spans if span.install]
    measured = ", ".join(f"{each:.2f}" for each in yardsticks)
    lines += ["", f"yardstick  {measured} s; {REFERENCE:.2f} s on the reference machine"]
    budget = allowed(FAST_TESTS, yardsticks)
    lines += [_line(fast, span.end - span.begin, budget) for span in tests if span.name == fast]
    alone = covered(spans) - covered(tests)
    lines += [
        _line("tests", covered(tests), allowed(ALL_TESTS, yardsticks)),
        f"installs   {clock(covered(installs))}, of which no test ran beside them for {clock(alone)}",
        f"total      {clock(max(span.end for span in spans) - begin)}",
    ]
    return "\n".join(lines)


def _line(name: str, seconds: float, budget: float) -> str:
    verdict = "OVER THE BUDGET OF" if seconds > budget else "of"
    return f"{name:<11}{clock(seconds)} {verdict} {clock(budget)}"


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"
