"""What CI runs, from a clean clone: the commands that a developer types, and how long each of them took.

Installs begin at once, and live tests, which mostly wait, run beside those that compute. What runs beside others writes
to a file that is shown at the end. This file runs before anything is installed, so it imports no package.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.budget import ALL_TESTS, Span, allowed, clock, over_budget, table, yardstick

CHECKOUT = Path(__file__).resolve().parent.parent
LIVE = "tests/live/test_live_backfills.py tests/live/test_live_cancel.py tests/production/test_nights.py"
FAST = "make test"
AUDIT = "make audit"
WHEEL = "tests/support/drivers/wheel.py"
"""Installs the pinned packages into the environment that the wheel is tried in."""
NO_SERVICE = "NO SERVICE OF ADVISORIES"
"""What `make audit` says, and fails, where it could look nothing up. CI goes on, and repeats it in its last lines."""


class Step:
    """A command that runs; wait() gives what it took.

    Args:
        name: for the table.
        command: the program and its arguments.
        log: takes the output; by default it goes where ours goes.
        install: whether it installs packages.
        environment: further variables.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path | None = None,
        install: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._install = install
        self._begin = time.monotonic()
        self._end, self._cpu, self._code = self._begin, 0.0, 0
        say(f"{name} begins" + (" in the background" if log else ""))
        told = {**os.environ, **(environment or {})}
        with (log or Path(os.devnull)).open("wb") as sink:
            out = sink if log else None
            self._process = subprocess.Popen(command, cwd=CHECKOUT, env=told, stdout=out, stderr=out)
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()

    def _watch(self) -> None:
        """Waits in a thread of its own, so that the end is noted when it comes."""
        _, status, usage = os.wait4(self._process.pid, 0)
        self._end = time.monotonic()
        self._cpu = usage.ru_utime + usage.ru_stime
        self._process.returncode = self._code = os.waitstatus_to_exitcode(status)

    def wait(self) -> Span:
        """Waits for its end."""
        self._watcher.join()
        lines = self.log.read_text(errors="replace").strip().splitlines() if self.log else []
        note = next((line for line in reversed(lines) if not line.startswith("make: ***")), "")
        return Span(self.name, self._begin, self._end, self._cpu, self._install, self._code == 0, note)

    def show(self) -> None:
        """Prints the output of a step that ran beside others."""
        if self.log:
            say(f"what {self.name} said:")
            print(self.log.read_text(errors="replace"), flush=True)


def say(line: str) -> None:
    """Prints a line of CI's own."""
    print(f"[ci] {line}", flush=True)


def choose_kills() -> None:
    """Chooses which kills are tried this time; the commit decides, so that each commit has others."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    number = int(asked.stdout.strip() or "0", 16) % 1_000_000
    os.environ.setdefault("GRISTMILL_KILLS", str(number))
    say(f"GRISTMILL_KILLS={os.environ['GRISTMILL_KILLS']} repeats the kills of this run")


def find_samples() -> None:
    """The sample data beside the checkout, unless a variable names another place."""
    beside = CHECKOUT.parent / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("GRISTMILL_SAMPLE_DATA", str(beside))


def run(folder: Path) -> tuple[list[Span], list[float]]:
    """Runs everything; the steps as they ended, and the yardsticks."""
    yardsticks = [yardstick()]
    packages = Step("install packages", ["make", ".venv/.test"], log=folder / "packages.log", install=True)
    levanter = Step("install Levanter", ["make", ".cache/levanter/.done"], log=folder / "levanter.log", install=True)
    energon = Step("install Energon", ["make", ".cache/energon/.done"], log=folder / "energon.log", install=True)
    dolma = Step("install Dolma", ["make", ".cache/dolma/.done"], log=folder / "dolma.log", install=True)
    trove = Step("install datatrove", ["make", ".cache/datatrove/.done"], log=folder / "datatrove.log", install=True)
    wheel = Step("install for the wheel", [sys.executable, WHEEL], log=folder / "wheel.log", install=True)
    spans = [packages.wait()]
    if not spans[0].ok:
        packages.show()
        return [*spans, levanter.wait(), energon.wait(), dolma.wait(), trove.wait(), wheel.wait()], yardsticks
    spans.append(Step(FAST, FAST.split()).wait())
    yardsticks.append(yardstick())
    live = Step("make live", ["make", "live", f"ARGS={LIVE}"], log=folder / "live.log")
    for install in (levanter, energon, dolma, trove, wheel):
        spans.append(install.wait())
        if not spans[-1].ok:
            install.show()
    home = {"GRISTMILL_LAKE": str(folder / "lake"), "DAGSTER_HOME": str(folder / "home")}
    for name, variables in (("make sample", {}), (AUDIT, {}), ("make demo", home)):
        if all(map(passed, spans)):
            step = Step(name, name.split(), environment=variables, log=folder / "audit.log" if name == AUDIT else None)
            spans.append(step.wait())
            step.show()
    spans.append(live.wait())
    live.show()
    return spans, [*yardsticks, yardstick()]


def passed(span: Span) -> bool:
    """Whether CI goes on after a step. An audit without a service has neither passed nor found anything."""
    return span.ok or (span.name == AUDIT and NO_SERVICE in span.note)


def main() -> int:
    """The exit code: 1 if a step failed, or if the tests took longer than they may."""
    find_samples()
    choose_kills()
    with tempfile.TemporaryDirectory(prefix="gristmill-ci-") as folder:
        spans, yardsticks = run(Path(folder))
    print("\n" + table(spans, yardsticks, FAST), flush=True)
    for span in spans:
        if passed(span) and not span.ok:
            say(f"NOT AUDITED: {span.note}")
    failed = [span.name for span in spans if not passed(span)]
    if failed:
        say(f"FAILED: {', '.join(failed)}; GRISTMILL_KILLS={os.environ['GRISTMILL_KILLS']} repeats the same kills")
    if over_budget(spans, yardsticks):
        say(f"OVER THE BUDGET: the tests may take {clock(allowed(ALL_TESTS, yardsticks))} on this machine")
    return int(bool(failed) or over_budget(spans, yardsticks))


if __name__ == "__main__":
    sys.exit(main())
