from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_kit import SHELVES, environment_of
from pydantic import Field

from definitions import build
from gristmill.errors import RecipeError
from gristmill.recipes.catalogue import read_catalogue
from resources.plain_config import plain_schema, read_config

SECRET = {"env": "AWS_SECRET_ACCESS_KEY"}


class Inner(dg.Config):
    name: str = "a"


class Every(dg.Config):
    """All forms that a run configuration can have."""

    text: str
    number: int = 1
    yes: bool = False
    several: list[str] = Field(default=[])
    table: dict[str, list[int]] = Field(default={})
    inner: Inner = Inner()


@dg.op(config_schema=plain_schema(Every))
def take() -> None:
    """Takes a configuration."""


@dg.job
def takes() -> None:
    """A run of it."""
    take()


@pytest.mark.parametrize(
    "given",
    [
        {"text": SECRET},
        {"text": "b", "number": SECRET},
        {"text": "b", "yes": SECRET},
        {"text": "b", "several": [SECRET]},
        {"text": "b", "table": {"c": [SECRET]}},
        {"text": "b", "inner": {"name": SECRET}},
    ],
)
def test_no_value_is_taken_from_a_variable(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "1")
    taken = dg.validate_run_config(takes, {"ops": {"take": {"config": {"text": "b"}}}})
    assert taken["ops"]["take"]["config"]["number"] == 1
    with pytest.raises(dg.DagsterInvalidConfigError):
        dg.validate_run_config(takes, {"ops": {"take": {"config": given}}})


def variables_in(kind: Any, where: str) -> Iterator[str]:
    """The places below a type of Dagster's where the name of a variable may stand."""
    if isinstance(kind, dg.ScalarUnion):
        yield where
    for name, field in (getattr(kind, "fields", None) or {}).items():
        yield from variables_in(field.config_type, f"{where}.{name}")
    if inner := getattr(kind, "inner_type", None):
        yield from variables_in(inner, f"{where}[]")


def test_no_configuration_of_any_job_takes_the_name_of_a_variable() -> None:
    loaded = build(environment_of(Path("nowhere")), read_catalogue(SHELVES)).get_repository_def()
    jobs = {job.name: job.run_config_schema.run_config_schema_type for job in loaded.get_all_jobs()}
    assert {"__ASSET_JOB", "tiny_1_train", "blend_index", "letters_journey", "sync"} <= jobs.keys()
    assert [where for name, schema in jobs.items() for where in variables_in(schema, name)] == []


class Bounded(dg.Config):
    length: int = Field(default=4, ge=2)


def test_a_value_out_of_its_bounds_is_named_in_words() -> None:
    assert read_config(Bounded, {"length": 2}).length == 2
    with pytest.raises(RecipeError, match="the run configuration: length is 1: Input should be greater than"):
        read_config(Bounded, {"length": 1})
