from argparse import ArgumentParser, Namespace

import pytest

from gristmill.commands._terminal import add_engine, add_lake, add_shelves, engine_of, lake_of, shelves_of
from gristmill.engines.local import LocalPool
from gristmill.errors import RecipeError
from gristmill.execution.runner import Inline


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that says something of everything."""
    for name, value in [("LAKE", "/lakes/theirs"), ("SHELVES", "dagshelf"), ("ENGINE", "inline"), ("WORKERS", "3")]:
        monkeypatch.setenv(f"GRISTMILL_{name}", value)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://environment:1")


def told(*arguments: str) -> Namespace:
    parser = ArgumentParser()
    add_lake(parser, alone=True)
    add_shelves(parser)
    add_engine(parser)
    return parser.parse_args(arguments)


def test_what_is_not_said_is_the_environments() -> None:
    arguments = told()
    lake = lake_of(arguments)
    assert (lake.url, lake.options) == ("/lakes/theirs", {"endpoint": "http://environment:1"})
    assert lake_of(told("-")) == lake
    assert shelves_of(arguments) == ("gristmill", "dagshelf")
    assert isinstance(engine_of(arguments), Inline)


def test_what_is_said_wins_over_the_environment() -> None:
    arguments = told("s3://b/c", "--option", "endpoint=http://x:1/?a=b", "--shelves", " one, two,", "--engine", "local")
    lake = lake_of(arguments)
    assert (lake.url, lake.options) == ("s3://b/c", {"endpoint": "http://x:1/?a=b"})
    assert shelves_of(arguments) == ("one", "two")
    engine = engine_of(arguments)
    assert isinstance(engine, LocalPool)
    engine.close()


@pytest.mark.parametrize("option", ["endpoint", "=value", "="])
def test_an_option_without_a_key_or_an_equals_sign_is_refused(option: str) -> None:
    with pytest.raises(RecipeError, match=f"--option {option}: write KEY=VALUE"):
        lake_of(told(".", f"--option={option}"))


def test_no_shelves_and_no_workers_are_refused() -> None:
    with pytest.raises(RecipeError, match=r"^--shelves: "):
        shelves_of(told("--shelves", " , "))
    with pytest.raises(RecipeError, match=r"^--workers 0: "):
        engine_of(told("--engine", "local", "--workers", "0"))
