"""The kinds of engines, and the form of the addresses of clusters."""

import re
from importlib.util import find_spec
from typing import Literal, get_args

from gristmill.errors import RecipeError
from gristmill.lake.store.endpoint import check_no_password

EngineKind = Literal["local", "inline", "dask", "ray"]

ENGINES: tuple[EngineKind, ...] = get_args(EngineKind)

CLUSTERS = {
    "dask": (re.compile(r"(tcp|tls)://[^/\s]+:\d+"), "tcp://host:8786 or tls://host:8786"),
    "ray": (re.compile(r"[^/\s]+:\d+"), "host:6379"),
}
"""Engines on clusters: for each the pattern of its address, and an example for messages."""

_PACKAGES = {"dask": "distributed", "ray": "ray"}


def check_address(kind: str, address: str, where: str) -> None:
    """Checks the address of a cluster; other engines need none.

    Args:
        kind: of the engine.
        address: of the cluster's scheduler or head.
        where: the setting that holds the address, for the message.

    Raises:
        RecipeError: the address is missing, does not fit this kind of cluster, or holds a password.
    """
    check_no_password(address, where)
    if kind not in CLUSTERS:
        return
    pattern, example = CLUSTERS[kind]
    if not pattern.fullmatch(address):
        raise RecipeError(f"{where} is {address!r}; the engine `{kind}` needs {example}")


def check_installed(kind: str) -> None:
    """Checks that the package of a cluster is installed; other engines need none.

    Args:
        kind: of the engine.

    Raises:
        RecipeError: it is not.
    """
    package = _PACKAGES.get(kind)
    if package and find_spec(package) is None:
        raise RecipeError(f"the engine `{kind}` needs the package {package}: `pip install 'gristmill[{kind}]'`")
