"""Which engine a deployment has, and what it takes for an address."""

import pytest
from pydantic import ValidationError

from gristmill.engines.dask import DaskEngine
from gristmill.engines.local import LocalPool
from gristmill.engines.ray import RayEngine
from gristmill.environment import read_environment
from gristmill.errors import RecipeError
from gristmill.execution.runner import Inline
from resources.engine import EngineResource, engine_resource


def resource(**variables: str) -> EngineResource:
    return engine_resource(read_environment({f"GRISTMILL_{name.upper()}": value for name, value in variables.items()}))


def test_an_environment_that_says_nothing_has_the_local_pool() -> None:
    assert isinstance(resource(workers="3").engine(), LocalPool)


@pytest.mark.parametrize(
    ("kind", "address", "engine"),
    [
        ("inline", "", Inline),
        ("dask", "tcp://10.0.0.1:8786", DaskEngine),
        ("dask", "tls://scheduler.example:8786", DaskEngine),
        ("ray", "10.0.0.1:6379", RayEngine),
    ],
)
def test_an_engine_is_named_by_the_environment(kind: str, address: str, engine: type) -> None:
    assert type(resource(engine=kind, engine_address=address).engine()) is engine


@pytest.mark.parametrize(
    ("kind", "address"),
    [("dask", ""), ("dask", "10.0.0.1:8786"), ("dask", "tcp://10.0.0.1"), ("ray", ""), ("ray", "ray://10.0.0.1:10001")],
)
def test_an_address_that_is_none_is_refused_with_an_example(kind: str, address: str) -> None:
    example = {"dask": "tcp://host:8786", "ray": "host:6379"}[kind]
    with pytest.raises(RecipeError, match=f"GRISTMILL_ENGINE_ADDRESS is '{address}'.*needs {example}"):
        resource(engine=kind, engine_address=address)
    with pytest.raises(RecipeError, match=f"the engine's address is '{address}'.*needs {example}"):
        EngineResource.model_validate({"kind": kind, "address": address}).engine()


def test_an_engine_that_nobody_knows_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RecipeError, match="GRISTMILL_ENGINE is 'spark'; give one of local, inline, dask, ray"):
        resource(engine="spark")
    with pytest.raises(ValidationError):
        EngineResource.model_validate({"kind": "spark"})
