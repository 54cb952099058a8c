"""Blocklists as inputs of shards, and the shards of a finished slice that a changed blocklist affects.

A shard depends only on the entries of a blocklist whose documents it holds: its row of the ledger's table has their
digest. So a new entry makes exactly the shards out of date that hold its document, and none if there is no such shard.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from gristmill.lake.address import Place, blocklist_asset
from gristmill.lake.identity import HASH_BYTES, digest_of, hashes_shared_by, load_hashes, sorted_pair_hashes
from gristmill.lake.ledger.files import read_table
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.rows.blocklists.blocklist import Blocklist
from gristmill.lake.store.protocol import Store

Hashes = Mapping[str, NDArray[np.uint64]]
"""The sorted hashes of each list's pairs, shape (n, 2), by the list's name."""


def hashes_by_name(blocklists: Iterable[Blocklist]) -> Hashes:
    """The hashes of each list's pairs, for blocked_inputs()."""
    return {blocklist.name: sorted_pair_hashes(list(blocklist.reasons)) for blocklist in blocklists}


def blocked_inputs(store: Store, documents: Place, shard: Shard, blocked: Hashes) -> list[Input]:
    """The inputs of a shard that come from blocklists: for each list, a digest of its entries in the shard.

    Args:
        store: the lake.
        documents: the partition that is selected from.
        shard: one of its shards; its id index is read.
        blocked: the lists.
    """
    hits: dict[str, list[str]] = {name: [] for name in blocked}
    if any(len(hashes) for hashes in blocked.values()):
        index = load_hashes(store.read_range(documents.index(shard.name), 0, shard.rows * HASH_BYTES))
        for name, hashes in blocked.items():
            hits[name] = [f"{high:016x}{low:016x}" for high, low in hashes_shared_by(hashes, index).tolist()]
    return [Input(blocklist_asset(name), shard.name, digest_of(sorted(hit))) for name, hit in hits.items()]


def shards_touched_by_blocklists(store: Store, made: Place, documents: Place, blocked: Hashes) -> list[str]:
    """The shards of a slice that are out of date because these lists changed.

    Args:
        store: the lake.
        made: the slice. If it is not finished, no shard is named.
        documents: the partition that it was selected from. A shard that it does not have is skipped: the shard is out
            of date for another reason.
        blocked: the lists as they are now.

    Raises:
        DataError: a table is wrong.
        StoreError: the lake does not answer, or the documents are being rebuilt.
    """
    upstream = {shard.name: shard for shard in read_table(store, documents)}
    return [
        row.name
        for row in read_table(store, made)
        if row.name in upstream
        and _has_changed_list(row, blocked_inputs(store, documents, upstream[row.name], blocked))
    ]


def _has_changed_list(row: Shard, now: Iterable[Input]) -> bool:
    """Whether a list's digest differs from the recorded one. A list without a record is a changed recipe instead."""
    before = {blocklist.asset: blocklist for blocklist in row.inputs}
    return any(blocklist.asset in before and before[blocklist.asset] != blocklist for blocklist in now)
