"""Tokenizers and models that were trained on partitions with wanted documents.

A vocabulary, the words of a classifier or the n-grams of an index keep parts of texts, and nothing in them tells of
which document. So the data that they were trained on are compared: if these are as they were, the search tells whether
they have the documents. If not, they may have had them.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from gristmill.lake.address import place
from gristmill.lake.asset_kinds import MODEL, TOKENIZER, ledger_of_asset
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.takedowns.places import Search


class _Ledger(msgspec.Struct, frozen=True):
    """The fields that the ledgers of partitions, labelled sets, models and tokenizers have in common."""

    fingerprint: str
    inputs: tuple[Any, ...] = ()


def models_that_learnt(store: Store, search: Search) -> Iterator[str]:
    """The tokenizers and models that have learnt from wanted documents, or may have: a line for each, in words.

    Args:
        store: the lake.
        search: the places of the documents.

    Raises:
        DataError: the ledger of a tokenizer, of a model, or of what it was trained on is wrong.
        StoreError: the lake does not answer.
    """
    there = {(each.asset, each.snapshot) for each in search.found}
    for asset in (asset for kind in (TOKENIZER, MODEL) for asset in list_assets(store, kind)):
        ledger = _read_learnt_ledger(store, ledger_of_asset(asset))
        for trained_on, snapshot, fingerprint in ledger.inputs if ledger else ():
            named = f"{trained_on} ({snapshot})" if snapshot else trained_on
            path = place(trained_on, snapshot).ledger if snapshot else ledger_of_asset(trained_on)
            now = _read_learnt_ledger(store, path)
            if now is None or now.fingerprint != fingerprint:
                yield f"{asset} was made from {named} as it was before, which may have had them"
                break
            if (trained_on, snapshot) in there:
                yield f"{asset} was made from {named}, which has them"
                break


def _read_learnt_ledger(store: Store, path: str) -> _Ledger | None:
    tagged = store.read_tagged(path)
    return None if tagged is None else decode_object(tagged[0], _Ledger, path, "a ledger", "make it again")
