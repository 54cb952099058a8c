from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from gristmill.__main__ import main
from gristmill.commands._shared.terminal import (
    add_engine_options,
    add_lake_arguments,
    add_shelves_option,
    lake_of_arguments,
    open_engine_of_arguments,
    shelf_packages,
)
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
    add_lake_arguments(parser, alone=True)
    add_shelves_option(parser)
    add_engine_options(parser)
    return parser.parse_args(arguments)


def test_what_is_not_said_is_the_environments() -> None:
    arguments = told()
    lake = lake_of_arguments(arguments)
    assert (lake.url, lake.options) == ("/lakes/theirs", {"endpoint": "http://environment:1"})
    assert lake_of_arguments(told("-")) == lake
    assert shelf_packages(arguments) == ("dagshelf",)
    assert isinstance(open_engine_of_arguments(arguments), Inline)


def test_what_is_said_wins_over_the_environment() -> None:
    arguments = told("s3://b/c", "--option", "endpoint=http://x:1/a=b", "--shelves", " one, two,", "--engine", "local")
    lake = lake_of_arguments(arguments)
    assert (lake.url, lake.options) == ("s3://b/c", {"endpoint": "http://x:1/a=b"})
    assert shelf_packages(arguments) == ("one", "two")
    engine = open_engine_of_arguments(arguments)
    assert isinstance(engine, LocalPool)
    engine.close()


@pytest.mark.parametrize("option", ["endpoint", "=value", "="])
def test_an_option_without_a_key_or_an_equals_sign_is_refused(option: str) -> None:
    with pytest.raises(RecipeError, match="--option takes KEY=VALUE"):
        lake_of_arguments(told("s3://bucket/lake", f"--option={option}"))


@pytest.mark.parametrize("lake", ["s3://bucket/lake", "folder"])
@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("aws_secret_access_key=hunter2", "credentials are taken from the environment alone"),
        ("token=hunter2", "credentials are taken from the environment alone"),
        ("endpoint=http://me:hunter2@host", "holds a user or a password"),
        ("proxy_url=http://me:hunter2@host", "holds a user or a password"),
    ],
)
def test_a_secret_option_is_refused_for_every_lake_and_not_shown(lake: str, option: str, reason: str) -> None:
    name = option.partition("=")[0]
    with pytest.raises(RecipeError, match=f"^--option: option {name}:? {reason}") as refused:
        lake_of_arguments(told(lake, "--option", option))
    assert "hunter2" not in str(refused.value)


def test_a_folder_takes_no_options() -> None:
    with pytest.raises(RecipeError, match=r"^--option region: the lake folder is a folder, which has no options"):
        lake_of_arguments(told("folder", "--option", "region=eu-north-1"))


@pytest.mark.parametrize("option", ["frobnicate=1", "virtual_hosted_style_request=maybe", "endpoint=nonsense"])
def test_an_option_that_the_client_does_not_know_is_told_in_words(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "s3://bucket/lake", "--option", option]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "endpoint=http://host:port" in line or "give http://host:port" in line
    assert option.split("=")[1 if "maybe" in option else 0] in line


def test_shelves_in_the_lake_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lake" / "theirs").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path / "lake"))
    with pytest.raises(RecipeError, match="is in the lake"):
        shelf_packages(told(str(tmp_path / "lake"), "--shelves", "gristmill,theirs"))


def test_no_shelves_and_no_workers_are_refused() -> None:
    with pytest.raises(RecipeError, match=r"^--shelves: "):
        shelf_packages(told("--shelves", " , "))
    with pytest.raises(RecipeError, match=r"^--workers 0: "):
        open_engine_of_arguments(told("--engine", "local", "--workers", "0"))
