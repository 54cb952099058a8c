"""The wheel in an environment of its own, in a folder that is no checkout: what it brought is all that there is."""

import subprocess
from pathlib import Path

import pytest
from wheel import installed_wheel, python_of, run

pytestmark = pytest.mark.slow

SHELF = """
from collections.abc import Iterator

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.source import Source


def convert(raw: RawObject) -> Iterator[Document]:
    yield Document(id=raw.name, text=raw.read().decode(), source="poems")


POEMS = Source(name="poems", convert=convert, licence="CC0-1.0")
"""


def project(folder: Path) -> Path:
    """A project with one source of three texts."""
    shelf = folder / "ourpoems" / "sources"
    shelf.mkdir(parents=True)
    for package in (shelf, shelf.parent):
        (package / "__init__.py").touch()
    (shelf / "poems.py").write_text(SHELF)
    (folder / "pyproject.toml").write_text('[tool.gristmill]\nshelves = ["ourpoems"]\n')
    raw = folder / "lake" / "sources" / "poems" / "raw" / "2024"
    raw.mkdir(parents=True)
    for number in range(3):
        (raw / f"{number}.txt").write_text(f"Poem {number}.\n")
    return folder


@pytest.mark.parametrize(
    "version",
    ["3.11", *(pytest.param(other, marks=pytest.mark.exhaustive) for other in ("3.12", "3.13"))],
)
def test_the_wheel_alone_makes_a_source_and_shows_it_in_dagster(version: str, tmp_path: Path) -> None:
    python = python_of(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    inside = installed_wheel(tmp_path, python)
    here = project(tmp_path / "corpus")
    gristmill = inside.with_name("gristmill")
    assert "gristmill 0." in run(inside, "-m", "pip", "list", "--format=freeze", cwd=here).replace("==", " ")
    run(gristmill, "make", "-", "poems", cwd=here)
    said = run(gristmill, "verify", cwd=here)
    assert "sources/poems/v0/ledgers/documents/2024.json" in said
    note = next((here / "lake").rglob("2024.run.json")).read_text()
    assert '"gristmill 0.' in note
    told = run(inside, "-c", "from gristmill.dagster_location import defs; print(len(defs().jobs))", cwd=here)
    assert int(told) >= 2
    entries = "from importlib.metadata import entry_points as e; print(*e(group='dagster_dg_cli.registry_modules'))"
    assert "value='gristmill.dagster_components'" in run(inside, "-c", entries, cwd=here)
    assert not list((tmp_path / "env").rglob("lake.json"))
    outside = subprocess.run([gristmill, "plan"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (outside.returncode, outside.stderr.split(":")[0]) == (2, "no recipes are named")
