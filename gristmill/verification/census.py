"""What a lake should hold: the ledgers that exist, and those that must exist because objects of theirs do."""

import re
from collections.abc import Callable, Iterator

from gristmill.errors import DataError
from gristmill.execution.work import Say
from gristmill.lake.address import place_of_ledger
from gristmill.lake.asset_kind import pattern_as_regex
from gristmill.lake.asset_kinds import (
    KINDS,
    LABELS,
    MODEL,
    PARTITIONED,
    RAW,
    TOKENIZER,
    kind_of,
    ledger_of_object,
    report_rank,
    whole_asset_of,
)
from gristmill.lake.store.plain_files import Tell
from gristmill.lake.store.protocol import Store

TOPS = tuple(dict.fromkeys(kind.top_folder for kind in KINDS if kind.ledger))

_FLAT = {TOKENIZER.top_folder, LABELS.top_folder, MODEL.top_folder}
"""The first folders of kinds whose files lie in the asset's folder itself."""

_SHARED = tuple(re.compile(pattern_as_regex(re.sub(r"(/{\w+})+$", "", kind.address)) + "/") for kind in PARTITIONED)
"""The folders that the shards of several assets or snapshots share. Who reads all files below one reads strays too."""


def expected_ledger_paths(
    store: Store, prefix: str, say: Say, tell: Tell | None = None, stray: Callable[[str], object] | None = None
) -> list[str]:
    """The paths of all ledgers below a prefix that the lake should have, upstream assets first.

    A partition without a ledger counts, unless a run has claimed it: that run will write the ledger.

    Args:
        store: the lake.
        prefix: an asset's address, or its first folders (`sources/wiki/v0`); empty: the whole lake.
        say: function that receives a note on each partition that a run has claimed and that has no ledger yet.
        tell: function that takes what can be no object, such as a link to nothing; None: that is an error.
        stray: function that takes the path of each object in a folder of shards that lies in the place of no asset, in
            any order.
    """
    word = prefix.rstrip("/")
    paths = set(_ledgered_object_paths(store, tell))
    ledgers: dict[str, tuple[str, str]] = {}
    for path in paths:
        owner = ledger_of_object(path) or ""
        asset, _ = ledgers.get(owner) or ledgers.setdefault(owner, _asset_and_claim(owner))
        if stray and not asset and any(folder.match(path) for folder in _SHARED):
            stray(path)
    due: list[tuple[tuple[object, ...], str]] = []
    for ledger, (asset, claim) in ledgers.items():
        if not asset or not (not word or asset == word or asset.startswith(f"{word}/")):
            continue
        if ledger not in paths and claim in paths:
            say(f"{ledger}: does not exist yet: a run is at work on this partition, or was killed; run it again")
        else:
            due.append((report_rank(asset), ledger))
    return [ledger for _, ledger in sorted(due)]


def _asset_and_claim(ledger: str) -> tuple[str, str]:
    """The asset of a ledger, and the path of a run's claim on it; "" and "" if no asset can have such a ledger."""
    try:
        partition = place_of_ledger(ledger)
    except DataError:  # a folder whose name is wrong as a snapshot: no part of the lake
        return "", ""
    return (partition.asset, partition.claim_path) if partition else (whole_asset_of(ledger) or "", "")


def _ledgered_object_paths(store: Store, tell: Tell | None) -> Iterator[str]:
    """The paths of all objects of kinds with ledgers. Raw data are not listed: they may be millions of objects."""
    for top in TOPS:
        for folder in store.folders(top):
            for each in store.folders(folder):
                if kind_of(each.rstrip("/")) is not RAW:
                    yield from (entry.path for entry in store.list(each, "", tell))
            if top in _FLAT:
                yield from (entry.path for entry in store.list(folder, "", tell))
