"""Blocking: what a blocklist means to a shard; and which shards of a finished slice a changed list touches.

A shard depends on the entries of a list that stand in it, and on no others: its row of the ledger's table has their
digest. So an entry that is nowhere changes nothing, and one that is somewhere changes the shards that hold it.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from gristmill.lake.address import Place, blocklist_asset
from gristmill.lake.identity import HASH_BYTES, digest_of, hashes_of, load_hashes, shared_by
from gristmill.lake.ledger.files import read_table
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.rows.blocklist import Blocklist
from gristmill.lake.store.protocol import Store

Hashes = Mapping[str, NDArray[np.uint64]]
"""The sorted hashes of each list's pairs, shape (n, 2), by the list's name."""


def hashes_by_name(blocklists: Iterable[Blocklist]) -> Hashes:
    """What blocked_inputs() compares with the id indexes."""
    return {blocklist.name: hashes_of(list(blocklist.reasons)) for blocklist in blocklists}


def blocked_inputs(store: Store, documents: Place, shard: Shard, blocked: Hashes) -> list[Input]:
    """What lists mean to one shard of documents, by its id index: an entry that is not in it changes nothing of it."""
    hits: dict[str, list[str]] = {name: [] for name in blocked}
    if any(len(hashes) for hashes in blocked.values()):
        index = load_hashes(store.read_range(documents.index(shard.name), 0, shard.rows * HASH_BYTES))
        for name, hashes in blocked.items():
            hits[name] = [f"{high:016x}{low:016x}" for high, low in shared_by(hashes, index).tolist()]
    return [Input(blocklist_asset(name), shard.name, digest_of(sorted(hit))) for name, hit in hits.items()]


def touched_shards(store: Store, made: Place, documents: Place, blocked: Hashes) -> list[str]:
    """The shards of a slice that these lists, as they are now, would have made otherwise.

    Args:
        store: the lake.
        made: the slice; one that is not finished has none.
        documents: what it was selected from. Shards that it does not have (any longer) are passed over: they are due,
            or to go, for another reason than a list.
        blocked: the lists.

    Raises:
        DataError: a table is none.
        StoreError: the lake does not answer, or the documents are being rebuilt.
    """
    upstream = {shard.name: shard for shard in read_table(store, documents)}
    return [
        row.name
        for row in read_table(store, made)
        if row.name in upstream and _changed(row, blocked_inputs(store, documents, upstream[row.name], blocked))
    ]


def _changed(row: Shard, now: Iterable[Input]) -> bool:
    """Whether a list means something else to a shard than it did; one that it never knew is a changed recipe."""
    before = {source_input.asset: source_input for source_input in row.inputs}
    return any(source_input.asset in before and before[source_input.asset] != source_input for source_input in now)
