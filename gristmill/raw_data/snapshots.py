"""The snapshots that a source's raw data have now, and what in them is no snapshot."""

from collections.abc import Callable
from typing import NamedTuple

from gristmill.errors import StoreError
from gristmill.lake.address import documents_asset, ledger_folder
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.store.open import Lake
from gristmill.raw_data.remarks import raw_remarks
from gristmill.raw_data.roots import raw_store
from gristmill.raw_data.scan import present_snapshots, raw_top, scan_raw, show_path
from gristmill.raw_data.shard_names import names_equal_on_disk, one_on_disk
from gristmill.recipes.source import Source

CONFIRM = (
    "if it is to go, say so by `gristmill make --vanished SOURCE/SNAPSHOT`, or let the raw sensor confirm it"
    " (docs/reference/dagster.md)"
)
"""How to get rid of a snapshot whose raw data are gone. `make` alone never takes a lost folder for a removed one."""


class Stray(NamedTuple):
    """Something in a source's raw data that is in no snapshot, and so is not read.

    Attributes:
        folder: the source's folder of raw data, as people see it.
        reason: sentence on what is not read, why, and the mend.
    """

    folder: str
    reason: str

    def __str__(self) -> str:
        return f"{self.folder}: {self.reason}"


def raw_snapshots(
    lake: Lake, source: Source, tell: Callable[[Stray], object], note: Callable[[Stray], object] = str
) -> set[str]:
    """The keys of the snapshots that have raw data.

    A snapshot that cannot be converted as it is is one of them: its step tells why.

    Args:
        lake: the lake.
        source: the recipe.
        tell: function that takes what is in no snapshot.
        note: function that takes remarks on raw data with which nothing is wrong; see gristmill.raw_data.remarks.

    Raises:
        StoreError: the raw data cannot be listed; or `raw` of the recipe names a place where nothing is, and nothing
            was made of it yet.
    """
    scan, folder = scan_raw(source, raw_store(lake, source)), show_path(source, raw_top(source))
    if not (scan.seen or scan.loose or scan.astray or scan.invalid or scan.hidden):
        _check_empty(lake, source, folder)
    for name, reason in scan.invalid.items():
        tell(Stray(folder, f"'{name}' is not read: {reason}"))
    if scan.hidden:
        tell(Stray(folder, f"some snapshots may not be seen: {scan.hidden}"))
    for remark in raw_remarks(source, scan, lake.store(), folder):
        note(Stray(folder, remark))
    found = present_snapshots(source, scan).keys() | scan.held.keys()
    same = names_equal_on_disk(found)
    for name, other in same.items():
        tell(Stray(folder, f"'{name}' is not read: {one_on_disk(other, name)}"))
    return found - same.keys()


def _check_empty(lake: Lake, source: Source, folder: str) -> None:
    """Checks that raw data elsewhere were there before: a misspelt prefix of a bucket looks like an empty one."""
    made = list_ledgers(lake.store(), ledger_folder(documents_asset(source.name, source.versions[0])))
    if source.raw and not made:
        raise StoreError(
            f"{folder}: no raw data of source {source.name!r} are there; put them into a folder for each snapshot,"
            f" {folder}2024/ say, or correct its raw={source.raw_url!r}"
        )
