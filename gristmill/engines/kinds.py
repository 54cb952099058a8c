"""The kinds of engines, and how one is opened: for Dagster's resource, the command line and plain Python alike."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gristmill.errors import RecipeError
from gristmill.extras import Needs, check_installed
from gristmill.lake.store.endpoint import check_no_password
from gristmill.plugins import Door

if TYPE_CHECKING:
    from gristmill.execution.work import OpenEngine


@dataclass(frozen=True, kw_only=True)
class EngineKind:
    """A kind of engine. It is provisional: see docs/reference/compatibility.md.

    Attributes:
        name: name of the kind, such as `dask`.
        help: place where the engine grinds, in words for people, such as `worker processes on this machine`.
        open: function that takes the number of workers and the address, and returns the engine. The engine connects or
            starts workers at its first job. An engine that has its own workers ignores their number.
        address: regular expression of the whole address that it needs; empty: it needs none.
        example: such an address, for messages.
        needs: the modules that it imports, each with the package to install, such as `{"ray": "gristmill[ray]"}`.
    """

    name: str
    help: str
    open: Callable[[int, str], "OpenEngine"]
    address: str = ""
    example: str = ""
    needs: Needs = field(default_factory=dict)

    def check_address(self, address: str, where: str) -> None:
        """Checks the address of a cluster; other engines need none.

        Args:
            address: address of the cluster's scheduler or head.
            where: the setting that holds the address, for the message.

        Raises:
            RecipeError: the address is missing, does not fit this kind of cluster, or holds a password.
        """
        check_no_password(address, where)
        if self.address and not re.fullmatch(self.address, address):
            raise RecipeError(f"{where} is {address!r}; the engine `{self.name}` needs {self.example}")


ENGINES = Door[EngineKind](
    "engines", "an EngineKind of this name", lambda name, it: isinstance(it, EngineKind) and it.name == name
)
"""The kinds of engines: those that ship, and those of installed packages."""


def open_engine(name: str, workers: int = 1, address: str = "") -> "OpenEngine":
    """Opens an engine; its caller closes it.

    Args:
        name: name of its kind: `local` grinds in worker processes on this machine, `inline` in this process; `dask` and
            `ray` on a cluster; others are of packages.
        workers: number of processes of `local`.
        address: address of the Dask scheduler or the Ray head.

    Returns:
        The engine; it connects or starts workers at its first job.

    Raises:
        RecipeError: nothing that is installed has this name, or it cannot be loaded; the address of the cluster is
            missing, or does not fit; or a package that the engine needs is not installed.
    """
    kind = ENGINES.load(name)
    kind.check_address(address, "the engine's address")
    check_installed(kind.needs, f"the engine `{name}`")
    return kind.open(workers, address)
