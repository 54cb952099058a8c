"""The section `tool.dg` of pyproject.toml, as Dagster reads it; and `dg` itself, if this Python has dagster-dg-cli."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from dagster._core.workspace.load_target import get_origins_from_toml
from paths import ROOT, python_path


def test_dagster_finds_the_module_that_the_workspace_names() -> None:
    (origin,) = get_origins_from_toml(str(ROOT / "pyproject.toml"))
    assert (origin.loadable_target_origin.module_name, origin.location_name) == ("definitions", "gristmill")
    workspace = (ROOT / "workspace.yaml").read_text()
    assert "module_name: definitions\n" in workspace
    assert "location_name: gristmill\n" in workspace


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.skipif(not importlib.util.find_spec("dagster_dg_cli"), reason="this Python has no dagster-dg-cli")
def test_dg_lists_checks_and_launches(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    places = {"DAGSTER_HOME": str(tmp_path), "GRISTMILL_LAKE": str(tmp_path / "lake"), "GRISTMILL_SHELVES": "dagshelf"}
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")

    def dg(*arguments: str) -> str:
        command = [sys.executable, "-c", "from dagster_dg_cli.cli import main; main()", *arguments]
        variables = {**os.environ, **places, "PYTHONPATH": python_path(*map(Path, sys.path)), "VIRTUAL_ENV": sys.prefix}
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "superseded" not in done.stderr
        return done.stdout

    listed = dg("list", "defs", "--json")
    found = json.loads(listed[listed.index("{") :])
    assert "sync" in {job["name"] for job in found["jobs"]}
    assert found["assets"]
    assert "All definitions loaded successfully." in dg("check", "defs")
    dg("launch", "--job", "sync")
