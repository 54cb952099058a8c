import pytest
from faulty import OF_TWO_JOBS, of_two_jobs
from testkit import Mill

from gristmill.engines.dask import DaskEngine
from gristmill.engines.kinds import ENGINES, EngineKind, open_engine
from gristmill.engines.local import LocalPool
from gristmill.engines.ray import RayEngine
from gristmill.errors import RecipeError
from gristmill.execution.runner import Inline
from gristmill.shipped import SHIPPED


@pytest.mark.parametrize(
    ("kind", "address", "engine"),
    [("inline", "", Inline), ("local", "", LocalPool), ("dask", "tcp://a:1", DaskEngine), ("ray", "a:1", RayEngine)],
)
def test_an_engine_is_opened_by_its_name_without_asking_a_cluster(kind: str, address: str, engine: type) -> None:
    opened = open_engine(kind, 1, address)
    assert isinstance(opened, engine)
    opened.close()


def test_a_cluster_without_an_address_is_refused() -> None:
    with pytest.raises(RecipeError, match="the engine's address is ''"):
        open_engine("ray")


def test_a_name_that_nobody_adds_is_told_with_a_near_one() -> None:
    with pytest.raises(RecipeError, match=r"adds 'desk' to gristmill\.engines; did you mean 'dask'"):
        open_engine("desk")


def test_an_engine_whose_package_is_missing_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHIPPED["engines"], "odd", f"{__name__}:ODD")
    with pytest.raises(
        RecipeError, match=r"the engine `odd`: it needs the package no_such\.part, .* `pip install 'odd\[all\]'`"
    ):
        open_engine("odd")


def test_results_of_two_jobs_are_read_in_turns(mill: Mill) -> None:
    assert of_two_jobs(mill, Inline()) == OF_TWO_JOBS


ODD = EngineKind(name="odd", help="", open=lambda *_: Inline(), needs={"no_such.part": "odd[all]"})


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("local", ""),
        ("inline", "anything"),
        ("dask", "tcp://a:1"),
        ("dask", "tls://a.b:8786"),
        ("ray", "10.0.0.1:6379"),
    ],
)
def test_an_address_that_fits_its_engine_passes(kind: str, address: str) -> None:
    ENGINES.load(kind).check_address(address, "here")


@pytest.mark.parametrize(
    ("kind", "address", "example"),
    [
        ("dask", "", "tcp://host:8786"),
        ("dask", "a:8786", "tcp://host:8786"),
        ("dask", "tcp://a", "tcp://host:8786"),
        ("dask", "tcp://a:1/b", "tcp://host:8786"),
        ("ray", "ray://a:1", "host:6379"),
        ("ray", "a", "host:6379"),
    ],
)
def test_an_address_of_another_form_is_refused_with_an_example(kind: str, address: str, example: str) -> None:
    with pytest.raises(RecipeError, match=f"^here is '{address}'; the engine `{kind}` needs {example}"):
        ENGINES.load(kind).check_address(address, "here")
