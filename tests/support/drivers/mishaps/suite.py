"""`make faults`: everything goes wrong, at random moments, and each time the lake comes out as if nothing had happened.

SEED repeats a run's choices, BUDGET is its minutes (60), ONLY names kinds of faults (words of their names, separated by
commas). Exit code 1 if anything did not recover, or if there was no time for all.
"""

import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mishaps import asked, deployment, meetings, night_figures, runs, servers, stages
from mishaps.lakes import Lakes
from mishaps.nights import ALONE, Nights
from seaweed import Seaweed

EVERY = 20
"""Seconds between two lines of progress, at the least."""

PAIRS = 10
"""Nights in which two things are killed."""

Case = Callable[[random.Random, int], int]
"""One case: gives how many faults struck, raises if the lake did not recover."""


@dataclass
class Kind:
    """A kind of fault.

    Attributes:
        name: for people; a case is drawn from it, the seed and the case's number.
        case: does one case.
        wanted: faults of this kind in a run of the suite.
        struck: faults so far.
        cases: cases so far.
        failed: cases after which the lake was not as it should be.
        seconds: that they took.
    """

    name: str
    case: Case
    wanted: int
    struck: int = 0
    cases: int = 0
    failed: int = 0
    seconds: float = 0.0

    @property
    def share(self) -> float:
        """How much of what is wanted is done."""
        return max(self.struck / self.wanted, self.cases / (3 * self.wanted))


class Suite:
    """Cases of all kinds, in lanes side by side: in each it is the turn of the kind that lags behind most."""

    def __init__(self, seed: int, minutes: float) -> None:
        self.seed = seed
        self.start = time.monotonic()
        self._end = self.start + 60 * minutes
        self._out = sys.stdout
        self._said = self.start

    def say(self, line: str) -> None:
        self._out.write(f"[{time.monotonic() - self.start:6.1f} s] {line}\n")
        self._out.flush()

    def run(self, lanes: Sequence[Sequence[Kind]]) -> None:
        """Runs all lanes to their end, or until the time is over."""
        threads = [threading.Thread(target=self._lane, args=(lane,)) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _lane(self, kinds: Sequence[Kind]) -> None:
        while time.monotonic() < self._end:
            kind = min(kinds, key=lambda each: each.share)
            if kind.share >= 1:
                return
            self._case(kind)

    def _case(self, kind: Kind) -> None:
        name = f"{self.seed}/{kind.name}/{kind.cases}"
        begin = time.monotonic()
        try:
            kind.struck += kind.case(random.Random(name), kind.cases)
        except Exception:  # noqa: BLE001 - whatever it was: the lake did not recover, and the other cases go on
            kind.failed += 1
            kind.struck += 1
            self.say(f"NOT RECOVERED: {name}\n{traceback.format_exc()}")
        kind.cases += 1
        kind.seconds += time.monotonic() - begin
        if kind.share >= 1 or time.monotonic() - self._said > EVERY:
            self._said = time.monotonic()
            self.say(f"{kind.name}: {kind.struck} of {kind.wanted} in {kind.cases} cases, {kind.failed} not recovered")


def plain_kinds(lakes: Lakes) -> list[Kind]:
    """Of stages in processes of their own, over folders."""
    kinds = [
        Kind("stage killed", partial(stages.kill_stage, lakes), 110),
        Kind("stage killed before a change", partial(stages.kill_before_a_change, lakes), 50),
        Kind("run killed, workers left alone", partial(stages.kill_run_alone, lakes), 20),
        Kind("worker killed", partial(stages.kill_worker, lakes), 30),
        Kind("journey killed, raw data go back", partial(stages.kill_and_go_back, lakes), 12),
        Kind("runs at once", partial(meetings.meet, lakes), 8),
        Kind("run asleep until another is done", partial(meetings.sleep_over, lakes), 30),
        Kind("raw shard replaced while read", partial(meetings.replace_raw, lakes), 12),
        Kind("file size limited", partial(meetings.limit_files, lakes), 6),
    ]
    if os.geteuid() == 0:
        kinds.append(Kind("disk full", partial(meetings.fill_disk, lakes), 8))
    return kinds


def bucket_kinds(lakes: Lakes, bucket: servers.Bucket) -> list[Kind]:
    """Of a lake in a bucket; a case spoils many answers, and each of the six kinds of them has its turn."""
    return [
        Kind("stage over S3 killed", partial(servers.kill_stage, bucket, lakes), 16),
        Kind("S3 answer spoiled", partial(servers.spoil, bucket, lakes), 300),
        Kind("S3 server killed", partial(servers.kill_server, bucket, lakes), 8),
        Kind("run asleep over S3", partial(meetings.sleep_over, lakes, bucket=bucket), 10),
        Kind("runs at once over S3", partial(meetings.meet, lakes, bucket=bucket), 4),
    ]


def dagster_kinds(drives: runs.Drives, folder: Path) -> list[Kind]:
    """Of whole Dagster runs and of a deployment."""
    return [
        Kind("Dagster run killed", partial(runs.kill_drive, drives), 42),
        Kind("Dagster runs at once", partial(runs.meet, drives), 3),
        Kind("daemon, code server or run killed", partial(deployment.kill_deployment, drives), deployment.KILLS - 2),
        Kind("run killed while asked", partial(asked.kill_while_asked, folder), 100),
    ]


def night_kinds(nights: Nights) -> list[Kind]:
    """Of a deployment that lives through all of them, one after another."""
    return [
        Kind("killed in a night", nights.one_killed, len(ALONE)),
        Kind("two killed in a night", nights.two_killed, 2 * PAIRS),
    ]


def table(kinds: Sequence[Kind]) -> str:
    """The figures of all kinds."""
    lines = [f"\n{'fault':<36}{'struck':>8}{'cases':>8}{'seconds':>9}  recovered"]
    for kind in kinds:
        verdict = "all" if not kind.failed else f"NOT {kind.failed}"
        missing = f", {kind.wanted - kind.struck} fewer than wanted" if kind.struck < kind.wanted else ""
        lines.append(f"{kind.name:<36}{kind.struck:>8}{kind.cases:>8}{kind.seconds:>9.0f}  {verdict}{missing}")
    kills = sum(kind.struck for kind in kinds if "killed" in kind.name)
    failed = sum(kind.failed for kind in kinds)
    lines.append(f"{kills} kills; {sum(kind.cases for kind in kinds)} cases, {failed} of them not recovered")
    return "\n".join(lines)


def main() -> int:
    """The exit code."""
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1_000_000))
    minutes = float(os.environ.get("BUDGET") or 60)
    suite = Suite(seed, minutes)
    suite.say(f"SEED={seed} repeats this; at most {minutes:.0f} minutes")
    folder = Path(tempfile.mkdtemp(prefix="gristmill-faults-"))
    server = Seaweed(folder / "seaweed")
    os.environ.update(server.environment)
    nights = Nights(folder / "nights", suite.say)
    try:
        lakes, drives = Lakes(folder / "lakes"), runs.Drives(folder / "drives")
        suite.say("the undisturbed lakes are made")
        lanes = [plain_kinds(lakes) + bucket_kinds(lakes, servers.Bucket(server))]
        lanes += [dagster_kinds(drives, folder), night_kinds(nights)]
        only = [word for word in os.environ.get("ONLY", "").split(",") if word]
        if only:
            lanes = [[kind for kind in lane if any(word in kind.name for word in only)] for lane in lanes]
        if not any(lanes):
            suite.say(f"no kind of fault has one of these words in its name: {', '.join(only)}")
            return 1
        suite.run([lane for lane in lanes if lane])
    finally:
        nights.close()
        server.close()
    kinds = [kind for lane in lanes for kind in lane]
    if nights.played:
        suite.say("\n" + night_figures.table(nights.played))
    suite.say(table(kinds))
    if any(kind.failed for kind in kinds):
        suite.say(f"what is left of them lies in {folder}")
        return 1
    shutil.rmtree(folder)
    return int(any(kind.struck < kind.wanted for kind in kinds))


if __name__ == "__main__":
    sys.exit(main())
