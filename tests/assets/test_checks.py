"""Audits that are asked for from the UI: runs of the check's op over a finished lake."""

import dagster as dg
import pytest
from dagster_kit import JOURNEY, LETTERS_V0, TINY_LETTERS, Result, Works, letters

from assets.support.keys import key_of
from gristmill.lake.address import place


def audit(works: Works, *wanted: tuple[str, str], snapshot: str | None = None) -> Result:
    """What the UI's button does: a run of checks alone."""
    checks = [dg.AssetCheckKey(key_of(address), f"{name}_audit") for address, name in wanted]
    job = works.definitions.resolve_implicit_global_asset_job_def().get_subset(
        asset_selection=set(), asset_check_selection=set(checks)
    )
    tags = {"dagster/partition": snapshot} if snapshot else {}
    result = job.execute_in_process(instance=works.instance, raise_on_error=False, tags=tags)
    return Result(result.run_id, works.instance)


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


@pytest.mark.parametrize("address", [LETTERS_V0, JOURNEY[1]])
def test_a_run_that_makes_an_asset_audits_nothing(made: Works, address: str) -> None:
    done = made.run("__ASSET_JOB", only=[address])
    assert set(done.made) == {address}
    assert "letters__audits" in done.steps(dg.DagsterEventType.STEP_SUCCESS)
    assert {name for name in done.checks if "_audit" in name or "_across" in name} == set()
