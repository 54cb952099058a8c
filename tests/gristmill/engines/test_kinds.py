import pytest

from gristmill.engines.kinds import check_address
from gristmill.errors import RecipeError


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
    check_address(kind, address, "here")


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
        check_address(kind, address, "here")
