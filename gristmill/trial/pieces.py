"""Pieces: draws documents for a trial, of which a large lake needs to read little.

Of the newest snapshot at most `PIECES` gzip members are read: those whose hash of (shard, number) is smallest. Of their
rows those are taken whose hash of (source, id) is smallest. So each call takes the same rows, on each machine, as long
as the snapshot has the same shards.
"""

import heapq
from typing import NamedTuple

import msgspec

from gristmill.errors import DataError, RecipeError, known_names
from gristmill.lake.address import place
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.draw import draw_fraction
from gristmill.lake.store.protocol import Store
from gristmill.reading.partitions import ReadPartition, known_snapshots, open_partition

PIECES = 32
"""Most gzip members that are read. Gristmill's have about 1 MiB of rows each."""


class Drawn(NamedTuple):
    """A document of the sample, and where it stands."""

    shard: str
    row: int
    document: Document


class DrawnSample(NamedTuple):
    """The documents of a trial.

    Attributes:
        asset: address of the documents.
        snapshot: their snapshot.
        rows: the documents, in the order of the lake.
        pieces: gzip members that were read.
        of: gzip members that the snapshot has.
        looked: rows of the pieces that were read.
    """

    asset: str
    snapshot: str
    rows: list[Drawn]
    pieces: int
    of: int
    looked: int


class _Piece(NamedTuple):
    """A gzip member: its hash, its shard, and the number of its first row."""

    hash: str
    shard: Shard
    first: int


def draw_documents(store: Store, asset: str, snapshot: str | None, count: int) -> DrawnSample:
    """Draws documents of a dataset version.

    Args:
        store: the lake.
        asset: address of the documents.
        snapshot: key of the snapshot; None: the last one by its key that is finished.
        count: number of documents; all that were read if there are fewer.

    Returns:
        The drawn documents.

    Raises:
        RecipeError: the lake has no such documents or snapshot.
        DataError: no snapshot is finished, or a row is wrong.
        StoreError: a run is at work on the snapshot, or the lake does not answer.
    """
    partition = _read_partition(store, asset, snapshot)
    pieces = [
        _Piece(digest_of([name, number]), shard, first)
        for name, shard in partition.shards.items()
        for number, (_, first) in enumerate(shard.members or ((0, 0),))
        if first < shard.rows
    ]
    chosen = heapq.nsmallest(PIECES, pieces)
    looked = 0
    drawn: list[tuple[float, str, int, Document]] = []
    for piece in sorted(chosen, key=lambda each: (each.shard.name, each.first)):
        rows = _documents_of_piece(store, partition, piece)
        looked += len(rows)
        found = (
            (draw_fraction((document.source, document.id)), piece.shard.name, piece.first + i, document)
            for i, document in enumerate(rows)
        )
        drawn = heapq.nsmallest(count, (each for some in (drawn, found) for each in some), key=lambda each: each[:3])
    rows_drawn = [Drawn(shard, row, document) for _, shard, row, document in sorted(drawn, key=lambda each: each[1:3])]
    return DrawnSample(asset, partition.place.snapshot, rows_drawn, len(chosen), len(pieces), looked)


def _read_partition(store: Store, asset: str, snapshot: str | None) -> ReadPartition:
    there = known_snapshots(store, asset)
    if snapshot is not None:
        if snapshot not in there:
            raise RecipeError(f"{asset}: there is no snapshot {snapshot!r}; {known_names(snapshot, there)}")
        return open_partition(store, place(asset, snapshot))
    finished = [key for key in there if store.head(place(asset, key).ledger)]
    if not finished:
        raise DataError(f"{store.url}: {asset} has no finished snapshot; make it first, or see gristmill plan")
    return open_partition(store, place(asset, finished[-1]))


def _documents_of_piece(store: Store, partition: ReadPartition, piece: _Piece) -> list[Document]:
    """The documents of a piece. Of a file without small members (an adopted one) the first block stands for it."""
    file = open_shard(store, partition.place, piece.shard)
    _, lines = file.rows_around(piece.first)
    block = b"".join(line + b"\n" for line in lines)
    return decode_rows(msgspec.json.Decoder(Document), block, file.path, piece.first) if lines else []
