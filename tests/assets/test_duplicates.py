"""Duplicates in Dagster: automation makes fingerprints and the resolution, and the sensor the sets that changed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import orjson
import pytest
from dagster_kit import SHELVES, Works, environment_of, letter
from ticking import Daemon, flat

from assets.duplicates import resolution_asset
from assets.support.keys import address_of, key_of
from gristmill.lake.address import place
from gristmill.lake.rows.shard_file import read_blocks, split_rows
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits
from gristmill.recipes.shelf import read_shelf
from gristmill.stages.dedupe.resolution import resolution_path
from resources.lake import lake_resource
from resources.pauses import pause_recipes, unpause_recipes
from sensors.resolutions import ResolutionMemory, resolution_sensors, stale_sets
from sensors.ticks import read_memory

PRINTS, RESOLUTION = "dedupe/once-1/fingerprints/letters", "dedupe/once-1/resolution"
SET, DOCUMENTS = "sources/letters/v0/attributes/once-1", "sources/letters/v0/documents"


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Works]:
    """Two letters of 2024, of which the second repeats the first; and the recipe that compares them."""
    known = read_catalogue(SHELVES)
    once = read_shelf("dedupes", Dedupe, ("gristmill", "dedupeshelf"))["once-1"]
    known = Catalogue({"letters": known.sources["letters"]}, known.taggers, {}, {}, dedupes={"once-1": once})
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path / "lake", instance, known, shelves=(*SHELVES, "dedupeshelf"))
        works.raw([letter(1, "to the mill"), letter(2, "to the mill")])
        works.arrive("letters")
        yield works


class Watch:
    """Ticks of the sensor, one after another."""

    def __init__(self, works: Works) -> None:
        self.works = works
        self.cursor: str | None = None
        self.said = ""

    def tick(self) -> set[tuple[str, str | None]]:
        """What is asked for, as (address, snapshot)."""
        [sensor] = resolution_sensors(self.works.catalogue)
        lake = lake_resource(environment_of(self.works.root))
        with dg.build_sensor_context(
            instance=self.works.instance,
            cursor=self.cursor,
            resources={"lake": lake},
            definitions=self.works.definitions,
        ) as context:
            found: Any = sensor(context)
        self.cursor = found.cursor
        self.said = found.skip_reason.skip_message if found.skip_reason else f"requested {len(found.run_requests)} run"
        assert (self.cursor or "").startswith(self.said)
        return {(address_of(key), r.partition_key) for r in found.run_requests or () for key in r.asset_selection}


def said(works: Works, address: str) -> dict[str, Any]:
    event = works.instance.get_latest_materialization_event(key_of(address))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def marked(works: Works, snapshot: str) -> list[str]:
    """The ids of the letters of a snapshot that are marked as duplicates."""
    path = place(SET, snapshot).shard("a")
    rows = (orjson.loads(line) for block in read_blocks(works.store, path) for line in split_rows(block))
    return [row["id"] for row in rows if row["attributes"]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Parameter `include_sources`:dagster.BetaWarning")  # Dagster's own
def test_by_itself_a_new_snapshot_is_compared_and_only_its_own_set_is_made(works: Works) -> None:
    daemon, watch = Daemon(works), Watch(works)
    made = flat(daemon.settle())
    assert {(PRINTS, "2024"), (RESOLUTION, None)} <= set(made)
    assert SET not in {address for address, _ in made}
    assert watch.tick() == {(SET, "2024")}
    daemon.make({(SET, "2024")})
    assert watch.tick() == set()
    assert marked(works, "2024") == ["letter-2"]
    works.raw([letter(1, "to the mill"), letter(3, "to the sea")], snapshot="2025")
    works.arrive("letters")
    assert (RESOLUTION, None) in flat(daemon.settle())
    assert watch.tick() == {(SET, "2025")}
    daemon.make({(SET, "2025")})
    assert marked(works, "2025") == ["letter-1"]
    facts = said(works, RESOLUTION)
    assert "warnings" not in facts
    assert "data:image/svg+xml;base64," in facts["who repeats whom"]
    [largest] = [record.data for record in facts["most frequent units"].records]
    ranks = [(record.data["rank"], record.data["snapshot"]) for record in facts["snapshots by rank"].records]
    assert ranks == [(0, "letters/2024"), (1, "letters/2025")]
    assert largest == {"times": 3, "source": "letters", "snapshot": "2024", "shard": "a", "span": 0}
    assert said(works, SET)["labels"] is not None


@pytest.mark.slow
def test_a_resolution_that_finds_nothing_warns_and_does_not_fail(works: Works) -> None:
    def found() -> tuple[bool, dg.AssetCheckSeverity]:
        check = dg.AssetCheckKey(key_of(RESOLUTION), "duplicates_found")
        record = works.instance.event_log_storage.get_latest_asset_check_execution_by_key([check])[check]
        evaluation = record.evaluation
        assert evaluation is not None
        return evaluation.passed, evaluation.severity

    works.raw([letter(1, "to the mill"), letter(2, "to the sea")])
    daemon = Daemon(works)
    for asked in ((DOCUMENTS, "2024"), (PRINTS, "2024"), (RESOLUTION, None)):
        daemon.make({asked})
    assert found() == (False, dg.AssetCheckSeverity.WARN)
    assert said(works, RESOLUTION)["warnings"].startswith("nothing was found in 2 documents")
    works.raw([letter(3, "to the mill")], snapshot="2025")
    works.arrive("letters")
    for asked in ((DOCUMENTS, "2025"), (PRINTS, "2025"), (RESOLUTION, None)):
        daemon.make({asked})
    assert found() == (True, dg.AssetCheckSeverity.WARN)


@pytest.mark.slow
def test_a_damaged_resolution_is_told_at_each_tick_and_counted_until_it_is_mended(works: Works) -> None:
    daemon, watch = Daemon(works), Watch(works)
    for asked in ((DOCUMENTS, "2024"), (PRINTS, "2024"), (RESOLUTION, None)):
        daemon.make({asked})
    path = resolution_path("once-1")
    whole = works.store.read(path)
    works.store.put(path, whole[:-9])
    for number in (1, 2, 3):
        assert watch.tick() == set()
        assert watch.said == f"{path}: it is not the file that its ledger names; run {RESOLUTION} again"
        assert read_memory(ResolutionMemory, watch.cursor, "resolutions").failed == {
            f"{RESOLUTION} (it cannot be read)": number
        }
    works.store.put(path, whole)
    assert watch.tick() == {(SET, "2024")}
    assert read_memory(ResolutionMemory, watch.cursor, "resolutions").failed == {}


@pytest.mark.slow
def test_a_snapshot_that_is_gone_holds_back_no_other_set(works: Works) -> None:
    daemon, watch = Daemon(works), Watch(works)
    works.raw([letter(3, "to the sea")], snapshot="2025")
    works.arrive("letters")
    for snapshot in ("2024", "2025"):
        daemon.make({(DOCUMENTS, snapshot)})
        daemon.make({(PRINTS, snapshot)})
    daemon.make({(RESOLUTION, None)})
    works.instance.delete_dynamic_partition("snapshots/letters", "2025")
    assert watch.tick() == {(SET, "2024")}
    assert [watch.tick(), watch.said] == [set(), "nothing new: no set is affected"]
    works.know("2025")
    assert watch.tick() == {(SET, "2025")}


@pytest.mark.slow
def test_a_source_that_the_recipe_no_longer_compares_has_no_set(works: Works) -> None:
    """The last resolution names it until the next one is made."""
    daemon, once = Daemon(works), works.catalogue.dedupes["once-1"]
    for asked in ((DOCUMENTS, "2024"), (PRINTS, "2024"), (RESOLUTION, None)):
        daemon.make({asked})
    assert list(stale_sets(works.store, once)) == [(SET, "2024")]
    assert list(stale_sets(works.store, replace(once, sources=("papers/v0",)))) == []


def test_a_cursor_that_nobody_can_read_is_dropped(works: Works) -> None:
    watch = Watch(works)
    watch.cursor = "17"
    assert watch.tick() == set()


@pytest.mark.slow
def test_a_request_that_failed_is_not_repeated_until_the_next_resolution(works: Works) -> None:
    daemon, watch = Daemon(works), Watch(works)
    daemon.make({(DOCUMENTS, "2024")})
    daemon.make({(PRINTS, "2024")})
    daemon.make({(RESOLUTION, None)})
    assert watch.tick() == {(SET, "2024")}
    assert watch.tick() == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["letters", "once-1"])
def test_of_a_paused_source_or_recipe_no_set_is_requested_and_all_of_them_after_the_pause(
    works: Works, name: str
) -> None:
    daemon, watch = Daemon(works), Watch(works)
    for made in ((DOCUMENTS, "2024"), (PRINTS, "2024"), (RESOLUTION, None)):
        daemon.make({made})
    pause_recipes(works.instance, [name])
    assert watch.tick() == set()
    assert watch.said == f"{SET} waits: {name} is paused"
    assert watch.tick() == set()
    unpause_recipes(works.instance, [name])
    assert watch.tick() == {(SET, "2024")}
    assert watch.tick() == set()


def test_the_set_depends_on_documents_and_fingerprints_and_on_no_resolution(works: Works) -> None:
    graph = works.definitions.resolve_asset_graph()
    assert graph.get(key_of(SET)).parent_keys == {key_of(DOCUMENTS), key_of(PRINTS)}
    assert graph.get(key_of(RESOLUTION)).parent_keys == {key_of(PRINTS)}


@pytest.mark.slow
def test_a_fresh_database_is_shown_the_resolution_by_sync(works: Works) -> None:
    daemon = Daemon(works)
    for asked in ((DOCUMENTS, "2024"), (PRINTS, "2024"), (RESOLUTION, None), (SET, "2024")):
        daemon.make({asked})
    version = works.instance.get_latest_data_version_record(key_of(RESOLUTION))
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(works.root, fresh, works.catalogue, shelves=(*SHELVES, "dedupeshelf"))
        assert other.run("sync", None).success
        assert "who repeats whom" in said(other, RESOLUTION)
        assert "labels" not in said(other, PRINTS)
        shown = fresh.get_latest_data_version_record(key_of(RESOLUTION))
    assert version is not None
    assert shown is not None
    both = [(each.asset_materialization.tags or {}) for each in (version, shown) if each.asset_materialization]
    assert len({tags["dagster/data_version"] for tags in both}) == 1


def test_a_resolution_waits_for_the_set_whose_score_chooses_what_a_cluster_keeps(works: Works) -> None:
    best = Dedupe(name="best-1", unit=MinHashUnits(keeper="score", score="count-1__words"), sources=("letters/v0",))
    asset = resolution_asset(replace(works.catalogue, dedupes={"best-1": best}), best)
    read = {address_of(key) for key in asset.dependency_keys}
    assert read == {"dedupe/best-1/fingerprints/letters", "sources/letters/v0/attributes/count-1"}
