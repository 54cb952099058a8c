from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg
import pytest
from dagster_kit import Works, letters

from assets.support.keys import key_of
from sensors.lateness import expected_hours, late_alert, never_come

RAW = "sources/letters/raw"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def test_hours_are_those_of_recipes_that_declare_them(works: Works) -> None:
    source = replace(works.catalogue.sources["letters"], expected_hours=1.5)
    assert expected_hours(works.catalogue) == {}
    catalogue = replace(works.catalogue, sources={**works.catalogue.sources, "letters": source})
    assert expected_hours(catalogue) == {RAW: 1.5}


def test_an_alert_names_the_hours_and_the_newest_report_with_its_time(works: Works) -> None:
    works.raw(letters(1), snapshot="2025")
    works.arrive("letters")
    alert = late_alert(works.instance, key_of(RAW), 1.5)
    newest = works.instance.get_latest_materialization_event(key_of(RAW))
    assert newest is not None
    when = f"{datetime.fromtimestamp(newest.timestamp, UTC):%Y-%m-%d %H:%M} UTC"
    assert alert.error == (
        "no new or changed snapshot within 1.5 h (expected_hours of its recipe);"
        f" the newest report is that of 2025, {when}"
    )
    assert "within the hours that its recipe expected;" in late_alert(works.instance, key_of(RAW), None).error


def test_a_source_without_any_snapshot_is_late_when_its_hours_are_over_and_told_once(
    instance: dg.DagsterInstance,
) -> None:
    awaited: dict[str, float | None] = {}

    def told(now: float) -> list[str]:
        return [alert.error for alert in never_come(instance, {RAW: 1.0}, awaited, now)]

    assert told(10_000) == told(13_599) == []
    assert told(9_000) == []  # a clock that was set back
    assert told(12_600) == ["no snapshot has ever come; one was expected within 1 h (expected_hours of its recipe)"]
    assert told(99_000) == []
    assert list(never_come(instance, {}, awaited, 0)) == []
    assert awaited == {}


def test_a_source_whose_snapshot_came_in_time_is_not_told(instance: dg.DagsterInstance) -> None:
    awaited: dict[str, float | None] = {}
    assert list(never_come(instance, {RAW: 1.0}, awaited, 0)) == []
    instance.report_runless_asset_event(dg.AssetMaterialization(asset_key=key_of(RAW), partition="2024"))
    assert list(never_come(instance, {RAW: 1.0}, awaited, 3_600)) == []
    assert awaited == {RAW: None}


def test_an_alert_that_nobody_took_comes_again(instance: dg.DagsterInstance) -> None:
    awaited: dict[str, float | None] = {RAW: 0.0}
    assert next(never_come(instance, {RAW: 1.0}, awaited, 3_600))  # posting it has failed
    assert len(list(never_come(instance, {RAW: 1.0}, awaited, 3_600))) == 1
