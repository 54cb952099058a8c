"""The blocklist sensor: which slices a changed list asks for, tick by tick, and what becomes of them."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)
from dagster._daemon.types import DaemonHeartbeat
from dagster_kit import BLEND_LETTERS, LETTERS_V1, SHELVES, Works, environment_of, letters

from assets.support.keys import address_of, key_of
from gristmill.lake.address import place
from gristmill.pipeline.dry_run import survey_steps
from gristmill.pipeline.steps import mix_steps
from gristmill.recipes.catalogue import Catalogue
from resources.lake import lake_resource
from resources.pauses import pause_recipes, unpause_recipes
from sensors.blocklists import BlocklistMemory, blocklist_sensors
from sensors.ticks import read_memory

Asked = list[tuple[str, str]]


class Watch:
    """Ticks of the sensor, one after another, and the runs that they ask for."""

    def __init__(self, works: Works, box: float = 30.0) -> None:
        self.works = works
        self.box = box
        self.cursor: str | None = None
        self.said = ""

    def tick(self) -> Asked:
        """What is asked for, as (address, snapshot)."""
        [sensor] = blocklist_sensors(self.works.catalogue, box=self.box)
        lake = lake_resource(environment_of(self.works.root))
        with dg.build_sensor_context(
            instance=self.works.instance,
            cursor=self.cursor,
            resources={"lake": lake},
            definitions=self.works.definitions,
        ) as context:
            found: Any = sensor(context)
        self.cursor = found.cursor
        self.said = found.skip_reason.skip_message if found.skip_reason else ""
        assert (self.cursor or "").startswith(self.said or f"requested {len(found.run_requests)} run")
        job = self.works.definitions.resolve_implicit_global_asset_job_def()
        for each in found.run_requests:  # Dagster refuses a request that leaves out a check of an asset
            job.get_subset(
                asset_selection=set(each.asset_selection), asset_check_selection=set(each.asset_check_keys or ())
            )
        return [(address_of(key), str(r.partition_key)) for r in found.run_requests for key in r.asset_selection]

    def failed(self) -> dict[str, int]:
        """What the watchman reads: in how many ticks each list, or each asset with such a slice, was wrong."""
        return read_memory(BlocklistMemory, self.cursor, "blocklists").failed

    def make(self, asked: Asked) -> None:
        job = self.works.definitions.resolve_implicit_global_asset_job_def()
        for address, snapshot in asked:
            done = job.execute_in_process(
                instance=self.works.instance,
                partition_key=snapshot,
                asset_selection=[key_of(address)],
                run_config={"resources": {"engine": {"config": {"kind": "inline"}}}},
            )
            assert done.success

    def event(self) -> Asked:
        """One tick and its runs, and a tick after them, which must ask for nothing."""
        asked = self.tick()
        self.make(asked)
        assert self.tick() == []
        return asked


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """One snapshot with letters of two and three words, mixed."""
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path_factory.mktemp("finished") / "lake", instance)
        mixed(works, y2024=(2, 3))
        yield works


@pytest.fixture
def two(finished: Works, tmp_path: Path) -> Iterator[Works]:
    """A copy of it."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield finished.copy(tmp_path / "lake", instance)


@pytest.fixture(scope="module")
def finished_years(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """Three snapshots, mixed; each has the letter of two words and another of its own."""
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path_factory.mktemp("years") / "lake", instance)
        mixed(works, y2023=(2, 3), y2024=(2, 4), y2025=(2, 5))
        yield works


@pytest.fixture
def years(finished_years: Works, tmp_path: Path) -> Iterator[Works]:
    """A copy of them."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield finished_years.copy(tmp_path / "lake", instance)


def watched(works: Works) -> Watch:
    """The sensor has seen the lake, and asks for nothing."""
    watch = Watch(works)
    assert watch.tick() == []
    return watch


def mixed(works: Works, **snapshots: Sequence[int]) -> Watch:
    """Snapshots with letters of so many words, mixed; the sensor has seen them."""
    for name, numbers in snapshots.items():
        works.raw(letters(*numbers), snapshot=name.removeprefix("y"))
    works.arrive("letters")
    for name in snapshots:
        snapshot = name.removeprefix("y")
        assert works.run("letters_journey", snapshot).success
        assert works.run("__ASSET_JOB", snapshot, only=[BLEND_LETTERS]).success
    return watched(works)


@pytest.mark.slow
def test_a_new_entry_asks_for_the_slices_that_hold_it_once_and_for_no_others(years: Works) -> None:
    watch = watched(years)
    years.block("letter-4", "letter-5")
    assert watch.event() == [(BLEND_LETTERS, "2024"), (BLEND_LETTERS, "2025")]
    assert [years.ids(BLEND_LETTERS, snapshot=s) for s in ("2023", "2024", "2025")] == [
        ["letter-2", "letter-3"],
        ["letter-2"],
        ["letter-2"],
    ]


@pytest.mark.slow
def test_a_slice_whose_table_is_damaged_does_not_hold_back_the_others_and_is_checked_until_it_is_mended(
    years: Works,
) -> None:
    watch = watched(years)
    table = place(BLEND_LETTERS, "2024").table
    whole = years.store.read(table)
    years.store.put(table, whole[:-9])
    years.block("letter-2")
    assert watch.tick() == [(BLEND_LETTERS, "2023"), (BLEND_LETTERS, "2025")]
    watch.make([(BLEND_LETTERS, "2023"), (BLEND_LETTERS, "2025")])
    for number in (2, 3):
        assert watch.tick() == []
        assert watch.said.startswith(f"1 slice cannot be checked: {BLEND_LETTERS} (2024): {table}")
        assert watch.failed() == {f"{BLEND_LETTERS} (a slice cannot be checked)": number}
    years.store.put(table, whole)
    assert watch.tick() == [(BLEND_LETTERS, "2024")]
    assert watch.failed() == {}


def test_an_entry_that_stands_nowhere_asks_for_nothing_and_leaves_nothing_to_do(two: Works) -> None:
    watch = watched(two)
    before = two.fingerprint(BLEND_LETTERS)
    two.block("letter-77")
    two.block("letter-2", source="diary")
    assert watch.event() == []
    steps = list(mix_steps(two.catalogue.mixes["blend"], "letters", "2024", SHELVES))
    assert {found.state for found in survey_steps(steps, two.store)} == {"finished"}
    assert two.run("__ASSET_JOB", only=[BLEND_LETTERS]).success
    assert two.fingerprint(BLEND_LETTERS) == before  # made again, it is the same to all that lies below


@pytest.mark.slow
def test_a_list_that_goes_back_and_forth_is_followed_every_time(two: Works) -> None:
    watch = watched(two)
    for _ in range(2):
        two.block("letter-3")
        assert watch.event() == [(BLEND_LETTERS, "2024")]
        assert two.ids(BLEND_LETTERS) == ["letter-2"]
        two.block()
        assert watch.event() == [(BLEND_LETTERS, "2024")]
        assert two.ids(BLEND_LETTERS) == ["letter-2", "letter-3"]


@pytest.mark.slow
def test_a_list_that_is_written_again_with_other_reasons_asks_for_nothing(two: Works) -> None:
    watch = watched(two)
    two.block("letter-3")
    watch.event()
    held = two.store.read("blocklists/takedowns.jsonl")
    two.store.put("blocklists/takedowns.jsonl", held.replace(b"asked for", b"a second time"))
    assert watch.event() == []


@pytest.mark.slow
def test_a_lost_cursor_rebuilds_nothing_and_misses_nothing(years: Works) -> None:
    watch = watched(years)
    years.block("letter-3")
    watch.event()
    watch.cursor = None
    assert watch.tick() == []
    years.block("letter-3", "letter-4")
    watch.cursor = None
    assert watch.tick() == [(BLEND_LETTERS, "2024")]


def test_a_run_that_failed_is_not_asked_for_again(two: Works) -> None:
    watch = watched(two)
    two.block("letter-3")
    assert watch.tick() == [(BLEND_LETTERS, "2024")]
    assert [watch.tick() for _ in range(3)] == [[], [], []]


def test_a_tick_that_runs_out_of_time_is_gone_on_with(years: Works) -> None:
    watch = watched(years)
    watch.box = -1.0  # over before it begins: a slice a tick
    years.block("letter-2")
    asked = [watch.tick() for _ in range(4)]
    assert asked == [[(BLEND_LETTERS, "2023")], [(BLEND_LETTERS, "2024")], [(BLEND_LETTERS, "2025")], []]


def test_a_list_that_changes_while_its_change_is_followed_is_followed_from_the_start(years: Works) -> None:
    watch = watched(years)
    watch.box = -1.0
    years.block("letter-4")
    assert watch.tick() == []
    years.block("letter-3", "letter-4")
    assert [watch.tick() for _ in range(3)] == [[(BLEND_LETTERS, "2023")], [(BLEND_LETTERS, "2024")], []]


def test_a_slice_that_is_being_made_is_looked_at_when_that_is_over(years: Works) -> None:
    watch = watched(years)
    run = years.instance.create_run_for_job(
        years.definitions.resolve_job_def("__ASSET_JOB"),
        tags={"dagster/partition": "2024"},
        asset_selection=frozenset({key_of(BLEND_LETTERS)}),
        status=dg.DagsterRunStatus.STARTED,
    )
    years.block("letter-2")
    assert watch.tick() == [(BLEND_LETTERS, "2023"), (BLEND_LETTERS, "2025")]
    assert watch.tick() == []
    assert watch.said == "1 slices are being made; they are checked again"
    years.instance.report_run_failed(run)
    assert watch.tick() == [(BLEND_LETTERS, "2024")]
    assert watch.tick() == []


@pytest.mark.slow
def test_a_row_that_is_none_is_an_error_that_names_it_until_it_is_mended(two: Works) -> None:
    watch = watched(two)
    two.store.put("blocklists/takedowns.jsonl", b'{"source":"letters","id":"letter-3","reason":"x"}\n{"id":1}\n')
    for number in (1, 2, 3):
        assert watch.tick() == []
        assert watch.said.startswith("blocklists/takedowns.jsonl: row 1: ")
        assert watch.failed() == {"blocklists/takedowns.jsonl (a row cannot be read)": number}
    two.block("letter-3")
    assert watch.event() == [(BLEND_LETTERS, "2024")]


def test_a_list_that_is_taken_away_is_an_error_and_no_empty_list(two: Works) -> None:
    watch = watched(two)
    two.store.delete(["blocklists/takedowns.jsonl"])
    assert watch.tick() == []
    assert watch.said.startswith("blocklists/takedowns.jsonl: a selection names this blocklist")
    assert watch.failed() == {"blocklists/takedowns.jsonl (the lake has none)": 1}
    two.block()
    assert watch.event() == []


def test_an_older_copy_of_a_list_is_an_error_that_names_what_is_gone_and_brings_nothing_back(two: Works) -> None:
    watch = watched(two)
    two.block("letter-77")
    assert watch.event() == []  # no document has it yet, so no run reads the list: the tick notes it
    older = b""
    newer = two.store.read("blocklists/takedowns.jsonl")
    two.store.put("blocklists/takedowns.jsonl", older)
    lost = "blocklists/takedowns.jsonl: it has lost 1 of the 1 entries that withdrawn/blocklists/takedowns.jsonl has: "
    for number in (1, 2, 3):
        assert watch.tick() == []
        assert watch.said.startswith(f"{lost}'letter-77' of 'letters'; ")
        assert watch.failed() == {"blocklists/takedowns.jsonl (1 of 1 entries lost)": number}
    assert not two.run("__ASSET_JOB", only=[BLEND_LETTERS]).success
    two.store.put("blocklists/takedowns.jsonl", newer)
    assert watch.event() == []
    assert watch.failed() == {}
    assert two.run("__ASSET_JOB", only=[BLEND_LETTERS]).success


@pytest.mark.slow
def test_a_list_that_comes_late_makes_what_failed_for_want_of_it(works: Works) -> None:
    works.store.delete(["blocklists/takedowns.jsonl"])
    watch = Watch(works)
    assert [watch.tick(), watch.said] == [[], "nothing new: no slice is affected"]  # an empty lake is at peace
    works.raw(letters(2, 3))
    works.arrive("letters")
    assert works.run("letters_journey").success
    assert not works.run("__ASSET_JOB", only=[BLEND_LETTERS]).success
    assert [watch.tick(), watch.tick()] == [[], []]
    works.block("letter-2")
    assert watch.event() == [(BLEND_LETTERS, "2024")]
    assert works.ids(BLEND_LETTERS) == ["letter-3"]


@pytest.mark.slow
def test_a_list_that_is_mended_makes_what_its_damage_kept_from_being_made_again(two: Works) -> None:
    watch = watched(two)
    two.store.put("blocklists/takedowns.jsonl", b'{"id":1}\n')
    two.raw(letters(2, 3, 4))
    two.arrive("letters")
    assert two.run("letters_journey").success
    assert not two.run("__ASSET_JOB", only=[BLEND_LETTERS]).success
    assert watch.tick() == []
    two.block()
    assert watch.event() == [(BLEND_LETTERS, "2024")]
    assert two.ids(BLEND_LETTERS) == ["letter-2", "letter-3", "letter-4"]


@pytest.mark.slow
def test_a_version_that_names_a_list_is_followed_too(works: Works) -> None:
    known = works.catalogue
    source = known.sources["letters"]
    revision = replace(source.revisions[0], blocklists=("takedowns", "evals"))
    chosen = {**known.sources, "letters": replace(source, revisions=(revision,))}
    works.catalogue = Catalogue(chosen, known.taggers, known.mixes, known.tokenizers)
    works.store.put("blocklists/evals.jsonl", b"")
    watch = mixed(works, y2024=(2, 3), y2025=(4, 5))
    works.store.put("blocklists/evals.jsonl", b'{"source":"letters","id":"letter-3","reason":"test set"}\n')
    assert watch.event() == [(LETTERS_V1, "2024")]
    assert works.ids(LETTERS_V1) == ["letter-2"]


@pytest.mark.slow
def test_a_list_that_cannot_be_read_holds_back_no_other(works: Works) -> None:
    known = works.catalogue
    source = known.sources["letters"]
    revision = replace(source.revisions[0], blocklists=("evals",))
    chosen = {**known.sources, "letters": replace(source, revisions=(revision,))}
    works.catalogue = Catalogue(chosen, known.taggers, known.mixes, known.tokenizers)
    works.store.put("blocklists/evals.jsonl", b"")
    watch = mixed(works, y2024=(2, 3))
    works.store.put("blocklists/evals.jsonl", b'{"id":1}\n')
    assert watch.tick() == []
    works.block("letter-3")
    assert watch.tick() == [(BLEND_LETTERS, "2024")]
    assert watch.failed() == {"blocklists/evals.jsonl (a row cannot be read)": 2}


def test_where_no_recipe_names_a_list_there_is_no_sensor(works: Works) -> None:
    known = works.catalogue
    assert blocklist_sensors(Catalogue(known.sources, known.taggers, {}, {})) == []


@pytest.mark.slow
def test_a_list_asks_for_nothing_while_a_person_has_stopped_the_automation(tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        works = Works(tmp_path / "lake", instance)
        watch = mixed(works, y2024=(2, 3))
        works.block("letter-3")
        works.instance.add_daemon_heartbeat(DaemonHeartbeat(time.time(), "SENSOR", "daemon", []))
        origin = RemoteInstigatorOrigin(
            RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("gristmill"), "__repository__"), "automation"
        )
        state = InstigatorState(origin, InstigatorType.SENSOR, InstigatorStatus.STOPPED, SensorInstigatorData())
        works.instance.add_instigator_state(state)
        assert watch.tick() == []
        assert watch.said == f"{BLEND_LETTERS} waits: automation is stopped"
        pause_recipes(works.instance, ["blend"])
        assert watch.tick() == []
        assert watch.said == f"{BLEND_LETTERS} waits: blend is paused"
        unpause_recipes(works.instance, ["blend"])
        ticked = '{"units": {"letters": {"cursor": "it has ticked"}}}'
        works.instance.update_instigator_state(
            state.with_status(InstigatorStatus.RUNNING).with_data(SensorInstigatorData(cursor=ticked))
        )
        assert watch.tick() == [(BLEND_LETTERS, "2024")]
