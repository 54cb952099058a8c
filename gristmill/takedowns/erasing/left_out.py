"""Raw records that a reader left out. Ledgers only count them, so their raw objects are converted again."""

from collections.abc import Iterator

from gristmill.errors import GristmillError
from gristmill.lake.asset_kinds import RAW, kind_of
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.raw_path import find_raw_path
from gristmill.recipes.drift.drop_reasons import LEFT_OUT
from gristmill.stages.conversion.parts import recorded_part_edges
from gristmill.takedowns.places import LeftOutPlace, Search, place_in_words
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import Shelves, left_out_again
from gristmill.tracing.rows import Partition

_MOST = 3
"""Reasons that a line names."""


def left_out_places(
    store: Store, documents: Partition, wanted: Wanted, search: Search, shelves: Shelves
) -> Iterator[LeftOutPlace]:
    """The records of wanted documents that a reader left out.

    Args:
        store: the lake.
        documents: a partition of v0.
        wanted: the documents.
        search: search that learns which raw objects have records that were left out, and whose ids nobody knows.
        shelves: recipes.
    """
    for shard in documents.shards.values():
        reasons = sorted(reason for reason in shard.dropped if reason.startswith(LEFT_OUT))
        for read in (each for each in shard.inputs if reasons and kind_of(each.asset) is RAW):
            path = _raw_object_path(store, documents, shard, read)
            try:
                yield from _left_out_in_object(documents, shard, read, path, (wanted, search, shelves))
            except GristmillError as error:
                search.unread_raw[path] = f"records of it were left out, and it cannot be read again ({error})"


def _left_out_in_object(
    documents: Partition, shard: Shard, read: Input, path: str, asked: tuple[Wanted, Search, Shelves]
) -> Iterator[LeftOutPlace]:
    wanted, search, shelves = asked
    if recorded_part_edges(shard, documents.place.table) is not None:
        search.unread_raw[path] = "records of it were left out, and it is read in parts"
        return
    unnamed: dict[str, int] = {}
    for row, place in left_out_again(documents, read, shelves, wanted.reasons.keys()):
        if not row.id:
            unnamed[row.reason] = unnamed.get(row.reason, 0) + row.records
        elif place is not None:
            pair = (row.source, row.id)
            yield LeftOutPlace(pair, documents.place, shard.name, f"{place_in_words(place)} ({row.reason})", place)
    if unnamed:
        told = ", ".join(f"{reason}: {number:,}" for reason, number in sorted(unnamed.items())[:_MOST])
        search.unread_raw[path] = f"records of it were left out, and nobody knows their ids ({told})"


def _raw_object_path(store: Store, documents: Partition, shard: Shard, read: Input) -> str:
    """The path of a raw object in the lake, or what it would be."""
    part, snapshot = recorded_part_edges(shard, documents.place.table), documents.place.snapshot
    name = part.object if part else read.shard
    return find_raw_path(store, read.asset, snapshot, name, read.content) or f"{read.asset}/{snapshot}/{name}"
