"""Extras: the packages that only some recipes and commands need. A missing one is a line with the command for it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from gristmill.errors import RecipeError

EXTRAS: Mapping[str, str] = {
    "PIL": "energon",
    "av": "energon",
    "boto3": "s3",
    "botocore": "s3",
    "dagster_aws": "s3",
    "dagster_webserver": "ui",
    "distributed": "dask",
    "fasttext": "models",
    "fastwarc": "web",
    "filetype": "energon",
    "jq": "dolma",
    "mwparserfromhell": "wiki",
    "obstore": "s3",
    "onnxruntime": "models",
    "pycld2": "cld2",
    "ray": "ray",
    "resiliparse": "web",
    "starlette": "ui",
    "tlsh": "tlsh",
    "trafilatura": "trafilatura",
    "uvicorn": "ui",
}
"""The extra of each package that Gristmill imports and does not always bring."""

Needs = Mapping[str, str]
"""Packages by the names that they are imported by, each with the requirement that brings it."""


def needs(*packages: str) -> Needs:
    """What to install for packages of extras.

    Args:
        packages: names that they are imported by.

    Returns:
        The extra of each, such as `gristmill[web]`.

    >>> needs("resiliparse")
    {'resiliparse': 'gristmill[web]'}
    """
    return {package: f"gristmill[{EXTRAS[package]}]" for package in packages}


def why_missing(needed: Needs) -> str:
    """Why something cannot be done here: the first package that is not installed, and the command that installs it.

    Args:
        needed: packages that it needs.

    Returns:
        A line; empty if all packages are installed.

    >>> why_missing({"json": "json"}), why_missing({"no_such_module": "acme[none]"})
    ('', "it needs the package no_such_module, which is not installed: `pip install 'acme[none]'`")
    """
    for package, requirement in needed.items():
        if find_spec(package.partition(".")[0]) is None:
            return f"it needs the package {package}, which is not installed: `pip install '{requirement}'`"
    return ""


def check_installed(needed: Needs, what: str = "") -> None:
    """Checks that packages are installed.

    Args:
        needed: packages that are needed.
        what: the recipe or command that needs them, for the message.

    Raises:
        RecipeError: one of them is not.
    """
    if why := why_missing(needed):
        raise RecipeError(f"{what}: {why}" if what else why)


@contextmanager
def extra() -> Iterator[None]:
    """Imports packages of extras, in a block of its own: what is missing is told in one line.

    Raises:
        RecipeError: the package is not installed. Another error of an import stays what it is.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise RecipeError(why_missing(needs(package)) or f"{package} cannot be imported: {error}") from error
