from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_kit import environment_of

from definitions import build
from gristmill.environment import read_environment
from gristmill.recipes.catalogue import read_catalogue
from resources.lake import lake_resource

TAKEN = {"kind": "inline", "workers": 3, "force": True}
"""All that a run may configure of our resources: those of the engine."""


@pytest.mark.parametrize(("given", "delay"), [({}, 5), ({"GRISTMILL_RETRY_DELAY": "7"}, 7)])
def test_a_lake_that_did_not_answer_has_five_seconds_or_what_is_given(given: dict[str, str], delay: int) -> None:
    assert lake_resource(read_environment(given)).retry_delay == delay


def test_options_that_are_not_given_are_left_out() -> None:
    assert lake_resource(read_environment({"GRISTMILL_LAKE": "/lake"})).lake().options == {}
    given = {"GRISTMILL_LAKE": "s3://bucket/lake", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    assert lake_resource(read_environment(given)).lake().options == {"endpoint": "http://127.0.0.1:1"}


def test_a_bucket_is_reached_as_the_environment_says_and_a_folder_by_its_path() -> None:
    bucket = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_REGION": "eu-north-1", "GRISTMILL_SHELVES": "dagshelf"}
    found = lake_resource(read_environment({"GRISTMILL_LAKE": "s3://bucket/lake", **bucket}))
    assert found.lake().url == "s3://bucket/lake"
    assert found.lake().options == {"endpoint": "http://127.0.0.1:1", "region": "eu-north-1"}
    assert found.packages == ("dagshelf",)
    assert lake_resource(read_environment({"GRISTMILL_LAKE": "/data/lake"})).lake().url == "/data/lake"


def problems(resources: dict[str, Any], tmp_path: Path) -> list[str]:
    """What Dagster says of a run configuration, for each job; the launchpad and GraphQL ask the same."""
    definitions = build(environment_of(tmp_path, ("gristmill",)), read_catalogue(("gristmill",)))
    jobs = definitions.get_repository_def().get_all_jobs()
    said = [dg.validate_run_config(job, {"resources": resources}) for job in jobs if "engine" in job.resource_defs]
    return [str(each) for each in said]


def test_a_run_chooses_kind_workers_and_force(tmp_path: Path) -> None:
    assert problems({"engine": {"config": TAKEN}}, tmp_path)


def settings(config: Any) -> set[str]:
    """The names of all values that a part of a run configuration takes, below the names of the resources."""
    fields: dict[str, Any] = getattr(config, "fields", None) or {}
    return {name for name, field in fields.items() if not getattr(field.config_type, "fields", None)}.union(
        *(settings(field.config_type) for field in fields.values())
    )


def test_no_job_takes_anything_else_of_a_resource(tmp_path: Path) -> None:
    definitions = build(environment_of(tmp_path, ("gristmill",)), read_catalogue(("gristmill",)))
    taken: set[str] = set()
    for job in definitions.get_repository_def().get_all_jobs():
        schema: Any = job.run_config_schema.config_type
        taken |= settings(schema.fields["resources"].config_type)
    assert taken - {"config"} == set(TAKEN)  # `config` takes nothing, or is read by nobody


@pytest.mark.parametrize(
    ("resource", "name", "value"),
    [
        ("lake", "url", "/tmp/other"),
        ("lake", "shelves", ["lake.raw.evil"]),
        ("lake", "endpoint", "http://127.0.0.1:1"),
        ("lake", "region", "eu-north-1"),
        ("lake", "retry_delay", 0),
        ("lake", "deployment", {}),
        ("engine", "address", "tcp://127.0.0.1:8786"),
        ("engine", "deployment", {}),
    ],
)
def test_what_a_deployment_is_no_run_can_say(resource: str, name: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError, match=f'"?{name}"?|config'):
        problems({resource: {"config": {name: value}}}, tmp_path)
