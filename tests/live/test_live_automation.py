"""A real daemon, event after event: what each asks for, once; and nothing while nothing happens.

One deployment, one story: the tests go on where the one before ended, in the order in which they stand here.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.scheduler.instigation import InstigatorTick
from dagster_kit import (
    BLEND_INDEX,
    BLEND_LETTERS,
    COUNT_V0,
    COUNT_V1,
    DIARY_V0,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    TINY_INDEX,
    TINY_LETTERS,
    Result,
    Works,
    letters,
)
from live import ENDED, REPOSITORY, Live
from paths import python_path
from testkit import packed

from gristmill.lake.address import raw_folder
from resources.pauses import pause_recipes, unpause_recipes

pytestmark = pytest.mark.live

TAGGER = '''"""A tagger that the tests change."""

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Tagger


def look(document: Document) -> dict[str, Label]:
    return {{"letters": float(len(document.text)) * {factor}}}


SIZE = Tagger(
    name="size-1", document=look, only=frozenset({{"diary"}}), parameters={{"factor": {factor}}}, draft={draft}
)
'''

RELOAD = """mutation ($name: String!) { reloadRepositoryLocation(repositoryLocationName: $name) {
    __typename
    ... on WorkspaceLocationEntry { locationOrLoadError { __typename } }
    ... on PythonError { message } } }"""
SENSORS = """query ($selector: RepositorySelector!) { sensorsOrError(repositorySelector: $selector) {
    ... on Sensors { results { name id sensorState { selectorId status } } } } }"""
START = "mutation ($selector: SensorSelector!) { startSensor(sensorSelector: $selector) { __typename } }"
STOP = "mutation ($id: String!) { stopSensor(id: $id) { __typename } }"
STALE = """query ($key: AssetKeyInput!, $partition: String!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
    staleStatus(partition: $partition)
    staleCauses(partition: $partition) { key { path } category reason dependency { path } } } } }"""
BACKFILLS = """{ partitionBackfillsOrError { ... on PartitionBackfills { results {
    id status numPartitions assetSelection { path } } } } }"""
LABELS = """query ($key: AssetKeyInput!) { assetConditionEvaluationRecordsOrError(assetKey: $key, limit: 1) {
    ... on AssetConditionEvaluationRecords { records { evaluationNodes { userLabel } } } } }"""

OURS = ("raw_arrivals", "automation", "blocklists")
"""The sensors that ask for work; others are switched off: they cost time."""

CHANGED = ("shards ground", "shards gone")
Made = dict[tuple[str, str | None], int]
"""How often the content of a partition was made anew."""


@dataclass(frozen=True)
class Wave:
    """What came of an event.

    Attributes:
        made: partitions whose content was made anew, and how often. Indexes are left out: they follow every wave.
        indexes: those that were made.
        runs: that made content.
        failed: (assets, snapshot) of runs that failed.
        idle: runs that found nothing to do. A run that ends while a tick is being evaluated may be asked for again.
        all: runs of any kind.
    """

    made: Made
    indexes: set[str]
    runs: int
    failed: list[tuple[tuple[str, ...], str | None]]
    idle: int
    all: int


class Story:
    """The deployment, its lake, and what it has done since one last asked."""

    def __init__(self, folder: Path) -> None:
        self.works = Works(folder / "lake", dg.DagsterInstance.ephemeral())
        self.shelf = folder / "shelf" / "ourshelf"
        (self.shelf / "taggers").mkdir(parents=True)
        variables = {"PYTHONPATH": python_path(folder / "shelf"), "GRISTMILL_INTERVAL": "1", "GRISTMILL_WORKERS": "1"}
        self.live = Live(
            folder,
            str(self.works.root),
            shelves=("dagshelf", "ourshelf"),
            environment=variables,
        )
        self.live.wait(lambda: all(self.ticks().values()), "the first ticks")
        self.stop(*(name for name in self.sensors() if name not in OURS))
        self.pause("starter")  # it costs time
        self._seen: set[str] = set()
        self._loaded = 0.0

    def settle(self, seconds: float = 900) -> Wave:
        """Waits until all sensors have looked at what the last run left, and asked for nothing more."""
        end, changed, before = time.monotonic() + seconds, max(time.time(), self._loaded), ""
        while not self._is_calm(changed):
            assert time.monotonic() < end, f"it never comes to rest: {before}"
            runs = [run for run in self.live.runs() if run["runId"] not in self._seen]
            state = str(sorted((run["runId"], run["status"]) for run in runs))
            busy = [run for run in runs if run["status"] not in ENDED]
            busy += [each for each in self.backfills() if each["status"] in {"REQUESTED", "CANCELING"}]
            if state != before or busy:
                before, changed = state, max(time.time(), changed)
            time.sleep(1)
        fresh = [run for run in self.live.runs() if run["runId"] not in self._seen]
        self._seen |= {run["runId"] for run in fresh}
        return self._wave(fresh)

    def _is_calm(self, since: float) -> bool:
        """Whether whatever asks for work has looked since then: the watchers first, then the automation, twice."""
        running = self.ticks("RUNNING")
        seen = since
        for name, ticks in running.items():
            if name != "automation":
                ends = [tick.end_timestamp for tick in ticks if tick.timestamp > since and tick.end_timestamp]
                if not ends:
                    return False
                seen = max(seen, min(ends))
        automation = [ticks for name, ticks in running.items() if name == "automation"]
        return all(len([t for t in ticks if t.timestamp > seen and t.end_timestamp]) > 1 for ticks in automation)

    def ticks(self, *states: str) -> dict[str, list[InstigatorTick]]:
        """The last ticks of each sensor (in one of these states), newest first.

        From Dagster's storage: after a restart, GraphQL 1.13 finds none.
        """
        with dg.DagsterInstance.from_config(str(self.live.home)) as instance:
            return {
                name: list(instance.get_ticks("", each["sensorState"]["selectorId"], limit=50))
                for name, each in self.sensors().items()
                if not states or each["sensorState"]["status"] in states
            }

    def backfills(self) -> list[dict[str, Any]]:
        return list(self.live.ask(BACKFILLS)["partitionBackfillsOrError"]["results"])

    def _wave(self, runs: list[dict[str, Any]]) -> Wave:
        made: Made = {}
        indexes: set[str] = set()
        idle = 0
        with dg.DagsterInstance.from_config(str(self.live.home)) as instance:
            for run in runs:
                found = Result(run["runId"], instance).made
                work = {a: e for a, e in found.items() if "shards ground" in e.metadata}
                ground = [
                    a for a, e in work.items() if any(e.metadata[k].value for k in ("shards ground", "shards gone"))
                ]
                indexes |= {a for a in found if a.endswith("/index")}
                for address in ground:
                    made[address, partition(run)] = made.get((address, partition(run)), 0) + 1
                idle += bool(work) and not ground and run["status"] == "SUCCESS"
        failed = [(assets(run), partition(run)) for run in runs if run["status"] == "FAILURE"]
        working = [run for run in runs if assets(run) and not all(a.endswith("/index") for a in assets(run))]
        return Wave(made, indexes, len(working) - idle, failed, idle, len(runs))

    def reload(self) -> None:
        said = self.live.ask(RELOAD, name="gristmill")["reloadRepositoryLocation"]
        assert said["locationOrLoadError"]["__typename"] == "RepositoryLocation", said
        self._loaded = time.time() + 65  # the daemon looks for new code every minute

    def tagger(self, factor: int, *, draft: bool) -> None:
        """Writes the tagger, and has the code loaded again."""
        (self.shelf / "taggers" / "size.py").write_text(TAGGER.format(factor=factor, draft=draft))
        self.reload()

    def sensors(self) -> dict[str, dict[str, Any]]:
        found = self.live.ask(SENSORS, selector=REPOSITORY)["sensorsOrError"]["results"]
        return {each["name"]: each for each in found}

    def stop(self, *names: str) -> None:
        known = self.sensors()
        for name in names:
            said = self.live.ask(STOP, id=known[name]["id"])["stopSensor"]
            assert said["__typename"] == "StopSensorMutationResult", said

    def start(self, *names: str) -> None:
        for name in names:
            said = self.live.ask(START, selector={**REPOSITORY, "sensorName": name})["startSensor"]
            assert said["__typename"] == "Sensor", said

    def pause(self, *names: str) -> None:
        with dg.DagsterInstance.from_config(str(self.live.home)) as instance:
            pause_recipes(instance, names)

    def resume(self, *names: str) -> None:
        with dg.DagsterInstance.from_config(str(self.live.home)) as instance:
            unpause_recipes(instance, names)

    def stale(self, address: str, snapshot: str) -> tuple[str, list[tuple[str, str]]]:
        """What the UI says of a partition: its status, and (category, reason) of each cause."""
        key = {"path": address.split("/")}
        found = self.live.ask(STALE, key=key, partition=snapshot)["assetNodeOrError"]
        return found["staleStatus"], [(cause["category"], cause["reason"]) for cause in found["staleCauses"]]


def assets(run: dict[str, Any]) -> tuple[str, ...]:
    return tuple(sorted("/".join(key["path"]) for key in run["assetSelection"] or []))


def partition(run: dict[str, Any]) -> str | None:
    return next((tag["value"] for tag in run["tags"] if tag["key"] == "dagster/partition"), None)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    told = Story(tmp_path_factory.mktemp("story"))
    yield told
    told.live.close()


GENERAL = tuple(f"sources/letters/v1/attributes/{name}" for name in ("gopher-1", "language-1", "length-1", "pii-1"))
CHAIN = (LETTERS_V0, COUNT_V0, LETTERS_V1, COUNT_V1, MOODY_V1, *GENERAL)
DIARY_SIZE = "sources/diary/v0/attributes/size-1"


def once(*addresses: str, snapshots: Sequence[str]) -> Made:
    return {(address, snapshot): 1 for address in addresses for snapshot in snapshots}


def test_new_raw_data_are_made_from_raw_to_tokens_once(story: Story) -> None:
    story.works.raw(letters(1, 2, 3))
    wave = story.settle()
    assert wave.made == once(*CHAIN, BLEND_LETTERS, snapshots=["2024"])
    assert (wave.runs, wave.failed, wave.indexes) == (1, [], {BLEND_INDEX})
    assert wave.all <= 4
    story.live.succeed(story.live.launch("tiny_1_train"))  # by hand: nothing else makes a tokenizer
    wave = story.settle()
    assert (wave.made, wave.indexes) == (once(TINY_LETTERS, snapshots=["2024"]), {TINY_INDEX})


def test_a_poisoned_snapshot_fails_once_and_keeps_no_other_waiting(story: Story) -> None:
    story.works.raw(letters(4, 5), snapshot="2025")
    whole = packed(letters(6, 7))
    path = f"{raw_folder('letters', '2026')}a.jsonl.gz"
    story.works.store.put(path, whole[: len(whole) // 2])
    wave = story.settle()
    assert wave.made == once(*CHAIN, BLEND_LETTERS, TINY_LETTERS, snapshots=["2025"])
    assert [(snapshot, LETTERS_V0 in made) for made, snapshot in wave.failed] == [("2026", True)]
    story.works.store.put(path, whole)
    wave = story.settle()
    assert (wave.made, wave.failed) == (once(*CHAIN, BLEND_LETTERS, TINY_LETTERS, snapshots=["2026"]), [])


def test_while_nothing_happens_nothing_runs(story: Story) -> None:
    wave = story.settle()
    assert (wave.made, wave.indexes, wave.runs, wave.idle, wave.failed) == ({}, set(), 0, 0, [])
    last = {ticks[0].status.value for ticks in story.ticks("RUNNING").values()}
    assert last <= {"SKIPPED", "STARTED"}


def test_a_changed_blocklist_makes_the_slice_that_holds_the_entry_and_its_tokens(story: Story) -> None:
    story.works.block("letter-5", "letter-99")
    wave = story.settle()
    assert wave.made == once(BLEND_LETTERS, TINY_LETTERS, snapshots=["2025"])
    assert (wave.runs, wave.failed, wave.indexes) == (2, [], {BLEND_INDEX, TINY_INDEX})
    assert story.works.ids(BLEND_LETTERS, snapshot="2025") == ["letter-4"]


def test_a_new_tagger_looks_at_old_snapshots_a_changed_one_is_refused_and_a_changed_draft_is_followed(
    story: Story,
) -> None:
    for snapshot in ("2024", "2025"):
        story.works.raw(letters(2, 3, source="diary"), snapshot=snapshot, source="diary")
    assert story.settle().made[DIARY_V0, "2025"] == 1
    story.tagger(1, draft=True)
    wave = story.settle()
    assert (wave.made, wave.runs, wave.failed) == (once(DIARY_SIZE, snapshots=["2024", "2025"]), 2, [])
    story.tagger(2, draft=False)
    wave = story.settle()
    assert (wave.made, sorted(wave.failed)) == ({}, [((DIARY_SIZE,), "2024"), ((DIARY_SIZE,), "2025")])
    assert story.stale(DIARY_SIZE, "2024") == ("STALE", [("CODE", "has a new code version")])
    story.tagger(3, draft=True)
    wave = story.settle()
    assert (wave.made, wave.runs, wave.failed) == (once(DIARY_SIZE, snapshots=["2024", "2025"]), 2, [])
    assert story.stale(DIARY_SIZE, "2024") == ("FRESH", [])


def test_a_paused_source_stays_paused_over_a_restart_and_catches_up_when_it_goes_on(story: Story) -> None:
    story.pause("letters")
    story.works.raw(letters(1, 2, 3, 8))
    wave = story.settle()
    assert (wave.made, wave.runs, wave.failed) == ({}, 0, [])
    assert story.stale(LETTERS_V0, "2024") == ("STALE", [("DATA", "has a new data version")])
    story.stop("raw_arrivals")
    story.works.raw(letters(9), snapshot="2028")
    story.live.close()
    story.live.start()
    wave = story.settle()
    assert (wave.made, wave.runs, wave.failed) == ({}, 0, [])
    stopped = {name for name, each in story.sensors().items() if each["sensorState"]["status"] == "STOPPED"}
    assert {name for name in stopped if name in OURS} == {"raw_arrivals"}
    story.start("raw_arrivals")
    story.resume("letters")
    wave = story.settle()
    assert wave.made == once(*CHAIN, BLEND_LETTERS, TINY_LETTERS, snapshots=["2024", "2028"])
    assert wave.failed == []


def test_the_page_of_an_asset_says_in_words_what_its_automation_waits_for(story: Story) -> None:
    key = {"path": BLEND_LETTERS.split("/")}
    [record] = story.live.ask(LABELS, key=key)["assetConditionEvaluationRecordsOrError"]["records"]
    labels = {node["userLabel"] for node in record["evaluationNodes"]}
    assert {"any_deps_changed", "any_deps_unmade", "any_deps_behind", "in_progress"} <= labels


def test_thousands_of_snapshots_at_once_are_queued_and_no_tick_is_long(story: Story) -> None:
    before = {each["id"] for each in story.backfills()}
    for number in range(2000):
        story.works.raw(letters(2, source="diary"), snapshot=f"day-{number:04d}", source="diary")
    story.live.wait(lambda: len(story.live.partitions(DIARY_V0)) >= 2000, "2000 partitions", 600)

    def asked() -> int:
        """Partitions of the new snapshots' documents in backfills; and in a run alone, where a tick found one."""
        fresh = [each for each in story.backfills() if each["id"] not in before]
        made = [each["numPartitions"] for each in fresh if DIARY_V0 in assets(each)]
        runs = [run for run in story.live.runs(statuses=["QUEUED", "STARTED"]) if DIARY_V0 in assets(run)]
        alone = [run for run in runs if not any(tag["key"] == "dagster/backfill" for tag in run["tags"])]
        return int(sum(made)) + len(alone)

    story.live.wait(lambda: asked() >= 2000, "2000 requests", 600)
    began = time.time()
    while time.time() - began < 20:
        states = Counter(run["status"] for run in story.live.runs(statuses=["QUEUED", "STARTING", "STARTED"]))
        assert states["STARTED"] + states["STARTING"] <= 1  # max_concurrent_runs of dagster.yaml
        time.sleep(2)
    ticks = [tick for each in story.ticks("RUNNING").values() for tick in each]
    assert {tick.error.message if tick.error else "" for tick in ticks} == {""}
    assert max(tick.end_timestamp - tick.timestamp for tick in ticks if tick.end_timestamp) < 60
    assert asked() == 2000  # none of them twice
