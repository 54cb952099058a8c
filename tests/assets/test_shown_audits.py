"""What Dagster's pages show of an audit after something else has happened to its asset."""

import asyncio
from collections.abc import Callable

import dagster as dg
import pytest
from dagster._core.loader import LoadingContextForTest
from dagster_kit import LETTERS_V0, SHELVES, Works, environment_of, letter, letters

from assets.support.keys import key_of
from assets.support.mill import Mill
from assets.support.progress import progress_logger
from definitions import build
from gristmill.__main__ import main as command
from gristmill.lake.address import place

pytestmark = pytest.mark.slow

AUDIT = dg.AssetCheckKey(key_of(LETTERS_V0), "ids_unique_audit")
ACROSS = dg.AssetCheckKey(key_of(LETTERS_V0), "ids_unique_across")


def shown(works: Works, key: dg.AssetCheckKey = AUDIT) -> str:
    """The status on the page of a check, by Dagster's own rule: it shows what is of the newest materialization."""
    pages = LoadingContextForTest(works.instance)
    record = works.instance.event_log_storage.get_latest_asset_check_execution_by_key([key]).get(key)
    if record is None or not asyncio.run(record.targets_latest_materialization(pages)):
        return "not executed"
    return asyncio.run(record.resolve_status(pages)).value


def words(works: Works, key: dg.AssetCheckKey = AUDIT) -> str:
    record = works.instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
    return (record.evaluation.description if record.evaluation else "") or ""


def arrive(works: Works, snapshot: str = "2025") -> None:
    works.raw(letters(int(snapshot)), snapshot=snapshot)
    works.arrive("letters")


def damage(works: Works, snapshot: str = "2024") -> str:
    """Flips a bit of a shard, and returns its path."""
    path = place(LETTERS_V0, snapshot).shard("a")
    data = works.store.read(path)
    works.store.put(path, data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    return path


def assets_of(works: Works, *, checks: set[dg.AssetCheckKey], assets: bool = True) -> dg.JobDefinition:
    job = works.definitions.resolve_implicit_global_asset_job_def()
    return job.get_subset(asset_selection={key_of(LETTERS_V0)} if assets else set(), asset_check_selection=checks)


def execute(works: Works, *checks: dg.AssetCheckKey, snapshot: str | None = None) -> None:
    """What the button of a check does."""
    job = assets_of(works, checks=set(checks), assets=False)
    tags = {"dagster/partition": snapshot} if snapshot else {}
    assert job.execute_in_process(instance=works.instance, tags=tags).success


def by_journey(works: Works) -> None:
    assert works.run("letters_journey", "2025", only=[LETTERS_V0]).success


def by_automation(works: Works) -> None:
    # Automation selects the checks that the asset cannot be made without.
    job = assets_of(works, checks={dg.AssetCheckKey(key_of(LETTERS_V0), name) for name in ("ids_unique", "volume")})
    config = {"resources": {"engine": {"config": {"kind": "inline"}}}}
    assert job.execute_in_process(instance=works.instance, partition_key="2025", run_config=config).success


def by_backfill(works: Works) -> None:
    """A run of a backfill, and of "Materialize": each check of the asset is selected."""
    assert works.run("__ASSET_JOB", "2025", only=[LETTERS_V0]).success


def by_command(works: Works) -> None:
    environment = environment_of(works.root)
    definitions = build(environment, works.catalogue, loggers={"progress": progress_logger(lambda _: None)})
    mill = Mill(environment, works.catalogue, works.store, works.instance, definitions, lambda _: None)
    mill.materialize([LETTERS_V0], "2025")
    assert mill.runs == 1


def by_sync(works: Works) -> None:
    assert command(["make", str(works.root), LETTERS_V0, "--shelves", *SHELVES]) == 0
    assert works.run("sync", None).success
    assert works.materialized(LETTERS_V0) == {"2024", "2025"}


@pytest.mark.slow
@pytest.mark.parametrize("path", [by_journey, by_automation, by_backfill, by_command, by_sync])
def test_a_red_audit_stays_red_until_it_is_read_again(made: Works, path: Callable[[Works], None]) -> None:
    shard = damage(made)
    assert made.audit("letters").success
    assert shown(made) == "FAILED"
    arrive(made)
    path(made)
    assert shown(made) == "FAILED"
    assert shard in words(made)
    assert made.run("letters_journey", "2024", only=[LETTERS_V0]).success  # makes the shard again
    assert shown(made) == "FAILED"
    execute(made, AUDIT)
    assert shown(made) == "SUCCEEDED"


def test_an_audit_of_one_snapshot_is_shown_though_another_was_made_last(made: Works) -> None:
    arrive(made)
    by_journey(made)
    shard = damage(made)
    execute(made, AUDIT, snapshot="2024")
    assert (shown(made), words(made)[: len(shard)]) == ("FAILED", shard)


@pytest.mark.slow
def test_ids_that_occur_twice_stay_red(made: Works) -> None:
    made.raw([letter(1)], snapshot="2023")
    made.arrive("letters")
    assert made.run("letters_journey", "2023", only=[LETTERS_V0]).success
    execute(made, ACROSS)
    assert shown(made, ACROSS) == "FAILED"
    arrive(made)
    by_journey(made)
    assert shown(made, ACROSS) == "FAILED"


@pytest.mark.slow
def test_what_an_audit_has_read_stays_when_sync_wipes_its_asset(made: Works) -> None:
    arrive(made)
    by_journey(made)
    shard = damage(made)
    execute(made, AUDIT)
    made.store.delete([place(LETTERS_V0, "2025").ledger])
    assert made.run("sync", None).success
    assert made.materialized(LETTERS_V0) == {"2024"}
    assert shown(made) == "FAILED"
    assert shard in words(made)


def test_an_audit_that_nobody_asked_for_gets_no_result_by_a_run(made: Works) -> None:
    arrive(made)
    by_journey(made)
    assert made.instance.event_log_storage.get_asset_check_execution_history(AUDIT, limit=9) == []
