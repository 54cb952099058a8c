"""Readings that are reported by several runs, in the orders that can happen."""

from collections.abc import Iterator

import dagster as dg
import pytest

from assets.support.last_reading import (
    AS_OF,
    FINDINGS,
    NEVER,
    WRONG,
    is_news,
    keep_shown,
    last_reading,
    repeat_last_result,
)

pytestmark = pytest.mark.slow

KEY = dg.AssetCheckKey(dg.AssetKey("letters"), "ids_unique_audit")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def make(instance: dg.DagsterInstance, snapshot: str) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY.asset_key, partition=snapshot))


def read(instance: dg.DagsterInstance, run: str, *, passed: bool) -> None:
    """What a run has found, recorded as a job of audits does it."""
    result = dg.AssetCheckEvaluation(KEY.asset_key, KEY.name, passed, description="read")
    event = dg.DagsterEvent("ASSET_CHECK_EVALUATION", "audits", event_specific_data=result)
    instance.report_dagster_event(event, run_id=run)


def page(instance: dg.DagsterInstance) -> tuple[bool, str]:
    """What Dagster shows: whether the check has passed, and the words."""
    evaluation = instance.event_log_storage.get_latest_asset_check_execution_by_key([KEY])[KEY].evaluation
    assert evaluation is not None
    return evaluation.passed, evaluation.description or ""


def results(instance: dg.DagsterInstance) -> int:
    return len(instance.event_log_storage.get_asset_check_execution_history(KEY, limit=99))


def test_a_reading_is_reported_again_once_for_each_materialization(instance: dg.DagsterInstance) -> None:
    make(instance, "2024")
    read(instance, "a" * 36, passed=False)
    for number, snapshot in enumerate(("2025", "2026"), 1):
        make(instance, snapshot)
        for _ in range(3):
            keep_shown(instance, [KEY], pytest.fail)
        assert page(instance) == (False, "as of run aaaaaaaa, not read again: read")
        assert results(instance) == 1 + number


def test_a_newer_reading_wins_over_an_older_one_that_was_reported_later(instance: dg.DagsterInstance) -> None:
    """A run looks for the last reading, another one ends its audit, and the first reports what it has found."""
    make(instance, "2024")
    read(instance, "a" * 36, passed=True)
    late = repeat_last_result(instance, KEY)
    read(instance, "b" * 36, passed=False)
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(KEY.asset_key, KEY.name, late.passed, late.metadata, description=late.description)
    )
    assert page(instance)[0]
    keep_shown(instance, [KEY], pytest.fail)
    assert page(instance) == (False, "as of run bbbbbbbb, not read again: read")
    last = last_reading(instance, KEY)
    assert last is not None
    assert (last.run, last.result.passed) == ("b" * 36, False)


def test_a_check_that_a_run_has_planned_and_not_done_has_its_last_reading(instance: dg.DagsterInstance) -> None:
    make(instance, "2024")
    read(instance, "a" * 36, passed=False)
    plan(instance)
    keep_shown(instance, [KEY], pytest.fail)
    assert page(instance)[1] == "as of run aaaaaaaa, not read again: read"


def test_a_check_that_never_ran_says_so_when_the_run_that_planned_it_has_ended(instance: dg.DagsterInstance) -> None:
    run = plan(instance)
    keep_shown(instance, [KEY], pytest.fail)
    assert results(instance) == 1, "the run may come to it"
    instance.report_run_canceled(run)
    for _ in range(2):
        keep_shown(instance, [KEY], pytest.fail)
    assert page(instance) == (False, "never read: press Execute on this check")
    assert results(instance) == 2


def plan(instance: dg.DagsterInstance) -> dg.DagsterRun:
    """A run that waits in the queue, say."""

    @dg.asset
    def letters() -> None:
        """Never made."""

    @dg.asset_check(asset=letters, name=KEY.name)
    def audit() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    job = dg.Definitions([letters], asset_checks=[audit]).resolve_implicit_global_asset_job_def()
    return instance.create_run_for_job(job)


@pytest.mark.parametrize(
    ("metadata", "news"),
    [
        ({}, True),
        ({AS_OF: "0b1c"}, False),
        ({FINDINGS: 2, WRONG: "2024"}, True),
        ({FINDINGS: 0, WRONG: "2024"}, False),
        ({FINDINGS: 0, WRONG: NEVER}, True),
    ],
)
def test_what_stays_wrong_is_no_news(metadata: dict[str, str | int], *, news: bool) -> None:
    assert is_news(dg.AssetCheckEvaluation(KEY.asset_key, KEY.name, passed=False, metadata=metadata)) is news
