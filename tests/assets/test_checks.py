"""Audits that are asked for from the UI: runs of the check's op over a finished lake."""

import logging
import shutil
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run
from dagster_kit import (
    BLEND_LETTERS,
    DIARY_COUNT,
    DIARY_V0,
    JOURNEY,
    LETTERS_V0,
    TINY_LETTERS,
    Result,
    Works,
    letters,
)

from assets.support.keys import key_of
from gristmill.lake.address import place


def audit_job(works: Works, *wanted: tuple[str, str]) -> dg.JobDefinition:
    checks = [dg.AssetCheckKey(key_of(address), f"{name}_audit") for address, name in wanted]
    return works.definitions.resolve_implicit_global_asset_job_def().get_subset(
        asset_selection=set(), asset_check_selection=set(checks)
    )


def audit(works: Works, *wanted: tuple[str, str], snapshot: str | None = None) -> Result:
    """What the UI's button does: a run of checks alone."""
    tags = {"dagster/partition": snapshot} if snapshot else {}
    result = audit_job(works, *wanted).execute_in_process(instance=works.instance, raise_on_error=False, tags=tags)
    return Result(result.run_id, works.instance)


def shown(works: Works) -> dg.AssetCheckEvaluation:
    """What Dagster's page of the check shows."""
    key = dg.AssetCheckKey(key_of(LETTERS_V0), "ids_unique_audit")
    evaluation = works.instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key].evaluation
    assert evaluation is not None
    return evaluation


def said(done: Result, address: str, name: str) -> tuple[bool, str, str]:
    check = done.checks[f"{address}:{name}_audit"]
    return check.passed, check.description or "", str(check.metadata["snapshots read"].value)


def test_finished_snapshots_are_read_and_others_are_not(made: Works) -> None:
    made.know("2025")
    made.know("2023")
    done = audit(made, (LETTERS_V0, "ids_unique"), (TINY_LETTERS, "cache_complete"))
    assert done.success, done.failures
    words = "every byte of 2024 is as its ledger says"
    assert said(done, LETTERS_V0, "ids_unique") == (True, words, "2024")
    assert said(done, TINY_LETTERS, "cache_complete") == (True, words, "2024")


def test_a_flipped_byte_fails_the_audit_and_is_named(made: Works) -> None:
    path = place(LETTERS_V0, "2024").shard("a")
    data = made.store.read(path)
    made.store.put(path, data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    passed, words, read = said(audit(made, (LETTERS_V0, "ids_unique")), LETTERS_V0, "ids_unique")
    assert (passed, read) == (False, "2024")
    assert words.startswith(f"{path}: ")


@pytest.mark.slow
def test_where_a_partition_is_named_it_alone_is_read(made: Works) -> None:
    made.raw(letters(4, 5), snapshot="2025")
    made.arrive("letters")
    assert made.run("letters_journey", "2025").success
    both = audit(made, (LETTERS_V0, "ids_unique"))
    assert said(both, LETTERS_V0, "ids_unique")[2] == "2024, 2025"
    one = audit(made, (LETTERS_V0, "ids_unique"), snapshot="2025")
    assert said(one, LETTERS_V0, "ids_unique")[2] == "2025"


def test_an_audit_that_reads_nothing_does_not_pass(works: Works) -> None:
    works.know("2024")
    found = said(audit(works, (LETTERS_V0, "ids_unique")), LETTERS_V0, "ids_unique")
    assert found == (False, "no snapshot is finished", "none")


def flip(works: Works, snapshot: str = "2024") -> str:
    """Flips a bit of a shard, and returns its path."""
    path = place(LETTERS_V0, snapshot).shard("a")
    data = works.store.read(path)
    works.store.put(path, data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    return path


@pytest.mark.parametrize("address", [LETTERS_V0, JOURNEY[1]])
def test_a_run_that_makes_an_asset_audits_nothing_and_says_so(made: Works, address: str) -> None:
    done = made.run("__ASSET_JOB", only=[address])
    assert set(done.made) == {address}
    assert "letters__audits" in done.steps(dg.DagsterEventType.STEP_SUCCESS)
    audits = {name: each for name, each in done.checks.items() if "_audit" in name or "_across" in name}
    assert audits
    assert {(each.passed, each.severity, each.description) for each in audits.values()} == {
        (False, dg.AssetCheckSeverity.WARN, "never read: press Execute on this check")
    }
    assert [entry.message for entry in done.entries if "did not yield" in entry.message] == []


@pytest.mark.slow
def test_a_failed_audit_stays_when_other_partitions_are_made(made: Works) -> None:
    path = flip(made)
    red = audit(made, (LETTERS_V0, "ids_unique"))
    _, words, _ = said(red, LETTERS_V0, "ids_unique")
    assert words.startswith(f"{path}: ")
    for snapshot in ("2025", "2026"):
        made.raw(letters(int(snapshot)), snapshot=snapshot)
        made.arrive("letters")
        done = made.run("__ASSET_JOB", snapshot, only=[LETTERS_V0])
        assert said(done, LETTERS_V0, "ids_unique") == (
            False,
            f"as of run {red.run_id[:8]}, not read again: {words}",
            "2024",
        )
        assert shown(made).passed is False


@pytest.mark.slow
def test_an_audit_of_one_partition_does_not_hide_what_is_wrong_in_another(made: Works) -> None:
    made.raw(letters(4, 5), snapshot="2025")
    made.arrive("letters")
    assert made.run("letters_journey", "2025").success
    flip(made)
    assert not said(audit(made, (LETTERS_V0, "ids_unique")), LETTERS_V0, "ids_unique")[0]
    one = audit(made, (LETTERS_V0, "ids_unique"), snapshot="2025")
    words = "every byte of 2025 is as its ledger says; 2024 had findings in an earlier audit, and was not read again"
    assert said(one, LETTERS_V0, "ids_unique") == (False, words, "2025")
    assert made.run("letters_journey", only=[LETTERS_V0]).success  # grinds the shard again
    assert said(audit(made, (LETTERS_V0, "ids_unique"), snapshot="2024"), LETTERS_V0, "ids_unique")[0]


@pytest.mark.slow
def test_an_audit_that_ends_after_a_later_run_is_what_dagster_shows(made: Works) -> None:
    assert said(audit(made, (LETTERS_V0, "ids_unique")), LETTERS_V0, "ids_unique")[0]
    path = flip(made)
    made.raw(letters(4), snapshot="2025")
    made.arrive("letters")
    job = audit_job(made, (LETTERS_V0, "ids_unique"))
    begun = made.instance.create_run_for_job(job)
    assert made.run("__ASSET_JOB", "2025", only=[LETTERS_V0]).checks[f"{LETTERS_V0}:ids_unique_audit"].passed
    execute_run(InMemoryJob(job), begun, made.instance)
    assert shown(made).passed is False
    assert path in (shown(made).description or "")


@pytest.mark.slow
def test_the_job_does_every_audit_or_those_of_the_sources_that_a_person_names(made: Works) -> None:
    made.raw(letters(1, source="diary"), source="diary")
    made.arrive("diary")
    assert made.run("diary_journey").success
    one = made.audit("letters")
    assert {name.partition(":")[0] for name in one.checks} == {*JOURNEY, BLEND_LETTERS, TINY_LETTERS}
    assert said(one, LETTERS_V0, "ids_unique") == (True, "every byte of 2024 is as its ledger says", "2024")
    other = made.audit("diary")
    assert {name.partition(":")[0] for name in other.checks} == {DIARY_V0, DIARY_COUNT}
    assert made.run("audits", None).checks.keys() == one.checks.keys() | other.checks.keys()
    assert shown(made).passed


def test_a_source_that_is_none_is_refused_before_there_is_a_run(works: Works) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError, match=r"not in enum type Source_\w{6} got lettres"):
        works.audit("letters", "lettres")
    assert works.instance.get_runs() == []


def test_what_is_not_made_yet_gets_no_result_from_a_job(made: Works) -> None:
    done = made.audit("diary")
    assert done.success
    assert done.checks == {}


def test_an_audit_of_a_job_that_fails_is_an_error_in_its_log_and_on_the_page_of_the_check(made: Works) -> None:
    path = place(LETTERS_V0, "2024").shard("a")
    data = made.store.read(path)
    made.store.put(path, data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    done = made.audit("letters")
    assert done.success  # the audits were done; what they found is in the checks
    assert any(line.startswith(f"{LETTERS_V0}: ids_unique_audit: {path}: ") for line in done.said)
    assert not shown(made).passed


def test_an_object_that_cannot_be_read_is_a_finding_and_all_else_is_read(made: Works) -> None:
    shard = Path(made.store.url) / place(LETTERS_V0, "2024").shard("a")
    shard.unlink()
    shard.symlink_to(shard)  # a loop
    done = made.audit("letters")
    assert done.success, done.failures
    red = {name for name, each in done.checks.items() if name.endswith("_audit") and not each.passed}
    assert f"{LETTERS_V0}:ids_unique_audit" in red
    for name in red:  # two assets are compared with the shard
        words = done.checks[name].description or ""
        assert shard.name in words
        assert logging.ERROR in {entry.level for entry in done.entries if entry.user_message.endswith(words)}
    assert done.checks[f"{BLEND_LETTERS}:blocklist_respected_audit"].passed


def test_a_lake_that_does_not_answer_fails_the_job_and_no_check(made: Works) -> None:
    shutil.move(made.store.url, f"{made.store.url}-elsewhere")  # as if its disk is not mounted
    done = made.audit("letters")
    assert not done.success
    (failure,) = done.failures.values()
    assert "could not be read to the end" in failure
    assert {name for name in done.checks if name.endswith("_audit")} == set()


def test_every_week_all_are_audited_once_a_person_has_switched_it_on(works: Works) -> None:
    schedule = works.definitions.resolve_schedule_def("audits_schedule")
    assert (schedule.job_name, schedule.cron_schedule) == ("audits", "23 4 * * 0")
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
