"""The section `tool.dg` of pyproject.toml, as Dagster reads it; and the command `dg` in a checkout and in a project."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from dagster._core.workspace.load_target import get_origins_from_toml
from deployed import free_port
from paths import ROOT, python_path

from gristmill.templates.new_project import Names, project_files, write_project

COMPONENTS = "gristmill.dagster_components"
DG = Path(sys.executable).with_name("dg")


def test_dagster_finds_the_module_that_the_workspace_names() -> None:
    (origin,) = get_origins_from_toml(str(ROOT / "pyproject.toml"))
    assert (origin.loadable_target_origin.module_name, origin.location_name) == ("definitions", "gristmill")
    workspace = (ROOT / "workspace.yaml").read_text()
    assert "module_name: definitions\n" in workspace
    assert "location_name: gristmill\n" in workspace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of Dagster's with its settings, and an empty lake."""
    (tmp_path / "home" / "lake").mkdir(parents=True)
    (tmp_path / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    return tmp_path / "home"


def variables(home: Path, *installed: Path) -> dict[str, str]:
    """The environment of the command: a lake and a home of its own, and this Python with what else is installed."""
    places = {"DAGSTER_HOME": str(home), "GRISTMILL_LAKE": str(home / "lake"), "HOME": str(home)}
    named = {name: value for name, value in os.environ.items() if name != "GRISTMILL_SHELVES"}
    return {**named, **places, "PYTHONPATH": python_path(*installed, *map(Path, sys.path)), "VIRTUAL_ENV": sys.prefix}


@pytest.fixture
def dg(home: Path) -> Callable[..., str]:
    """The command in a folder; gives what it prints."""

    def said(folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            [DG, *arguments],
            cwd=folder,
            env=variables(home, folder / "src"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "superseded" not in done.stderr
        return done.stdout

    return said


def jobs_of(listed: str) -> set[str]:
    """The names of the jobs that `dg list defs --json` prints."""
    return {job["name"] for job in json.loads(listed[listed.index("{") :])["jobs"]}


@pytest.mark.slow
def test_dg_lists_and_launches_in_the_checkout(dg: Callable[..., str]) -> None:
    assert {"sync", "audits", "stdlib_journey"} <= jobs_of(dg(ROOT, "list", "defs", "--json"))
    dg(ROOT, "launch", "--job", "sync")


@pytest.mark.slow
def test_dg_checks_lists_and_launches_in_a_new_project(dg: Callable[..., str], tmp_path: Path) -> None:
    write_project(tmp_path / "tales", project_files(Names("tales", "tales"), ("tales",), 1))
    dg(tmp_path / "tales", "scaffold", "defs", f"{COMPONENTS}.Source", "sources/letters.py")
    found = jobs_of(dg(tmp_path / "tales", "list", "defs", "--json"))
    assert {"sync", "audits", "tales_journey", "letters_journey"} <= found
    assert "All definitions loaded successfully." in dg(tmp_path / "tales", "check", "defs")
    dg(tmp_path / "tales", "launch", "--job", "sync")


PLAIN = f"""
[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "plain"
registry_modules = ["{COMPONENTS}"]
"""

LOADER = """
from pathlib import Path

import dagster as dg


@dg.definitions
def defs() -> dg.Definitions:
    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
"""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_corpus_and_a_source_are_scaffolded_in_a_project_of_dagsters_own(
    dg: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "src" / "plain" / "defs").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(PLAIN)
    (tmp_path / "src" / "plain" / "definitions.py").write_text(LOADER)
    for folder in ("plain", "plain/defs"):
        (tmp_path / "src" / folder / "__init__.py").touch()
    dg(tmp_path, "scaffold", "defs", f"{COMPONENTS}.Corpus", "corpus")
    dg(tmp_path, "scaffold", "defs", f"{COMPONENTS}.Source", "corpus/sources/letters.py")
    assert "All definitions loaded successfully." in dg(tmp_path, "check", "defs")
    assert {"sync", "letters_journey"} <= jobs_of(dg(tmp_path, "list", "defs", "--json"))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_dg_dev_serves_the_definitions(home: Path) -> None:
    port, log = free_port(), home / "dev.log"
    with log.open("wb") as lines:
        command = [str(DG), "dev", "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=variables(home), stdout=lines, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 300
        while not (found := answer(port)):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.5)
    finally:
        process.terminate()
        process.wait(120)
    assert found == ["gristmill"]


def answer(port: int) -> list[str]:
    """The code locations that the web server has loaded; empty while it starts."""
    query = json.dumps(
        {"query": "{ repositoriesOrError { ... on RepositoryConnection { nodes { location { name } } } } }"}
    )
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/graphql", query.encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as said:
            nodes = json.load(said)["data"]["repositoriesOrError"]["nodes"]
    except OSError:
        return []
    return [node["location"]["name"] for node in nodes]
