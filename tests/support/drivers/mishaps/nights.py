"""Nights: one deployment, and again and again something of it is killed while it is idle or at work.

After each night, nothing is lost, the failure of that night was told, the queue is empty, and what was red is red.
"""

import itertools
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mishaps import night_lakes
from mishaps.night_figures import Failed, Figures, row
from mishaps.night_lakes import ATTRIBUTES, DOCUMENTS, SHELVES, SOURCE, Gate
from mishaps.supervised import Supervised
from seaweed import Seaweed
from testkit import Mill

AUDIT = "row_alignment_audit"
"""The audit that has found something, and must stay red."""
RED = "red"
"""The snapshot of which a row is gone."""
OLD = ("one", "two")
"""Snapshots that are there from the beginning."""
FORCED = {"resources": {"engine": {"config": {"force": True}}}}
"""The configuration of a run that makes everything anew."""

RUN = "run"
UNITS = ("code server", "daemon", "web server", "Postgres", "S3 server", "webhook")
VICTIMS = (RUN, *UNITS)
TELLERS = {"code server", "daemon", "Postgres", "webhook"}
"""Whoever of them dies right after an alert was taken, it may come again."""

IDLE, JOURNEY, BACKFILLED, AUTOMATION = ACTIVITIES = ("idle", "journey", "backfill", "automation")
ASKED, GATE, FAILED = MOMENTS = ("asked", "gate", "failed")
"""When it happens: right after the work was asked for, while it stands at the gate, when bad data have just failed."""

ALONE = tuple(itertools.product(ACTIVITIES, VICTIMS))

UNDER_WAY = ("QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING")

STATE = """query ($key: AssetKeyInput!) {
    assetNodeOrError(assetKey: $key) { ... on AssetNode { assetChecksOrError { ... on AssetChecks { checks {
        name executionForLatestMaterialization { status } } } } } }
    partitionBackfillsOrError { ... on PartitionBackfills { results { id status } } } }"""


@dataclass(frozen=True)
class Night:
    """What happens in a night.

    Attributes:
        activity: what is going on: one of ACTIVITIES.
        victims: what is killed, one right after the other: of VICTIMS.
        moment: when: one of MOMENTS.
    """

    activity: str
    victims: tuple[str, ...]
    moment: str

    def __str__(self) -> str:
        return f"{self.activity}, {' and '.join(self.victims)} killed, {self.moment}"


def night_of(number: int, dice: random.Random) -> Night:
    """The night of a number, in which one thing is killed: 28 in a row are all of them."""
    activity, victim = ALONE[number % len(ALONE)]
    return Night(activity, (victim,), _moment(activity, (victim,), dice))


def night_of_two(number: int, dice: random.Random) -> Night:
    """The night of a number, in which two things are killed: in seven in a row, each has its turn."""
    turn = VICTIMS[number % len(VICTIMS)]
    other = dice.choice([each for each in VICTIMS if each != turn])
    activity, victims = dice.choice(ACTIVITIES), tuple(dice.sample((turn, other), 2))
    return Night(activity, victims, _moment(activity, victims, dice))


def _moment(activity: str, victims: Sequence[str], dice: random.Random) -> str:
    drawn = dice.choice(MOMENTS)
    if activity == IDLE:  # there is no gate; and a run is killed as soon as there is one
        return ASKED if RUN in victims or drawn == GATE else drawn
    return GATE if RUN in victims else drawn


class Nights:
    """A deployment and its lake, and another lake that nobody disturbs. The first night starts them.

    Args:
        folder: for all files.
        say: takes a line after each night.

    Attributes:
        played: what was seen after each night, in order.
    """

    def __init__(self, folder: Path, say: Callable[[str], object]) -> None:
        self._folder = folder
        self._say = say
        self._gate = Gate(folder / "gate")
        self._live: Supervised | None = None
        self.played: list[Figures | Failed] = []

    @property
    def live(self) -> Supervised:
        """The deployment; it must have begun."""
        assert self._live is not None
        return self._live

    def begin(self) -> None:
        """Starts the deployment, and waits until it has found what is wrong with its lake, and told it."""
        here = self._folder / f"from-{len(self.played)}"
        self._gate.open()
        (here / "calm").mkdir(parents=True)
        self.calm = Mill(here / "calm")
        self._kept = list(OLD)
        self._live = live = Supervised(here, self._prepare, shelves=SHELVES)
        self._wait_for_tick()  # what failed before is history
        live.check(ATTRIBUTES, AUDIT)
        live.wait(self._is_red, "the audit's result")
        live.wait(lambda: bool(self._told_of_red()), f"the alert about {AUDIT}")
        self._wait_for_tick()  # or a kill would make it come again

    def _wait_for_tick(self) -> None:
        """Waits until a tick of the alerts has ended that had not ended yet."""
        ended: set[str] = set()

        def another() -> bool:
            ended.update(tick["timestamp"] for tick in self.live.ticks("alerts")[:1])
            return len(ended) > 1

        self.live.wait(another, "a tick of the alerts")

    def _prepare(self, seaweed: Seaweed) -> str:
        """A lake that plain Python has made, with a red snapshot; its address."""
        self.mill = Mill(self._folder, seaweed.url("nights"), seaweed.options)
        for snapshot in (*OLD, RED):
            self._make_calm(snapshot)
            night_lakes.arrive(self.mill, snapshot, self._gate)
            night_lakes.make(self.mill, snapshot)
        night_lakes.cut_row(self.mill, RED)
        self._findings = night_lakes.findings(self.mill)
        assert self._findings
        return self.mill.lake.url

    def _make_calm(self, snapshot: str) -> None:
        """The snapshot in the other lake; the gate must be open."""
        night_lakes.arrive(self.calm, snapshot, self._gate)
        night_lakes.make(self.calm, snapshot)

    def close(self) -> None:
        """Ends the deployment; the next night would start another."""
        if self._live is not None:
            self._live.close()
        self._live = None

    # a night

    def play(self, night: Night) -> int:
        """One night; the number of things that were killed.

        Raises:
            AssertionError: the deployment did not recover; the message says in what. The next night has another.
        """
        seen: Figures | Failed
        try:
            if self._live is None:
                self.begin()
            good, bad = self._go_wrong(night)
            seen = self._recover(night, good, bad)
        except BaseException as error:
            seen = Failed(str(night), (str(error) or repr(error)).partition("\n")[0])
            self.close()
            raise
        finally:
            self.played.append(seen)
            self._say(row(seen.night, seen.cells))
        return len(night.victims)

    def one_killed(self, dice: random.Random, number: int) -> int:
        """A case of `make faults`: one thing is killed. 28 numbers in a row are all activities and victims."""
        return self.play(night_of(number, dice))

    def two_killed(self, dice: random.Random, number: int) -> int:
        """A case of `make faults`: two things are killed."""
        return self.play(night_of_two(number, dice))

    def _go_wrong(self, night: Night) -> tuple[Sequence[str], str]:
        """Asks for the work of a night, and kills; the snapshots that are made, and the one that fails."""
        number = len(self.played) + 1
        bad, new = f"bad-{number}", f"new-{number}"
        if night.activity == AUTOMATION:
            self._make_calm(new)
            self._kept.append(new)
        self._before = len(self.live.told())
        self._gate.close()
        good = self._ask(night.activity, new)
        if night.moment == GATE:  # the bad data come while all is dying, and the good ones are requested alone
            self.live.wait(lambda: bool(self._gate.waiting()), "a run at the gate", every=0.05)
        self.mill.raw("a.jsonl.gz", [b"no row"] * 40, SOURCE, bad)
        if night.moment == FAILED:
            self.live.wait(lambda: "FAILURE" in self._ends(bad), f"the failure of {bad}", every=0.1)
        for victim in night.victims:
            if victim == RUN:
                self.live.kill_run(self._gate.waiting())
            else:
                self.live.kill_unit(victim)
        self._gate.open()
        return good, bad

    def _ask(self, activity: str, new: str) -> Sequence[str]:
        """Asks for the work of a night; the snapshots that it makes."""
        if activity == JOURNEY:
            self.live.launch(f"{SOURCE}_journey", OLD[0], FORCED)
            return OLD[:1]
        if activity == BACKFILLED:
            self.live.backfill((DOCUMENTS, ATTRIBUTES), OLD, FORCED)
            return OLD
        if activity == AUTOMATION:
            night_lakes.arrive(self.mill, new, self._gate)
            return (new,)
        return ()

    def _recover(self, night: Night, good: Sequence[str], bad: str) -> Figures:
        """Waits until all is as it must be after a night; what was seen."""
        empty, told = "an empty queue", f"the alert about {bad}"
        wanted: dict[str, Callable[[], bool]] = {
            empty: self._is_empty,
            told: lambda: bool(self._told(bad)),
            f"the failure of {bad}": lambda: self._ends(bad)[:1] == ["FAILURE"],
            "the success of the newest runs": lambda: all(self._ends(each)[:1] == ["SUCCESS"] for each in good),
            "the bytes of a lake that nobody disturbed": lambda: not self._lost(),
            "an audit that is red": self._is_red,
        }
        begin = time.monotonic()
        since: dict[str, float] = {}

        def recovered() -> bool:
            for what, is_so in wanted.items():
                before = since.pop(what, time.monotonic() - begin)
                if is_so():
                    since[what] = before
            return len(since) == len(wanted)

        try:
            self.live.wait(recovered, "what must be after a night", every=2)
        except AssertionError as error:
            missing = " and ".join(what for what in wanted if what not in since)
            raise AssertionError(f"{missing} did not come after the night ({night})\n{error}") from error
        self._check_alerts(night, bad)
        found = night_lakes.findings(self.mill)
        assert found == self._findings, f"`verify` found something else: {found}"
        return Figures(
            str(night),
            lost=len(self._lost()),
            objects=len(night_lakes.objects(self.calm, self._kept)),
            told=len(self._told(bad)),
            told_after=since[told],
            empty_after=since[empty],
            red=len(found),
            after=max(since.values()),
        )

    def _check_alerts(self, night: Night, bad: str) -> None:
        """Of all runs only the bad ones were told in this night, in these words, and the red audit was told once.

        Nothing is told twice, unless what died had a part in telling it. A killed run is told if the code server died
        too, for then Dagster does not start it again.
        """
        told = [f"a run of {ATTRIBUTES} and 1 more \\(bad-[0-9]+\\) failed: .*shard a: all of its 40 rows refused"]
        if {RUN, "code server"} <= {*night.victims}:
            told.append(r".* failed: its process [0-9]+ was ended by signal 9 (?s:.*)requested again by itself")
        said = re.compile("|".join(told))
        for each in self.live.told()[self._before :]:
            if each["event"] not in {"alive", "not_well", "check_failure"}:
                assert (each["event"], bool(said.match(each["text"]))) == ("run_failure", True), each
        assert len(self._told_of_red()) == 1, f"the red audit was told {len(self._told_of_red())} times"
        times = len(self._told(bad))
        assert times == 1 or TELLERS & {*night.victims}, f"{bad} was told {times} times"

    # what is there

    def _told(self, snapshot: str) -> list[str]:
        """The messages about a snapshot."""
        return [each["text"] for each in self.live.told() if each["snapshot"] == snapshot]

    def _told_of_red(self) -> list[str]:
        """The messages about the red audit."""
        said = f"{AUDIT} of {ATTRIBUTES} failed: "
        return [each["text"] for each in self.live.told() if each["text"].startswith(said)]

    def _lost(self) -> list[str]:
        """The objects of good snapshots that are not as in the other lake, or are only in one of the two."""
        here, calm = (night_lakes.objects(mill, self._kept) for mill in (self.mill, self.calm))
        return [path for path in here | calm if here.get(path) != calm.get(path)]

    def _is_empty(self) -> bool:
        state = self.live.ask(STATE, key={"path": ATTRIBUTES.split("/")})
        backfills = state["partitionBackfillsOrError"]["results"]
        return not self.live.runs(statuses=UNDER_WAY) and not any(each["status"] == "REQUESTED" for each in backfills)

    def _is_red(self) -> bool:
        state = self.live.ask(STATE, key={"path": ATTRIBUTES.split("/")})
        checks = state["assetNodeOrError"]["assetChecksOrError"]["checks"]
        (newest,) = [each["executionForLatestMaterialization"] for each in checks if each["name"] == AUDIT]
        return newest is not None and newest["status"] == "FAILED"

    def _ends(self, snapshot: str) -> list[str]:
        """The statuses of the runs over a snapshot, newest first."""
        return [each["status"] for each in self.live.runs(tags=[{"key": "dagster/partition", "value": snapshot}])]
