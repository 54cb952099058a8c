import dagster as dg
import pytest
from dagster_kit import (
    COUNT_V0,
    COUNT_V1,
    JOURNEY,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    Result,
    Works,
    letter,
    letters,
)

from assets.support.keys import key_of
from gristmill.lake.address import place


@pytest.mark.slow
def test_one_set_alone_can_be_asked_for(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0, COUNT_V0, LETTERS_V1]).success
    done = works.run("letters_journey", only=[COUNT_V1])
    assert done.success
    assert set(done.made) == {COUNT_V1}
    assert set(done.checks) == {f"{COUNT_V1}:row_alignment", f"{COUNT_V1}:volume"}
    assert works.ledger(MOODY_V1) is None
    rest = works.run("letters_journey", only=[MOODY_V1])
    assert set(rest.made) == {MOODY_V1}


@pytest.mark.slow
def test_a_failing_tagger_leaves_the_other_sets_and_is_named_with_shard_and_row(works: Works) -> None:
    works.raw([letter(1, "two words"), letter(2, "RAISE hell")])
    works.arrive("letters")
    done = works.run("letters_journey")
    assert not done.success
    assert set(done.made) == set(JOURNEY) - {MOODY_V1}
    assert works.ledger(MOODY_V1) is None
    [(step, said)] = done.failures.items()
    assert step == "sources__letters__v1__attributes.commit_moody_1"
    assert said.startswith(f"{MOODY_V1} (2024): ")
    assert f"{place(MOODY_V1, '2024').shard('a')}: tagger 'moody-1' on row 1 (id 'letter-2')" in said
    assert "LookupError: letter-2" in said


@pytest.mark.slow
def test_checks_that_automation_does_not_select_are_recorded_without_a_warning(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0, COUNT_V0]).success
    selected = {dg.AssetCheckKey(key_of(LETTERS_V1), name) for name in ("ids_stable", "ids_unique", "volume")}
    done = (  # the daemon adds no check of the sets to these
        works.definitions.resolve_implicit_global_asset_job_def()
        .get_subset(asset_selection={key_of(LETTERS_V1), key_of(COUNT_V1)}, asset_check_selection=selected)
        .execute_in_process(instance=works.instance, partition_key="2024", raise_on_error=False)
    )
    result = Result(done.run_id, works.instance)
    assert (done.success, set(result.made)) == (True, {LETTERS_V1, COUNT_V1})
    found = result.checks[f"{COUNT_V1}:row_alignment"]
    assert (found.passed, found.blocking, found.partition) == (True, True, "2024")
    alone = dg.AssetCheckKey(key_of(COUNT_V1), "row_alignment")
    status = works.instance.event_log_storage.get_latest_asset_check_execution_by_key([alone])
    assert status[alone].status.value == "SUCCEEDED"
    assert [said for said in result.said if "not selected" in said] == []
