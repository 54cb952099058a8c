import pytest

from gristmill.engines.dask import DaskEngine
from gristmill.engines.kinds import EngineKind
from gristmill.engines.local import LocalPool
from gristmill.engines.open import open_engine
from gristmill.engines.ray import RayEngine
from gristmill.errors import RecipeError
from gristmill.execution.runner import Inline


@pytest.mark.parametrize(
    ("kind", "address", "engine"),
    [("inline", "", Inline), ("local", "", LocalPool), ("dask", "tcp://a:1", DaskEngine), ("ray", "a:1", RayEngine)],
)
def test_an_engine_is_opened_by_its_kind_without_asking_a_cluster(kind: EngineKind, address: str, engine: type) -> None:
    opened = open_engine(kind, 1, address)
    assert isinstance(opened, engine)
    opened.close()


def test_a_cluster_without_an_address_is_refused() -> None:
    with pytest.raises(RecipeError, match="the engine's address is ''"):
        open_engine("ray")
