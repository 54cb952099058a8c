"""sync: a fresh database learns what the lake holds."""

import dagster as dg
import pytest
from dagster_kit import (
    BLEND_INDEX,
    BLEND_LETTERS,
    COUNT_V0,
    COUNT_V1,
    JOURNEY,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    TINY,
    TINY_INDEX,
    TINY_LETTERS,
    Works,
    letters,
)

from assets import sync as syncing
from assets.support.arrivals import report
from assets.support.keys import key_of
from assets.sync import TOLD
from gristmill.__main__ import main as command
from gristmill.raw_data.scan import Seen


@pytest.mark.slow
def test_a_fresh_instance_learns_partitions_and_versions_and_then_nothing_more(made: Works) -> None:
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(made.root, fresh)
        assert other.materialized(BLEND_LETTERS) == set()
        done = other.run("sync", None)
        assert done.success
        assert done.said == ["10 materializations reported, 1 raw snapshots"]
        assert fresh.get_dynamic_partitions("snapshots/letters") == ["2024"]
        for address in (*JOURNEY, BLEND_LETTERS, TINY_LETTERS):
            assert other.materialized(address) == {"2024"}
            assert other.version(address) == made.version(address) == made.fingerprint(address)
        assert other.version(TINY, None) == made.version(TINY, None)
        assert other.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]


def test_an_instance_that_made_it_all_is_told_nothing(made: Works) -> None:
    assert made.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]


@pytest.mark.slow
def test_only_what_changed_is_reported(made: Works) -> None:
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(made.root, fresh)
        other.run("sync", None)
        made.block("letter-3")
        made.run("__ASSET_JOB", only=[BLEND_LETTERS])
        done = other.run("sync", None)
        assert done.said == ["1 materializations reported, 0 raw snapshots"]
        assert other.version(BLEND_LETTERS) == made.version(BLEND_LETTERS)


@pytest.mark.slow
def test_an_empty_lake_reports_nothing(works: Works) -> None:
    assert works.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]


@pytest.mark.slow
def test_a_folder_that_no_recipe_names_is_told(works: Works) -> None:
    works.raw(letters(1), source="leters")
    warned, _ = works.run("sync", None).said
    assert warned.startswith("sources/leters/ is on the lake, but no source 'leters' is on the shelves (near: letters)")


@pytest.mark.slow
def test_what_the_command_make_has_made_is_shown_by_sync(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    assert command(["make", str(works.root), "--shelves", "dagshelf"]) == 0
    assert works.materialized(LETTERS_V0) == set()
    done = works.run("sync", None)
    assert done.success
    slices = (LETTERS_V0, COUNT_V0, LETTERS_V1, COUNT_V1, MOODY_V1, BLEND_LETTERS, TINY_LETTERS)
    assert all(works.materialized(each) == {"2024"} for each in slices)
    made = [each for each in done.made if not each.endswith("/raw")]
    assert sorted(made) == sorted([*slices, TINY, BLEND_INDEX, TINY_INDEX])
    assert len(done.checks) == 1 + 3 + 2 + 1 + 1  # v0, three sets, v1, the mix, its tokens
    assert all(check.passed for check in done.checks.values())
    for address in done.made:  # their pages show what they show of a run
        assert SHOWN.get(address, set()) <= set(done.metadata(address)), address
    assert "data:image/svg+xml" in done.metadata(COUNT_V1)["scores"]


SHOWN = {
    LETTERS_V0: {"dagster/column_schema", "shard table"},
    **{each: {"scores", "labels", "dagster/column_schema", "shard table"} for each in (COUNT_V0, COUNT_V1, MOODY_V1)},
    BLEND_LETTERS: {"dagster/column_lineage", "shard table"},
    TINY_LETTERS: {"document lengths", "bytes of text a token", "shard table"},
    TINY: {"characters read", "trained on", "file"},
    TINY_INDEX: {"streams in training"},
}


@pytest.mark.slow
def test_the_newest_snapshots_alone_are_told_in_full_and_the_newest_is_drawn(works: Works) -> None:
    keys = [f"2024-{number:02}" for number in range(1, TOLD + 3)]
    for snapshot in keys:
        works.raw(letters(int(snapshot[-2:])), snapshot=snapshot)
    assert command(["make", str(works.root), COUNT_V0, "--shelves", "dagshelf"]) == 0
    assert works.run("sync", None).success
    told = scores(works)
    assert {key for key, words in told.items() if words} == set(keys[2:])
    assert {key for key, words in told.items() if "data:image" in words} == {keys[-1]}
    assert told[keys[-2]].startswith("not described yet: Materialize")
    [older, *_] = (
        each.asset_materialization
        for each in works.instance.fetch_materializations(key_of(COUNT_V0), limit=99).records
        if each.partition_key == keys[0]
    )
    assert older is not None
    numbers = {name: value.value for name, value in older.metadata.items()}
    assert numbers["dagster/row_count"] == numbers["shards"] == 1
    assert {type(each) for each in numbers.values()} == {int}
    assert works.run("__ASSET_JOB", keys[-2], only=[COUNT_V0]).success
    assert "data:image" in scores(works)[keys[-2]]


@pytest.mark.slow
def test_a_set_that_is_too_large_is_not_read(works: Works, monkeypatch: pytest.MonkeyPatch) -> None:
    works.raw(letters(1, 2, 3))
    assert command(["make", str(works.root), COUNT_V0, "--shelves", "dagshelf"]) == 0
    monkeypatch.setattr(syncing, "READ", 1)
    files = works.store.list("sources/letters/")
    before = {each.path for each in files}
    assert works.run("sync", None).success
    assert scores(works)["2024"].startswith("not described yet: Materialize")
    assert {each.path for each in works.store.list("sources/letters/")} == before


def scores(works: Works) -> dict[str, str]:
    """The metadata `scores` of each snapshot of a set, as Dagster last recorded it."""
    found: dict[str, str] = {}
    for record in works.instance.fetch_materializations(key_of(COUNT_V0), limit=99).records:
        event = record.asset_materialization
        assert event is not None
        value = event.metadata.get("scores")
        found.setdefault(record.partition_key or "", str(value.value) if value else "")
    return found


@pytest.mark.slow
def test_a_key_whose_raw_data_have_vanished_goes_when_nothing_made_of_them_is_left(works: Works) -> None:
    works.know("2023")
    report(works.instance, works.catalogue.sources["letters"], {"2023": Seen()})
    assert works.run("sync", None).success
    assert works.instance.get_dynamic_partitions("snapshots/letters") == []
