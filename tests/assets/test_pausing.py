from collections.abc import Sequence
from dataclasses import replace

import dagster as dg
import pytest
from dagster_kit import Result, Works

from assets.pausing import pausing_jobs
from resources.pauses import paused_names


def launch(works: Works, job: str, names: Sequence[str]) -> Result:
    """A run of one of the two jobs."""
    config = {"ops": {f"{job}_automation": {"config": {"names": list(names)}}}}
    run = works.definitions.resolve_job_def(job).execute_in_process(
        instance=works.instance, run_config=config, raise_on_error=False
    )
    return Result(run.run_id, works.instance)


def test_the_jobs_pause_and_resume_by_name(works: Works) -> None:
    assert paused_names(works.instance) == frozenset()
    assert launch(works, "pause", ["letters", "blend"]).success
    assert launch(works, "pause", ["diary"]).success
    assert paused_names(works.instance) == {"letters", "blend", "diary"}
    assert launch(works, "resume", ["letters", "diary"]).success
    assert paused_names(works.instance) == {"blend"}


def test_a_name_that_is_none_is_refused_before_there_is_a_run(works: Works) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError, match=r"not in enum type SourceMixOrDedupe_\w{6} got lettres"):
        launch(works, "pause", ["letters", "lettres"])
    assert works.instance.get_runs() == []
    assert paused_names(works.instance) == frozenset()


def test_another_dagster_knows_nothing_of_it(works: Works) -> None:
    assert launch(works, "pause", ["letters"]).success
    with dg.DagsterInstance.ephemeral() as other:
        assert paused_names(other) == frozenset()


def test_another_catalogue_of_the_process_has_names_of_its_own(works: Works) -> None:
    without = replace(works.catalogue, mixes={}, tokenizers={}, exports={}, labels={}, models={})
    config = {"ops": {"pause_automation": {"config": {"names": ["blend"]}}}}
    for catalogue in (works.catalogue, without, works.catalogue):
        job, _ = pausing_jobs(catalogue, {})
        if catalogue is without:
            with pytest.raises(dg.DagsterInvalidConfigError, match="got blend"):
                job.execute_in_process(instance=works.instance, run_config=config)
        else:
            assert job.execute_in_process(instance=works.instance, run_config=config).success
