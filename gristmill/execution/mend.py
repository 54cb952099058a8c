"""What a person types, or does in Dagster's pages, to make a damaged or lost object again."""

import dataclasses
from collections.abc import Sequence
from shlex import quote

from gristmill.errors import DataError, StoreError
from gristmill.execution.finding import Finding
from gristmill.lake.asset_kinds import (
    CONSOLIDATED,
    PACKING,
    TOKENIZER,
    kind_of,
    names_in_asset_address,
    owner_of_object,
    whole_asset_of,
)
from gristmill.lake.store.protocol import Store

_MAKE = "python -m gristmill make"

_ADOPTED = "this adopted file is of others: put it back as it was, or adopt it again"
"""The mend of a file outside of the lake. Only adopted files are read there."""
REMOVE_STRAY = "remove it, or put it elsewhere"


def how_to_remake(store: Store, path: str) -> str:
    """The advice for an object, or all of an asset, that does not exist: how it is made again.

    Args:
        store: the lake.
        path: path of the object, or the asset's address.
    """
    kind, names = owner_of_object(path) or (kind_of(path), names_in_asset_address(path))
    if kind is not None and kind.made_by:
        return f"run `{_MAKE} {quote(store.url)} {kind.made_by.format(**names)}`"
    if kind is TOKENIZER:
        return "restore it from a copy, or bring it as a tokenizer of the next number"
    return "restore it"


def how_to_replace(store: Store, path: str) -> str:
    """The advice for an object that exists with wrong bytes: how it is made again. Arguments: as in how_to_remake()."""
    again = how_to_remake(store, path)
    return f"remove {path}, then {again}" if again.startswith("run `") else again


def add_mend_to_finding(store: Store, finding: Finding) -> Finding:
    """A finding that says what a person can do: what it says already, or what mends such an object in general."""
    if finding.mend:
        return finding
    path = finding.path
    if path.startswith("/") or "://" in path:
        return dataclasses.replace(finding, mend=_ADOPTED)
    is_there = path.endswith("/") or _is_there(store, path)
    return dataclasses.replace(finding, mend=how_to_replace(store, path) if is_there else how_to_remake(store, path))


def _is_there(store: Store, path: str) -> bool:
    try:
        return store.head(path) is not None
    except (DataError, StoreError):  # such as a link to itself: making it again does not remove it
        return True


def asks_to_make(finding: Finding) -> bool:
    """Whether the mend of a finding is a run of `make`, at least in part."""
    return _MAKE in finding.mend


def repeat_arguments_in_mend(finding: Finding, given: Sequence[str]) -> Finding:
    """A finding whose mend repeats arguments that a person typed: `make` needs the same shelves and connection.

    Args:
        finding: finding with its mend.
        given: such as `--shelves` and its value; may be empty.
    """
    return dataclasses.replace(finding, mend=finding.mend.replace(_MAKE, " ".join((_MAKE, *map(quote, given)))))


def how_to_reindex(store: Store, ledger: str) -> str:
    """The advice for an index, or for what was made from one: how it is written again.

    Args:
        store: the lake.
        ledger: path of its ledger.
    """
    asset = whole_asset_of(ledger) or ledger
    mix = names_in_asset_address(asset).get("mix", "")
    if kind_of(asset) is CONSOLIDATED:
        job = f"{mix.replace('-', '_')}_index"
        return f"remove {asset}/; if you need the copies, run the job {job} in Dagster with `consolidated: true`"
    if kind_of(asset) is PACKING:
        length = ledger.rpartition("/")[2].removesuffix(".json")
        return f"materialize {asset} in Dagster with `length: {length}`, or remove its files of this length"
    return how_to_remake(store, asset)
