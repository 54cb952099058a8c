"""Nights: one deployment, and again and again something of it is killed while it is idle or at work.

After each night, nothing is lost, the failure of that night was told, the queue is empty, and what was red is red.
"""

import gzip
import itertools
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mishaps.supervised import Supervised
from seaweed import Seaweed
from testkit import Mill

from assets.support.facts.score_facts import score_facts
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.shelf import find
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.tagging.step import TaggingStep

SOURCE, VERSION, SET, SHELVES = "gated", "v0", "gate-1", ("gateshelf",)
DOCUMENTS, ATTRIBUTES = documents_asset(SOURCE, VERSION), attributes_asset(SOURCE, VERSION, SET)
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


def night_of_two(dice: random.Random) -> Night:
    """A night in which two things are killed."""
    activity, victims = dice.choice(ACTIVITIES), tuple(dice.sample(VICTIMS, 2))
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
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._gate = folder / "gate"
        self._number = 0
        self._live: Supervised | None = None

    @property
    def live(self) -> Supervised:
        """The deployment; it must have begun."""
        assert self._live is not None
        return self._live

    def begin(self) -> None:
        """Starts the deployment, and waits until it has found what is wrong with its lake."""
        here = self._folder / f"from-{self._number}"
        self._gate.mkdir(parents=True, exist_ok=True)
        self._open()
        (here / "calm").mkdir(parents=True)
        self.calm = Mill(here / "calm")
        self._live = live = Supervised(here, self._prepare, shelves=SHELVES)
        live.wait(lambda: bool(live.ticks("alerts")), "the first tick of the alerts")  # what failed before is history
        live.check(ATTRIBUTES, AUDIT)
        live.wait(self._is_red, "the audit's result")
        said = f"{AUDIT} of {ATTRIBUTES} failed: "
        live.wait(lambda: any(each["text"].startswith(said) for each in live.told()), f"the alert {said!r}")

    def _prepare(self, seaweed: Seaweed) -> str:
        """A lake that plain Python has made, with a red snapshot; its address."""
        self.mill = Mill(self._folder, seaweed.url("nights"), seaweed.options)
        for snapshot in (*OLD, RED):
            self._make_calm(snapshot)
            self._arrive(snapshot)
            make(self.mill, snapshot)
        cut_row(self.mill)
        return self.mill.lake.url

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
        self._number += 1
        if self._live is None:
            self.begin()
        try:
            self._play(night)
        except BaseException:
            self.close()
            raise
        return len(night.victims)

    def one_killed(self, dice: random.Random, number: int) -> int:
        """A case of `make faults`: one thing is killed. 28 numbers in a row are all activities and victims."""
        return self.play(night_of(number, dice))

    def two_killed(self, dice: random.Random, number: int) -> int:  # noqa: ARG002 - all of it is drawn
        """A case of `make faults`: two things are killed."""
        return self.play(night_of_two(dice))

    def _play(self, night: Night) -> None:
        bad = f"bad-{self._number}"
        if night.activity == AUTOMATION:
            self._make_calm(self._new)
        self._close_gate()
        good = self._ask(night.activity)
        self.mill.raw("a.jsonl.gz", [b"no row"] * 40, SOURCE, bad)
        self._wait_for(night, bad)
        for victim in night.victims:
            self._kill(victim)
        self._open()
        self._recover(night, good, bad)

    def _ask(self, activity: str) -> tuple[str, ...]:
        """Asks for the work of a night; the snapshots that it makes."""
        if activity == JOURNEY:
            self.live.launch(f"{SOURCE}_journey", OLD[0], FORCED)
            return OLD[:1]
        if activity == BACKFILLED:
            self.live.backfill((DOCUMENTS, ATTRIBUTES), OLD, FORCED)
            return OLD
        if activity == AUTOMATION:
            self._arrive(self._new)
            return (self._new,)
        return ()

    @property
    def _new(self) -> str:
        """The snapshot that comes in this night, if the automation is at work."""
        return f"new-{self._number}"

    def _wait_for(self, night: Night, bad: str) -> None:
        """Waits for the moment of a night."""
        if night.moment == GATE:
            self.live.wait(lambda: any(self._gate.glob("*.pid")), "a run at the gate", every=0.05)
        if night.moment == FAILED:
            self.live.wait(lambda: "FAILURE" in self._ends(bad), f"the failure of {bad}", every=0.1)

    def _kill(self, victim: str) -> None:
        if victim != RUN:
            self.live.kill_unit(victim)
            return
        self.live.kill_run({int(file.read_text()) for file in self._gate.glob("*.pid")})

    def _recover(self, night: Night, good: Sequence[str], bad: str) -> None:
        """Waits until all is as it must be after a night."""
        wanted: dict[str, Callable[[], bool]] = {
            "an empty queue": self._is_empty,
            "the failure of the bad snapshot": lambda: self._ends(bad)[:1] == ["FAILURE"],
            "the success of the newest runs": lambda: all(self._ends(each)[:1] == ["SUCCESS"] for each in good),
            "the bytes of a lake that nobody disturbed": lambda: all(map(self._is_whole, good)),
            "an audit that is red": self._is_red,
            f"the alert about {bad}": lambda: any(each["snapshot"] == bad for each in self.live.told()),
        }
        missing = ""

        def recovered() -> bool:
            nonlocal missing
            missing = ""
            for what, is_so in wanted.items():
                missing = what
                if not is_so():
                    return False
            return True

        try:
            self.live.wait(recovered, "what must be after a night", every=2)
        except AssertionError as error:
            raise AssertionError(f"after the night ({night}), {missing} did not come\n{error}") from error
        self._check_alerts()

    def _check_alerts(self) -> None:
        """The bad snapshots were told, in these words; no other run and no check was, since the beginning."""
        what, why = f"a run of {ATTRIBUTES} and 1 more", "shard a: all of its 40 rows refused"
        said = re.compile(f"{what} \\(bad-[0-9]+\\) failed: .*{why}")
        for each in self.live.told():
            if each["event"] not in {"alive", "not_well", "check_failure"}:
                assert (each["event"], bool(said.match(each["text"]))) == ("run_failure", True), each

    # what is there

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

    def _is_whole(self, snapshot: str) -> bool:
        return objects(self.mill, snapshot) == objects(self.calm, snapshot)

    # raw data

    def _make_calm(self, snapshot: str) -> None:
        """The snapshot in the other lake; the gate must be open."""
        self._put(self.calm, snapshot)
        make(self.calm, snapshot)

    def _arrive(self, snapshot: str) -> None:
        self._put(self.mill, snapshot)

    def _put(self, mill: Mill, snapshot: str) -> None:
        """Raw data: three shards, and in the smallest of them a document that waits at the gate."""
        texts = {"a": ["calm"] * 60, "b": ["calm"] * 50, "c": [f"GATE {self._gate}"]}
        for name, words in texts.items():
            rows = [{"id": f"{snapshot}-{name}{n}", "text": text, "source": SOURCE} for n, text in enumerate(words)]
            mill.raw(f"{name}.jsonl.gz", rows, SOURCE, snapshot)

    def _open(self) -> None:
        (self._gate / "open").touch()

    def _close_gate(self) -> None:
        for file in self._gate.iterdir():
            file.unlink()


def make(mill: Mill, snapshot: str) -> None:
    """Makes a snapshot in plain Python, and describes its scores."""
    tagger = find("taggers", Tagger, SHELVES, SET)
    mill.make(ConversionStep(find("sources", Source, SHELVES, SOURCE), snapshot, SHELVES))
    mill.make(TaggingStep(SOURCE, VERSION, snapshot, (tagger,), SHELVES))
    made = place(ATTRIBUTES, snapshot)
    score_facts(mill.store, made, read_ledger(mill.store, made)[1], tagger.labels)


def objects(mill: Mill, snapshot: str) -> dict[str, bytes]:
    """All objects of a snapshot but its runs' notes."""
    lead = f"sources/{SOURCE}/"
    paths = [entry.path for entry in mill.store.list(lead)]
    return {
        path: mill.store.read(path)
        for path in paths
        if any(part.partition(".")[0] == snapshot for part in path.split("/")) and not path.endswith(".run.json")
    }


def cut_row(mill: Mill) -> None:
    """A row of the red snapshot is gone from an attribute shard."""
    path = place(ATTRIBUTES, RED).shard("a")
    rows = gzip.decompress(mill.store.read(path)).splitlines(keepends=True)
    mill.store.put(path, gzip.compress(b"".join(rows[1:]), mtime=0))
