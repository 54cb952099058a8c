"""One example of each reason for which rows of a partition were refused: its place in the raw data, from the lake."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gristmill.errors import DataError, StoreError
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.quarantined import QuarantinedRow, first_of_each_reason
from gristmill.lake.rows.shard_file import read_blocks
from gristmill.lake.store.protocol import Store
from gristmill.recipes.drift.drop_reasons import QUARANTINE

_MOST = 64 << 20
"""Unpacked bytes of one quarantine that are read at most."""
_REASONS = 50
"""Reasons for which an example is looked up: the most frequent ones."""


def quarantined_rows(store: Store, path: str) -> Iterator[QuarantinedRow]:
    """The rows of a quarantine, up to 64 MiB of them.

    Raises:
        DataError: a row is wrong.
        StoreError: it cannot be read.
    """
    decoder = msgspec.json.Decoder(QuarantinedRow)
    size = first = 0
    for block in read_blocks(store, path):
        rows = decode_rows(decoder, block, path, first)
        yield from rows
        first += len(rows)
        size += len(block)
        if size >= _MOST:
            return


def refused_examples(store: Store, place: Place, shards: Sequence[Shard]) -> dict[str, QuarantinedRow]:
    """The first refused row of each reason. A reason without one that can be read is absent.

    Each reason costs at most one read of a quarantine, however many shards there are.

    Args:
        store: the lake.
        place: the partition, of documents.
        shards: the rows of its ledger's table.
    """
    counted: dict[str, int] = {}
    for shard in shards:
        for reason, rows in _refusal_counts(shard):
            counted[reason] = counted.get(reason, 0) + rows
    missing = set(sorted(counted, key=lambda reason: (-counted[reason], reason))[:_REASONS])
    found: dict[str, QuarantinedRow] = {}
    for shard in shards:
        here = missing & {reason for reason, _ in _refusal_counts(shard)}
        if here:
            found |= _first_quarantined_rows(store, place.quarantine_path(shard.name), here)
            missing -= here
    return found


def _refusal_counts(shard: Shard) -> Iterator[tuple[str, int]]:
    for reason, rows in shard.dropped.items():
        if reason.startswith(QUARANTINE):
            yield reason.removeprefix(QUARANTINE), rows


def _first_quarantined_rows(store: Store, path: str, reasons: Iterable[str]) -> dict[str, QuarantinedRow]:
    try:
        return first_of_each_reason(quarantined_rows(store, path), reasons)
    except (DataError, StoreError):
        return {}  # without an example the page is still right; `verify` reports a damaged quarantine
