"""Checkout, sdist and wheel are one Gristmill: the same files, the same digest of code, each with its own top level."""

import ast
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

import pytest
from paths import ROOT
from syntax import parsed
from wheel import build, run, unpacked

from gristmill import installation
from gristmill.errors import RecipeError
from gristmill.execution.remote import worker_environment

pytestmark = pytest.mark.slow

TELL = """
import json, sys
from gristmill.execution.remote import worker_environment
from gristmill.installation import code_version, maker_versions, top_level
before = {name.partition(".")[0] for name in sys.modules}
from gristmill.commands.acquire import lock_files_folder
from gristmill.dagster_location import defs
groups = {node.group_name for node in defs().resolve_asset_graph().asset_nodes}
print(json.dumps({
    "code": worker_environment(("gristmill",))["gristmill"], "version": code_version(), "top": str(top_level()),
    "packages": maker_versions()["gristmill"], "locks": sorted(path.name for path in lock_files_folder().iterdir()),
    "dagster": "dagster" in before, "groups": sorted(groups), "definitions": sys.modules["definitions"].__file__,
}))
"""

AS_DAGSTER_LOADS = """
import os
from dagster._utils import alter_sys_path
with alter_sys_path([os.getcwd()], []):  # around the import of a location; what it adds is taken back
    from gristmill.dagster_location import defs
print(sorted({node.group_name for node in defs().resolve_asset_graph().asset_nodes}))
"""

TOP = {".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "NOTICE", "README.md", "SECURITY.md", "assets"}
TOP |= {".github", ".pre-commit-config.yaml", "CONTRIBUTING.md"}
TOP |= {"bench", "dagster.yaml", "definitions.py", "docs", "gristmill", "pyproject.toml", "requirements", "resources"}
TOP |= {"scripts", "sensors", "tests", "workspace.yaml"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An sdist and a wheel of this checkout."""
    sdist, wheel = sorted(build(ROOT, tmp_path_factory.mktemp("dist"), "sdist", "wheel"), key=lambda path: path.suffix)
    return sdist, wheel


def test_the_top_of_the_project_has_its_own_files_alone() -> None:
    # A lake or a report that a trial left in the checkout must not be published with the project.
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    assert {name.partition("/")[0] for name in tracked.splitlines()} <= TOP


def test_a_wheel_brings_one_name_and_nothing_but_gristmills_files(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = wheel.namelist()
    told = f"gristmill-{installation.VERSION}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"gristmill", told}
    tracked = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True,
                             capture_output=True, check=True).stdout.splitlines()  # fmt: skip
    here = [name for name in tracked if (ROOT / name).is_file()]
    expected = {name for name in here if name.startswith("gristmill/")}
    moved = ("assets/", "resources/", "sensors/", "requirements/packages-")
    expected |= {f"gristmill/location/{name}" for name in here if name.startswith(moved)}
    expected |= {"gristmill/location/definitions.py", "gristmill/location/dagster.yaml"}
    assert {name for name in names if not name.startswith(told)} == expected
    assert {"gristmill/py.typed", "gristmill/location/requirements/packages-2025-12.txt"} <= expected


def test_the_wheel_of_the_sdist_is_that_of_the_checkout(built: tuple[Path, Path], tmp_path: Path) -> None:
    top = unpacked(built[0], tmp_path / "sdist")
    (wheel,) = build(top, tmp_path / "dist", "wheel")
    assert (wheel.name, wheel.read_bytes()) == (built[1].name, built[1].read_bytes())


def test_an_unpacked_wheel_is_whole_without_the_checkout(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Below a repository of others, in a project that wants the demo's recipes."""
    site = tmp_path / "site"
    with zipfile.ZipFile(built[1]) as wheel:
        wheel.extractall(site)
    (tmp_path / "pyproject.toml").write_text('[tool.gristmill]\nshelves = ["gristmill"]\n')
    run("git", "init", "-q", cwd=tmp_path)
    run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x", cwd=tmp_path)
    told = json.loads(run(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r}){TELL}", cwd=tmp_path))
    assert told == {
        "code": worker_environment(("gristmill",))["gristmill"],  # workers of wheel and checkout accept each other
        "version": f"gristmill {installation.VERSION}",
        "top": str(site / "gristmill" / "location"),
        "packages": installation.VERSION,
        "locks": ["packages-2023-12.txt", "packages-2024-12.txt", "packages-2025-12.txt"],
        "dagster": False,
        "groups": [
            *("dedupe_dedupe_documents_1", "exports_starter_energon", "jsonl_v0", "labels", "lake", "mix_starter"),
            *("models", "packages_v0", "packages_v1", "stdlib_v0", "stdlib_v1"),
            *("tokenizers", "tokens_starter_starter_bpe_1"),
        ],
        "definitions": str(site / "gristmill" / "location" / "definitions.py"),
    }


def test_a_checkout_is_told_by_its_commit() -> None:
    assert installation.top_level() == ROOT
    assert installation.code_version() == run("git", "rev-parse", "HEAD", cwd=ROOT).strip()


def test_a_module_of_others_under_a_name_of_the_location_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = ModuleType("assets")
    theirs.__file__ = "/theirs/assets/__init__.py"
    monkeypatch.setitem(sys.modules, "assets", theirs)
    with pytest.raises(
        RecipeError, match=r"^/theirs/assets/__init__\.py is imported as 'assets', a name that .*: rename"
    ):
        installation.import_location_module("definitions")


SERVICES = {"boto3", "botocore", "dagster", "distributed", "obstore", "pydantic", "ray", "sqlalchemy"}
"""They carry bytes, or none, but take part in none."""
BEHIND_OTHERS = {"justext", "lxml"}
"""trafilatura takes texts from them."""


def test_every_package_that_takes_part_in_bytes_is_compared_and_written_into_notes() -> None:
    # A worker that has another version would write other texts under the same ledger.
    statements = [node for tree in trees() for node in ast.walk(tree)]
    tops = {name.name.partition(".")[0] for node in statements if isinstance(node, ast.Import) for name in node.names}
    tops |= {str(node.module).partition(".")[0] for node in statements if isinstance(node, ast.ImportFrom)}
    owners = packages_distributions()
    packages = {re.sub(r"[-_.]+", "-", name).lower() for top in tops for name in owners.get(top, ())}
    assert packages - SERVICES - {"gristmill"} == set(installation.MAKERS) - BEHIND_OTHERS
    assert set(installation.MAKERS) < set(installation.maker_versions())


def trees() -> Iterator[ast.Module]:
    return map(parsed, sorted(installation.PACKAGE.rglob("*.py")))


def test_versions_of_what_is_not_installed_are_empty() -> None:
    assert installation.installed_version("no-such-package") == ""
    assert installation.installed_version("numpy")


def test_the_location_can_be_loaded_twice() -> None:
    assert installation.import_location_module("resources.lake") is installation.import_location_module(
        "resources.lake"
    )
    with pytest.raises(ModuleNotFoundError):
        installation.import_location_module("resources.nothing")


def test_dagster_finds_the_recipes_of_a_project_after_it_has_set_the_path_back(tmp_path: Path) -> None:
    for folder in ("rye", "rye/sources"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "rye" / "sources" / "rye.py").write_text(
        "from gristmill.readers.jsonl import JsonLines\nfrom gristmill.recipes.source import Source\n"
        'RYE = Source(name="rye", convert=JsonLines(source="rye"))\n'
    )
    (tmp_path / "pyproject.toml").write_text('[tool.gristmill]\nshelves = ["rye"]\n')
    told = subprocess.run([sys.executable, "-P", "-W", "ignore", "-c", AS_DAGSTER_LOADS], cwd=tmp_path, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "GRISTMILL_SHELVES": ""},
                          capture_output=True, check=False)  # fmt: skip
    assert "rye" in told.stdout, told.stderr
