"""One Dagster shows one lake: another one is refused until `sync` has been."""

import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_kit import (
    BLEND_INDEX,
    BLEND_LETTERS,
    COUNT_V1,
    JOURNEY,
    LETTERS_V0,
    TINY,
    TINY_LETTERS,
    Works,
    environment_of,
    letters,
)

from assets.support.keys import key_of
from assets.support.lake_identity import UNSHOWN, check_lake, is_shown, shown_lake
from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.ledger.lake_id import LAKE_FILE, is_new, make_lake_id, read_lake_id
from resources.lake import lake_resource

RAW = "sources/letters/raw"


def other(works: Works, tmp_path: Path) -> Works:
    """Another lake in the same Dagster, with another snapshot."""
    second = Works(tmp_path / "other", works.instance)
    second.raw(letters(4, 5), snapshot="2025")
    return second


def test_the_first_lake_that_a_dagster_sees_is_the_one_it_shows(made: Works) -> None:
    plate = read_lake_id(made.store)
    assert plate is not None
    assert shown_lake(made.instance) == plate.id
    check_lake(made.instance, made.store)
    assert make_lake_id(made.store) == plate


def test_a_run_on_another_lake_is_refused_and_writes_nothing(made: Works, tmp_path: Path) -> None:
    second = other(made, tmp_path)
    second.know("2025")
    before = {entry.path for entry in second.store.list("")}
    done = second.run("letters_journey", "2025")
    assert not done.success
    assert list(done.failures) == [f"{LETTERS_V0.replace('/', '__')}.plan"]
    assert "run the job `sync`" in next(iter(done.failures.values()))
    assert {entry.path for entry in second.store.list("")} == before


@pytest.mark.slow
def test_sync_makes_dagster_show_the_other_lake_and_nothing_of_the_first(made: Works, tmp_path: Path) -> None:
    second = other(made, tmp_path)
    assert second.run("sync", None).said[-1] == "0 materializations reported, 1 raw snapshots"
    assert made.instance.get_dynamic_partitions("snapshots/letters") == ["2025"]
    assert second.materialized(RAW) == {"2025"}
    for address in (*JOURNEY, BLEND_LETTERS, TINY_LETTERS):
        assert second.materialized(address) == set()
    for address in (TINY, BLEND_INDEX):
        assert made.instance.get_latest_materialization_event(key_of(address)) is None
    assert second.run("letters_journey", "2025").success
    assert second.materialized(COUNT_V1) == {"2025"}


@pytest.mark.slow
def test_back_on_the_first_lake_sync_tells_it_all_again(made: Works, tmp_path: Path) -> None:
    second = other(made, tmp_path)
    second.run("sync", None)
    with pytest.raises(RecipeError, match="but this Dagster shows lake"):
        check_lake(made.instance, made.store)
    assert made.run("sync", None).said[-1] == "10 materializations reported, 1 raw snapshots"
    assert made.materialized(BLEND_LETTERS) == {"2024"}
    assert made.version(TINY_LETTERS) == made.fingerprint(TINY_LETTERS)
    assert made.run("sync", None).said[-1] == "0 materializations reported, 0 raw snapshots"
    done = made.run("letters_journey")
    assert done.success
    assert done.metadata(LETTERS_V0)["shards ground"] == 0


@pytest.mark.slow
def test_a_lake_restored_from_an_older_copy_is_shown_as_it_is(made: Works) -> None:
    made.raw(letters(7, 8), snapshot="2025")
    made.arrive("letters")
    assert made.run("letters_journey", "2025").success
    for each in made.root.rglob("2025*"):
        if "raw" not in each.relative_to(made.root).parts:
            shutil.rmtree(each) if each.is_dir() else each.unlink(missing_ok=True)
    assert made.materialized(LETTERS_V0) == {"2024", "2025"}
    assert made.run("sync", None).said[-1] == f"{len(JOURNEY)} materializations reported, 0 raw snapshots"
    assert made.materialized(LETTERS_V0) == {"2024"}
    assert made.instance.get_dynamic_partitions("snapshots/letters") == ["2024", "2025"]


def test_a_lake_emptied_and_begun_anew_at_the_same_address_is_another(made: Works) -> None:
    shutil.rmtree(made.root)
    made.root.mkdir()
    with pytest.raises(RecipeError, match="run the job `sync`"):
        check_lake(made.instance, made.store)


def test_a_broken_nameplate_is_an_error_that_names_it(works: Works) -> None:
    works.store.put(LAKE_FILE, b'{"id": "mine"}')
    with pytest.raises(DataError, match="not a valid lake id"):
        check_lake(works.instance, works.store)


def test_a_dagster_that_has_never_seen_a_finished_lake_is_told_first(made: Works) -> None:
    """Or it would make everything anew: keep every shard, but run for it."""
    with dg.DagsterInstance.ephemeral() as fresh:
        with pytest.raises(RecipeError, match="which this Dagster has never seen: run the job `sync` first"):
            check_lake(fresh, made.store)
        second = Works(made.root, fresh)
        assert second.run("sync", None).success
        check_lake(fresh, made.store)
        assert shown_lake(fresh) == shown_lake(made.instance)


@pytest.mark.slow
def test_a_lake_with_raw_data_alone_is_new(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    assert is_new(works.store)
    check_lake(works.instance, works.store)
    works.arrive("letters")
    assert works.run("letters_journey").success
    assert not is_new(works.store)


def test_sensors_wait_until_the_lake_is_shown(made: Works) -> None:
    with dg.DagsterInstance.ephemeral() as fresh:
        for name in ("raw_arrivals", "blocklists"):
            sensor = made.definitions.resolve_sensor_def(name)
            lake = lake_resource(environment_of(made.root))
            with dg.build_sensor_context(instance=fresh, resources={"lake": lake}) as context:
                said: Any = sensor(context)
            reason = said if isinstance(said, dg.SkipReason) else said.skip_reason
            assert reason.skip_message == UNSHOWN
        assert fresh.get_dynamic_partitions("snapshots/letters") == []


def test_a_lake_whose_disk_is_not_mounted_is_a_store_error_and_not_another_lake(made: Works, tmp_path: Path) -> None:
    made.root.rename(tmp_path / "unmounted")
    with pytest.raises(StoreError, match="there is no lake"):
        is_shown(made.instance, made.store)
