import dagster as dg
from dagster_kit import LETTERS_V1, Works

from assets.support.keys import key_of
from assets.support.runs.own_checks import own_checks


def test_they_are_the_checks_of_the_step_and_no_audits(works: Works) -> None:
    with dg.build_sensor_context(instance=works.instance, definitions=works.definitions) as context:
        found = own_checks(context, [key_of(LETTERS_V1)])
    assert {check.name for check in found} == {"ids_unique", "ids_stable", "volume"}
    assert {check.asset_key for check in found} == {key_of(LETTERS_V1)}
