"""The snapshots that a source's raw data have now, and what in them is no snapshot."""

from collections.abc import Callable
from typing import NamedTuple

from gristmill.lake.store.open import Lake, open_store
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.scan import present, raw_top, scan_raw, shown
from gristmill.recipes.source import Source

CONFIRM = "if it is to go, let the raw sensor confirm that it has vanished (docs/dagster.md)"
"""How to get rid of a snapshot whose raw data are gone. `make` alone never takes a lost folder for a removed one."""


class Stray(NamedTuple):
    """Something in a source's raw data that is in no snapshot, and so is not read.

    Attributes:
        folder: the source's folder of raw data, as people see it.
        reason: what is not read, why, and the mend.
    """

    folder: str
    reason: str

    def __str__(self) -> str:
        return f"{self.folder}: {self.reason}"


def raw_store(lake: Lake, source: Source) -> Store:
    """The store that holds the raw data of a source.

    Args:
        lake: the lake.
        source: the recipe.
    """
    return open_store(source.raw, lake.options) if source.raw else lake.store()


def raw_snapshots(lake: Lake, source: Source, tell: Callable[[Stray], object]) -> set[str]:
    """The keys of the snapshots that have raw data.

    A snapshot that cannot be converted as it is is one of them: its step tells why.

    Args:
        lake: the lake.
        source: the recipe.
        tell: takes what is in no snapshot.

    Raises:
        StoreError: the raw data cannot be listed.
    """
    scan, folder = scan_raw(source, raw_store(lake, source)), shown(source, raw_top(source))
    for name, reason in scan.invalid.items():
        tell(Stray(folder, f"'{name}' is not read: {reason}"))
    if scan.hidden:
        tell(Stray(folder, f"some snapshots may not be seen: {scan.hidden}"))
    return present(source, scan).keys() | scan.held.keys()
