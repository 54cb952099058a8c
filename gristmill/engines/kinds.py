"""The kinds of engines, and what the addresses of clusters look like."""

import re
from typing import Literal, get_args

from gristmill.errors import RecipeError

EngineKind = Literal["local", "inline", "dask", "ray"]

ENGINES: tuple[EngineKind, ...] = get_args(EngineKind)

CLUSTERS = {
    "dask": (re.compile(r"(tcp|tls)://[^/\s]+:\d+"), "tcp://host:8786 or tls://host:8786"),
    "ray": (re.compile(r"[^/\s]+:\d+"), "host:6379"),
}
"""Engines that are elsewhere, and what an address of theirs looks like."""


def check_address(kind: str, address: str, where: str) -> None:
    """Checks the address of a cluster; other engines need none.

    Args:
        kind: of the engine.
        address: of the cluster's scheduler or head.
        where: what to edit.

    Raises:
        RecipeError: the address is missing, or does not fit this kind of cluster.
    """
    if kind not in CLUSTERS:
        return
    pattern, example = CLUSTERS[kind]
    if not pattern.fullmatch(address):
        raise RecipeError(f"{where} is {address!r}; the engine `{kind}` needs {example}")
