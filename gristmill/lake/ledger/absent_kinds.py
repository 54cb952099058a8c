"""Finds what kinds of assets made whose packages are not installed. Nothing is known of them but their ledgers."""

from collections.abc import Iterator

import msgspec

from gristmill.errors import DataError
from gristmill.lake.asset_kinds import KINDS
from gristmill.lake.ledger.files import parse_head
from gristmill.lake.ledger.receipts import RunNote
from gristmill.lake.ledger.walk import folders_matching_pattern
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store

_TOPS = frozenset({*(kind.top_folder for kind in KINDS), "releases/", "withdrawn/"})


def absent_kinds(store: Store) -> Iterator[tuple[str, str]]:
    """The folders of kinds that no installed package adds.

    Args:
        store: the lake.

    Yields:
        The folder, with its closing slash; and in words which package has made it.

    Raises:
        StoreError: the lake does not answer.
    """
    for top in store.folders(""):
        ledger = None if top in _TOPS else _any_ledger_path(store, top)
        if ledger is not None:
            yield top, f"made by {_package_of_ledger(store, ledger)}, which is not installed"


def _any_ledger_path(store: Store, top: str) -> str | None:
    """The path of the head of a ledger below a folder; None if no kind has made the folder, so it has no ledger."""
    for folder in folders_matching_pattern(store, f"{top}{{recipe}}/ledgers/"):
        for path in (entry.path for entry in store.list(folder)):
            if path.endswith(".json") and not path.endswith(".run.json") and ".receipts/" not in path:
                try:
                    asset = parse_head(store.read(path), path).asset
                except DataError:
                    continue
                if asset.startswith(top):
                    return path
    return None


def _package_of_ledger(store: Store, ledger: str) -> str:
    note = store.read_tagged(f"{ledger.removesuffix('.json')}.run.json")
    try:
        about = msgspec.json.decode(note[0], type=RunNote).about if note else {}
    except NOT_DECODED:
        about = {}
    name = about.get("package")
    return f"the package {name}" if isinstance(name, str) and name else "a package"
