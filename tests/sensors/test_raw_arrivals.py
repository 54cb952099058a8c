"""The raw-arrival sensor against a folder: what it reports, and what it does not."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_kit import Works, environment_of, letters
from powers import held_to_modes
from testkit import packed

from assets.support.keys import key_of
from gristmill.errors import StoreError
from gristmill.lake.address import place
from gristmill.raw_data.remarks import raw_remarks
from gristmill.raw_data.scan import scan_raw
from gristmill.recipes.source import RawRoot
from resources.lake import lake_resource
from resources.pages.news import without_news

RAW = "sources/letters/raw"


def tick(works: Works, name: str = "letters", cursor: str | None = None) -> tuple[str, list[str]]:
    """One tick of the sensor: what it says first, and what it warned of."""
    result, logged, warned = tick_of(works, cursor)
    said = logged[0] if logged else result.skip_message or ""
    return said.removeprefix(f"{name}: "), warned


def tick_of(works: Works, cursor: str | None = None) -> Any:
    """One tick of the sensor: its result, what it logged and what it warned of."""
    sensor = works.definitions.resolve_sensor_def("raw_arrivals")
    warned: list[str] = []
    logged: list[str] = []
    with dg.build_sensor_context(
        instance=works.instance, cursor=cursor, resources={"lake": lake_resource(environment_of(works.root))}
    ) as context:
        context.log.warning = lambda text, *_: warned.append(text)  # type: ignore[method-assign]  # to read it
        context.log.info = lambda text, *_: logged.append(text)  # type: ignore[method-assign]  # to read it
        result: Any = sensor(context)
    assert isinstance(result, dg.SkipReason) is not bool(logged)
    return result, logged, warned


def events(works: Works) -> list[tuple[str | None, str]]:
    """The snapshot and data version of every report so far, oldest first."""
    found = works.instance.fetch_materializations(key_of(RAW), limit=100, ascending=True).records
    reports = [record.asset_materialization for record in found]
    return [(each.partition, each.tags["dagster/data_version"]) for each in reports if each and each.tags]


def test_a_new_snapshot_becomes_a_partition_and_an_event(works: Works) -> None:
    works.raw(letters(1, 2))
    assert tick(works) == ("2024 reported", [])
    assert works.instance.get_dynamic_partitions("snapshots/letters") == ["2024"]
    [(snapshot, version)] = events(works)
    assert (snapshot, len(version)) == ("2024", 32)
    assert works.materialized(RAW) == {"2024"}


def test_a_source_that_cannot_be_listed_holds_back_no_other(works: Works, tmp_path: Path) -> None:
    source = replace(works.catalogue.sources["letters"], raw=RawRoot(f"{tmp_path}/unmounted"))
    catalogue = replace(works.catalogue, sources={**works.catalogue.sources, "letters": source})
    broken = Works(works.root, works.instance, catalogue)
    works.raw(letters(1, source="diary"), source="diary")
    assert tick(broken, "diary")[0] == "2024 reported"
    assert tick(broken)[0].startswith("sources/letters/raw: not looked at: ")


def test_raw_data_of_another_folder_arrive_too(works: Works, tmp_path: Path) -> None:
    works.raw(letters(9), snapshot="2025")
    (tmp_path / "texts" / "2024").mkdir(parents=True)
    (tmp_path / "texts" / "2024" / "a.jsonl.gz").write_bytes(packed(letters(1, 2)))
    source = replace(works.catalogue.sources["letters"], raw=RawRoot(f"{tmp_path}/texts"))
    catalogue = replace(works.catalogue, sources={**works.catalogue.sources, "letters": source})
    elsewhere = Works(works.root, works.instance, catalogue)
    assert tick(elsewhere) == ("2024 reported", [])
    (tmp_path / "texts" / "2024" / "a.jsonl.gz").write_bytes(packed(letters(1)))
    assert tick(elsewhere) == ("2024 reported", [])


def test_what_did_not_change_is_not_reported_again(works: Works) -> None:
    works.raw(letters(1, 2))
    tick(works)
    assert tick(works) == ("nothing new", [])
    assert len(events(works)) == 1


def test_a_changed_and_an_added_and_a_removed_object_report_their_snapshot_alone(works: Works) -> None:
    works.raw(letters(1, 2))
    works.raw(letters(3), snapshot="2025")
    assert tick(works)[0] == "2024, 2025 reported"
    works.raw(letters(1, 2, 3))
    assert tick(works)[0] == "2024 reported"
    works.raw(letters(4), "b", snapshot="2025")
    assert tick(works)[0] == "2025 reported"
    works.store.delete([f"{RAW}/2025/b.jsonl.gz"])
    assert tick(works)[0] == "2025 reported"
    assert tick(works)[0] == "nothing new"
    reports = events(works)
    assert [snapshot for snapshot, _ in reports] == ["2024", "2025", "2024", "2025", "2025"]
    assert reports[-1] == reports[1]  # it is again what it was at first


def test_the_last_report_is_read_from_dagster_and_not_from_a_cursor(works: Works) -> None:
    """A sensor that is reset, or new, does not rebuild everything."""
    works.raw(letters(1, 2))
    tick(works)
    assert tick(works, cursor=None)[0] == "nothing new"
    said, [told] = tick(works, cursor="anything")
    assert (said, told[:60]) == ("nothing new", "raw_arrivals: the sensor's cursor cannot be read, and is dro")
    of_source = f"{RAW}: the sensor's cursor cannot be read, and is dropped (Expecting value: line 1 column 1 (char 0))"
    assert tick(works, cursor='{"sources":{"letters":"anything"}}') == ("nothing new", [of_source])
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(works.root, fresh)
        assert tick(other)[0] == "2024 reported"
        assert events(other) == events(works)


def test_names_that_make_no_snapshot_are_skipped_loudly(works: Works) -> None:
    works.raw(letters(1, 2))
    works.raw(letters(3), snapshot="20 25")
    works.raw(letters(3), snapshot="a,b")
    said, warned = tick(works)
    assert said == "2024 reported; objects without a valid snapshot name: 2"
    assert len(warned) == 2
    assert warned[0].startswith(f"{RAW}/20 25 is skipped: ")
    assert warned[1].startswith(f"{RAW}/a,b is skipped: ")
    assert works.instance.get_dynamic_partitions("snapshots/letters") == ["2024"]


def test_files_that_the_source_does_not_read_are_told_with_the_mend_as_plan_tells_them(works: Works) -> None:
    for name in ("2024/.part-of-a-download", "2024/a.rst", "2024/b.rst", "2024/c.md", "beside.jsonl"):
        works.store.put(f"{RAW}/{name}", b"x")
    source = replace(works.catalogue.sources["letters"], select="jsonl")
    catalogue = replace(works.catalogue, sources={**works.catalogue.sources, "letters": source})
    said = (
        "nothing new; 1 hidden file, '2024/.part-of-a-download': not read, as files of a desktop or an editor;"
        " 3 files that select does not match (.rst: 2, .md: 1): not read; if they are to be read, change"
        " select='jsonl' in the recipe of 'letters';"
        " 1 file, 'beside.jsonl': not read, because in no snapshot; move them into a snapshot's folder,"
        f" {RAW}/2024/ say, or give the recipe of 'letters' partition=Everything(), which makes all files one snapshot"
    )
    assert tick(Works(works.root, works.instance, catalogue)) == (said, [])
    assert works.instance.get_dynamic_partitions("snapshots/letters") == []
    planned = list(raw_remarks(source, scan_raw(source, works.store), works.store, f"{RAW}/"))
    assert said == "; ".join(["nothing new", *planned])


def test_an_empty_lake_is_nothing_new(works: Works) -> None:
    assert tick(works) == ("nothing new", [])


def test_a_lake_that_is_gone_is_an_error_and_nothing_is_reported(works: Works) -> None:
    works.raw(letters(1, 2))
    tick(works)
    shutil.rmtree(works.root)
    with pytest.raises(StoreError):
        tick(works)
    assert len(events(works)) == 1


def test_a_folder_that_may_not_be_read_is_told_by_name(works: Works) -> None:
    works.raw(letters(1, 2))
    (works.root / RAW / "2024").chmod(0)
    try:
        with held_to_modes():
            said, warned = tick(works)
        (works.root / RAW).chmod(0)
        with held_to_modes():
            lost, _ = tick(works)
    finally:
        (works.root / RAW).chmod(0o700)
        (works.root / RAW / "2024").chmod(0o700)
    assert lost.startswith(f"{RAW}: not looked at: {RAW}: Permission denied")
    assert said == "nothing new; snapshots that cannot be converted as they are: 1 (2024)"
    assert warned == [f"{RAW}/2024 is skipped: 2024: Permission denied (make this folder readable for this user)"]
    assert events(works) == []


def test_one_source_does_not_see_what_another_got(works: Works) -> None:
    works.raw(letters(1, source="diary"), source="diary")
    assert tick(works, "diary")[0] == "2024 reported"
    assert works.instance.get_dynamic_partitions("snapshots/letters") == []


def test_a_tick_that_found_something_is_a_success_and_says_what(works: Works) -> None:
    works.raw(letters(1, 2))
    works.raw(letters(3), snapshot="2025")
    size = sum(entry.size for entry in works.store.list(f"{RAW}/2024/"))
    result, logged, _ = tick_of(works)
    assert not isinstance(result, dg.SkipReason)
    assert logged[:2] == ["letters: 2024, 2025 reported", f"letters: 2024 new: 1 file, {size} bytes"]
    assert isinstance(tick_of(works)[0], dg.SkipReason)


def test_the_first_words_of_the_cursor_are_what_was_found(works: Works) -> None:
    works.raw(letters(1))
    sensor = works.definitions.resolve_sensor_def("raw_arrivals")
    resources = {"lake": lake_resource(environment_of(works.root))}
    with dg.build_sensor_context(instance=works.instance, resources=resources) as context:
        sensor(context)
        cursor = context.cursor or ""
    assert cursor.startswith("letters: 2024 new: 1 file, ")
    former = json.dumps({"said": "letters: 2024 new", **json.loads(without_news(cursor))})  # one line, the news in it
    after: list[str] = []
    for known in (cursor, former):
        with dg.build_sensor_context(instance=works.instance, resources=resources, cursor=known) as context:
            sensor(context)
            after.append(context.cursor or "")
    assert after[0].startswith("nothing new\n")
    assert after[0] == after[1]


def test_an_arrival_is_described_once(works: Works) -> None:
    """The observation beside it is for the version alone, and has no metadata that a person would read twice."""
    works.raw(letters(1))
    tick(works)
    (observation,) = works.instance.fetch_observations(key_of(RAW), limit=10).records
    assert observation.asset_observation is not None
    assert observation.asset_observation.metadata == {}


def test_a_key_without_raw_data_and_without_a_ledger_goes(works: Works) -> None:
    works.raw(letters(1))
    works.know("2024", "typed-by-hand")
    _, logged, _ = tick_of(works)
    assert logged[0] == "letters: 2024 reported; typed-by-hand never had raw data: its key was removed"
    assert works.instance.get_dynamic_partitions("snapshots/letters") == ["2024"]


def test_a_key_without_raw_data_stays_while_something_is_made_of_it(works: Works) -> None:
    works.know("2023")
    claim = place("sources/letters/v0/documents", "2023").claim_path
    works.store.put(claim, b"{}")
    assert tick(works) == ("nothing new", [])
    works.store.delete([claim])
    assert tick(works)[0] == "2023 never had raw data: its key was removed"
