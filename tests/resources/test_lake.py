from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_aws.s3 import S3Resource
from dagster_kit import environment_of
from seaweed import KEY, REGION, SECRET, Seaweed

from definitions import build
from gristmill.environment import read_environment
from gristmill.errors import RecipeError, StoreError
from gristmill.lake.store.protocol import Store
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
    return [str(dg.validate_run_config(job, {"resources": resources})) for job in jobs if "engine" in job.resource_defs]


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
    assert taken == set(TAKEN)


def test_a_job_shows_no_resource_that_does_nothing_in_it(tmp_path: Path) -> None:
    definitions = build(environment_of(tmp_path, ("gristmill",)), read_catalogue(("gristmill",)))
    shown: dict[str, list[str]] = {}
    for job in definitions.get_repository_def().get_all_jobs():
        schema: Any = job.run_config_schema.config_type
        shown[job.name] = sorted(schema.fields["resources"].config_type.fields)
    assert shown["packages_journey"] == ["engine"]
    quiet = ("sync", "purge", "audits")
    assert {name: shown[name] for name in quiet} == {name: [] for name in quiet}


def connected(s3: S3Resource, lake: str = "s3://corpus/lake") -> Store:
    """The store of a lake that is reached by a resource."""
    return lake_resource(read_environment({"GRISTMILL_LAKE": lake}), s3).store()


def test_endpoint_region_and_credentials_of_an_s3_resource_reach_the_store(
    seaweed: Seaweed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "none")  # so that what the resource sets is undone
        monkeypatch.delenv(name)
    monkeypatch.setenv("THE_KEY", KEY)
    given: dict[str, Any] = {
        "endpoint_url": seaweed.endpoint,
        "region_name": REGION,
        "aws_access_key_id": dg.EnvVar("THE_KEY"),
    }
    store = connected(S3Resource(**given, aws_secret_access_key=SECRET), seaweed.url("resource"))
    store.put("raw/a", b"1")
    assert store.read("raw/a") == b"1"
    with pytest.raises(StoreError, match="refused our credentials"):
        connected(S3Resource(**given, aws_secret_access_key="another"), seaweed.url("resource")).read("raw/a")


def test_a_profile_of_an_s3_resource_reaches_the_store_and_both_its_clients(
    seaweed: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    keys = f"aws_access_key_id={KEY}\naws_secret_access_key={SECRET}\n"
    (tmp_path / "credentials").write_text(f"[corpus]\n{keys}")
    (tmp_path / "config").write_text(f"[profile corpus]\nregion={REGION}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    s3 = S3Resource(endpoint_url=seaweed.endpoint, profile_name="corpus")
    store = connected(s3, seaweed.url("profile"))
    store.put("raw/a", b"1")
    assert store.read("raw/a") == b"1"
    assert store.unfinished() == []  # the client of large objects asks
    with pytest.raises(RecipeError, match="the profile 'copus', which AWS_PROFILE or an option names"):
        connected(S3Resource(endpoint_url=seaweed.endpoint, profile_name="copus"))


def test_a_setting_that_the_lake_does_not_take_is_refused() -> None:
    with pytest.raises(RecipeError, match="does not take the setting verify of the S3Resource"):
        connected(S3Resource(region_name=REGION, verify=False))


def test_keys_in_the_environment_come_before_its_profile() -> None:
    given = {"GRISTMILL_LAKE": "s3://corpus/lake", "AWS_PROFILE": "corpus"}
    assert lake_resource(read_environment(given)).lake().options == {"profile": "corpus"}
    assert lake_resource(read_environment({**given, "AWS_ACCESS_KEY_ID": "key"})).lake().options == {}


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
