"""Runs in this process: Dagster's pages find them by the origin of their job."""

import dagster as dg
import pytest
from dagster_kit import LETTERS_V0, Works, letters

from assets.support.keys import key_of
from assets.support.runs.in_process import execute_in_process
from gristmill.process import this_process
from resources.run_process import process_of

pytestmark = pytest.mark.slow
LISTED = {".dagster/repository": "__repository__@gristmill"}
"""The filter of the timeline, of a job's page and of the status bars."""


def test_a_run_is_listed_under_its_job_as_one_of_the_daemon(works: Works) -> None:
    works.raw(letters(1, 2))
    works.arrive("letters")
    job = works.definitions.resolve_job_def("letters_journey")
    result = execute_in_process(works.instance, job, "2024", {})
    assert result.success
    (run,) = works.instance.get_runs(dg.RunsFilter(job_name="letters_journey", tags=LISTED))
    assert run.run_id == result.run_id
    assert run.remote_job_origin is not None
    assert run.remote_job_origin.location_name == "gristmill"
    assert run.tags["dagster/partition"] == "2024"
    process = process_of(run.tags)  # so a daemon sees that it has died, if it has
    assert process is not None
    assert process.is_same(this_process())
    assert works.materialized(LETTERS_V0) == {"2024"}


def test_assets_alone_are_made_if_they_are_named(works: Works) -> None:
    works.raw(letters(1, 2))
    works.arrive("letters")
    job = works.definitions.resolve_implicit_global_asset_job_def()
    result = execute_in_process(works.instance, job, "2024", {}, [key_of(LETTERS_V0)])
    assert [event.asset_key for event in result.get_asset_materialization_events()] == [key_of(LETTERS_V0)]
    (run,) = works.instance.get_runs(dg.RunsFilter(tags=LISTED))
    assert run.asset_selection == {key_of(LETTERS_V0)}


def test_a_job_that_fails_returns_its_result(works: Works) -> None:
    works.know("2024")
    result = execute_in_process(works.instance, works.definitions.resolve_job_def("letters_journey"), "2024", {})
    assert not result.success
    (run,) = works.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], tags=LISTED))
    assert run.job_name == "letters_journey"
