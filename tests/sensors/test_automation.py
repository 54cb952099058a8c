import dagster as dg
from dagster_kit import SHELVES

from gristmill.recipes.catalogue import read_catalogue
from sensors.automation import automation_name, automation_sensors


def test_each_source_and_each_mix_and_its_tokens_have_a_sensor_of_their_own_group() -> None:
    catalogue = read_catalogue(SHELVES)
    found = {each.name: each for each in automation_sensors(catalogue, 7)}
    assert set(found) == {
        "letters_automation",
        "diary_automation",
        "mix_blend_automation",
        "tokens_blend_automation",
    }
    assert {automation_name(source) for source in catalogue.sources.values()} < set(found)
    for name, sensor in found.items():
        assert sensor.minimum_interval_seconds == 7
        assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
        assert sensor.asset_selection == dg.AssetSelection.groups(name.removesuffix("_automation"))


def test_a_mix_with_exports_has_a_sensor_for_them() -> None:
    sensors = automation_sensors(read_catalogue(("dagshelf", "exportshelf")))
    [exports] = [each for each in sensors if each.name == "exports_blend_automation"]
    assert exports.asset_selection == dg.AssetSelection.groups("exports_blend")
