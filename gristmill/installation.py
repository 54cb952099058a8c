"""How this Gristmill lies on the disk: as a checkout, or as an installed package; and which version it is."""

import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gristmill.errors import RecipeError
from gristmill.project import find_project

VERSION = "0.3.0"
"""The version of the package; its only place."""

PACKAGE = Path(__file__).resolve().parent
LOCATION = PACKAGE / "location"
"""The owner's top level as a wheel holds it; a checkout has no such folder."""

LOCATION_MODULES = ("assets", "definitions", "resources", "sensors")
"""Names in that folder; they are too common to be at the top level of an installed package."""

MAKERS = (
    "ahocorasick-rs",
    "av",
    "duckdb",
    "fastokens",
    "fasttext-community",
    "fastwarc",
    "filetype",
    "ftfy",
    "google-crc32c",
    "google-re2",
    "isal",
    "jinja2",
    "jq",
    "justext",  # trafilatura takes texts from it, and from lxml
    "lxml",
    "msgspec",
    "mwparserfromhell",
    "numcodecs",
    "numpy",
    "onnxruntime",
    "orjson",
    "pillow",
    "pyarrow",
    "pycld2",
    "python-tlsh",
    "pyyaml",
    "resiliparse",
    "tokenizers",
    "trafilatura",
    "xxhash",
    "zstandard",
)
"""Packages of others whose version may change the bytes."""


def top_level() -> Path:
    """The folder of `definitions.py`, `assets`, `resources`, `sensors`, `dagster.yaml` and `requirements`."""
    return LOCATION if LOCATION.is_dir() else PACKAGE.parent


def import_location_module(module: str) -> Any:
    """Imports a module of the Dagster location, such as `definitions`: see put_location_on_path.

    Args:
        module: its name below the folder of top_level().

    Returns:
        The module.

    Raises:
        RecipeError: a module of others has such a name, and is imported already; or the project's table is wrong.
    """
    put_location_on_path()
    return import_module(module)


def put_location_on_path() -> None:
    """Lets Python import the modules of the Dagster location, and the current project, so that its shelves are found.

    Raises:
        RecipeError: a module of others has such a name, and is imported already; or the project's table is wrong.
    """
    project = find_project()
    if project:
        project.put_on_path()
    top = top_level()
    if sys.path[:1] != [str(top)]:
        sys.path.insert(0, str(top))
    for name in LOCATION_MODULES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and not Path(file).resolve().is_relative_to(top):
            raise RecipeError(
                f"{file} is imported as {name!r}, a name that Gristmill's Dagster location needs: rename that module,"
                " or start Dagster in a process without it"
            )


@cache
def code_version() -> str:
    """The git commit of the checkout; `gristmill 0.3.0`, with the package's version, where there is no checkout.

    A package may be installed below a repository of others, whose commit says nothing of it.
    """
    if not LOCATION.is_dir():
        try:
            done = subprocess.run(
                ["git", "rev-parse", "--show-toplevel", "HEAD"],  # noqa: S607 - git as the machine has it
                cwd=PACKAGE.parent,
                capture_output=True,
                text=True,
                check=True,
                timeout=10,
            )
        except (OSError, subprocess.SubprocessError):
            return f"gristmill {VERSION}"
        root, commit = done.stdout.splitlines()
        if Path(root).resolve() == PACKAGE.parent:
            return commit
    return f"gristmill {VERSION}"


@cache
def maker_versions() -> dict[str, str]:
    """The versions of gristmill, Dagster and MAKERS, by name; empty: not installed."""
    return {"gristmill": VERSION} | {name: installed_version(name) for name in ("dagster", *MAKERS)}


@cache
def installed_version(package: str) -> str:
    """The version of a package; empty: not installed. It is read once: an upgrade does not change what is imported.

    Args:
        package: its name on PyPI.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
