"""DAGSTER_HOME is made once, and one command at a time makes things with it."""

import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
import yaml  # type: ignore[import-untyped]
from paths import ROOT

from gristmill.dashboard.home import (
    child_process_variables,
    database_in_words,
    environment_of_arguments,
    lock_dagster_home,
    missing_dagster_settings,
    prepare_dagster_home,
)
from gristmill.environment import Environment, read_environment
from gristmill.errors import RecipeError, StoreError
from gristmill.lake.store.open import Lake
from gristmill.templates.new_project import TEMPLATES


def environment(folder: Path) -> Environment:
    return replace(read_environment({}), lake=str(folder / "lake"), home=str(folder / "home"), shelves=("a", "b"))


def test_the_folder_gets_our_settings_unless_it_has_its_own(tmp_path: Path) -> None:
    told = environment(tmp_path)
    settings = prepare_dagster_home(told) / "dagster.yaml"
    assert settings.read_bytes() == (ROOT / "dagster.yaml").read_bytes()
    settings.write_text("telemetry: {enabled: false}\n")
    prepare_dagster_home(told)
    assert settings.read_text() == "telemetry: {enabled: false}\n"
    assert [path.name for path in settings.parent.iterdir()] == ["dagster.yaml"]


def test_the_settings_of_the_project_win_over_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text('[tool.gristmill]\nshelves = ["a"]\n')
    Path("dagster.yaml").write_text("telemetry: {enabled: false}\n")
    settings = prepare_dagster_home(environment(tmp_path)) / "dagster.yaml"
    assert settings.read_text() == "telemetry: {enabled: false}\n"
    settings.unlink()
    Path("dagster.yaml").unlink()
    prepare_dagster_home(environment(tmp_path))
    assert settings.read_bytes() == (ROOT / "dagster.yaml").read_bytes()


@pytest.mark.parametrize("text", ["concurrency:\n  runs: {max_concurrent_runs: 1}\n", "telemetry: {enabled: false}\n"])
def test_settings_of_an_earlier_version_are_named_with_the_mend_and_stay(tmp_path: Path, text: str) -> None:
    settings = tmp_path / "dagster.yaml"
    settings.write_text(text)
    said = missing_dagster_settings(tmp_path)
    assert said.startswith(f"{settings} is of an earlier Gristmill: below `concurrency:` add the line `pools: {{")
    assert "\n" not in said
    assert settings.read_text() == text
    mended = yaml.safe_load(text)
    mended.setdefault("concurrency", {}).update(yaml.safe_load(said.split("`")[3]))
    settings.write_text(yaml.safe_dump(mended))
    assert missing_dagster_settings(tmp_path) == ""


def test_settings_of_today_lack_nothing(tmp_path: Path) -> None:
    for text in (ROOT / "dagster.yaml", TEMPLATES / "dagster.yaml.template", ROOT / "docs/production/dagster.yaml"):
        (tmp_path / "dagster.yaml").write_text(text.read_text())
        assert missing_dagster_settings(tmp_path) == ""
    (tmp_path / "dagster.yaml").write_text("a: [")  # Dagster names the fault
    assert missing_dagster_settings(tmp_path) == ""


def test_a_home_in_the_lake_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"^DAGSTER_HOME is .*, in the lake"):
        prepare_dagster_home(replace(environment(tmp_path), home=str(tmp_path / "lake" / "home")))
    assert not (tmp_path / "lake").exists()


def test_a_command_line_wins_over_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = environment_of_arguments(environment(tmp_path), Lake("other", {"region": "eu-north-1"}), ("c",))
    assert (found.lake, found.shelves, found.region, found.endpoint) == (
        str(tmp_path / "other"),
        ("c",),
        "eu-north-1",
        "",
    )
    bucket = Lake("s3://b/c", {"endpoint": "http://x:1"})
    assert environment_of_arguments(found, bucket, ("c",)).options == {"endpoint": "http://x:1"}
    with pytest.raises(RecipeError, match=r"^--option timeout: Dagster's processes take endpoint and region alone"):
        environment_of_arguments(found, Lake("s3://b/c", {"timeout": "5s"}), ("c",))


def test_children_see_lake_shelves_and_location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", "/theirs", str(ROOT)])
    told = child_process_variables(environment(tmp_path))
    assert (told["GRISTMILL_LAKE"], told["GRISTMILL_SHELVES"]) == (str(tmp_path / "lake"), "a,b")
    assert (told["DAGSTER_HOME"], told["PYTHONPATH"]) == (str(tmp_path / "home"), f"{ROOT}:/theirs")
    assert told["DAGSTER_GRPC_TIMEOUT_SECONDS"] == "300"  # a run of a slow machine is not started twice


def test_a_second_command_says_that_it_waits_and_then_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    waits = threading.Event()
    done: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        waits.set()

    def second() -> None:
        with lock_dagster_home(tmp_path, tell):
            done.append("second")

    with lock_dagster_home(tmp_path, said.append):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(20)
        done.append("first")
    thread.join(20)
    assert done == ["first", "second"]
    assert said == [f"another `gristmill run` or `make demo` works with {tmp_path}; this one waits until it has ended"]


def test_a_database_that_fails_is_told_in_words_with_its_home(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_bytes(b"this is no database " * 100)
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'runs.db'}")
    with (
        pytest.raises(
            StoreError, match=rf"DAGSTER_HOME is {tmp_path}\): file is not a database; see that its disk has"
        ),
        database_in_words(tmp_path),
        engine.connect() as connection,
    ):
        connection.execute(sa.text("select 1 from runs"))
