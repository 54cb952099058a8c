"""The rows of documents: of a dataset version, or of the streams of a mix; and samples of them."""

import heapq
import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import xxhash

from gristmill.errors import DataError, RecipeError
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import HASH_BYTES, ROW_BYTES, load_hashes
from gristmill.lake.ledger.id_index import hash_pair
from gristmill.lake.store.protocol import Store
from gristmill.reading.arguments import check_count
from gristmill.reading.document_arrays import decode_rows
from gristmill.reading.feeds import pair_of_row, read_shard_lines
from gristmill.reading.partitions import ReadShard
from gristmill.reading.record_batches import BatchReader
from gristmill.reading.rows import Rows
from gristmill.threads import thread_pool

AT_ONCE = 16
"""Indexes that are read at the same time: a bucket answers a request in about 20 ms."""

_CIRCLE = 1 << (8 * HASH_BYTES)


class _Pick(NamedTuple):
    """A row of the sample: how far its hash is behind the beginning of the draw, its shard, its number, its hash."""

    distance: int
    shard: int
    row: int
    digest: bytes


class DocumentRows(Rows):
    """Rows of documents.

    Args:
        reader: reader of the shards.
        shards: shards that are read, in order.
        title: description of what is read.
        limit: most rows; None: all.
    """

    def __init__(self, reader: BatchReader, shards: Sequence[ReadShard], title: str, limit: int | None = None) -> None:
        self._reader, self._shards = reader, shards
        check_count("limit is", limit)
        self._limit = limit
        most = sum(shard.shard.rows for shard in shards)
        super().__init__(reader.schema, self._read_batches, title, most if limit is None else min(most, limit))

    def _read_batches(self) -> Iterator[Any]:
        for shard in self._shards:
            yield from self._reader.batches_of_shard(shard, origin_columns_of_shard(shard))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries, by column; raises the same errors as batches()."""
        return islice(self._read_rows(), self.most)

    def _read_rows(self) -> Iterator[dict[str, Any]]:
        for shard in self._shards:
            yield from self._reader.rows_of_shard(shard, origin_columns_of_shard(shard))

    def sample(self, n: int, seed: int = 0) -> Rows:
        """Rows drawn by the hashes of their (source, id): the same call gives the same rows, on each machine.

        The draw reads the id indexes of the shards, and of these only as much as it needs; then the gzip members that
        hold the rows. Each snapshot has a draw of its own. The rows are in the order of the lake. Shards are not
        hashed, but each row is compared with its index.

        Args:
            n: number of rows; all if there are fewer.
            seed: another number draws other rows.

        Returns:
            The drawn rows, in the order of the shards.

        Raises:
            RecipeError: n is negative, n or seed is no whole number, or these rows have a limit.
            DataError: an id index is missing.
        """
        check_count("n of sample() is", n)
        check_count("seed of sample() is", seed, signed=True)
        if self._limit is not None:
            raise RecipeError(f"sample() draws from all rows, so limit={self._limit} would not hold; leave limit out")
        store = self._reader.store
        with thread_pool(AT_ONCE) as pool:
            drawn = pool.map(lambda pair: _first_drawn_rows(store, pair[1], pair[0], n, seed), enumerate(self._shards))
            picks = heapq.nsmallest(n, (pick for some in drawn for pick in some))
        by_shard: dict[int, dict[int, bytes]] = {}
        for pick in sorted(picks, key=lambda pick: (pick.shard, pick.row)):
            by_shard.setdefault(pick.shard, {})[pick.row] = pick.digest

        def read() -> Iterator[Any]:
            for number, rows in by_shard.items():
                shard = self._shards[number]
                yield from self._reader.batches_of_shard(shard, origin_columns_of_shard(shard), rows)

        return Rows(self.schema, read, f"sample of {self.title}", len(picks))


def origin_columns_of_shard(shard: ReadShard) -> dict[str, str]:
    """The place of the rows of a shard: the values of its columns `snapshot`, `shard` and `stream`."""
    where = shard.partition.place
    return {
        "snapshot": where.snapshot,
        "shard": shard.shard.name,
        "stream": names_in_asset_address(where.asset).get("stream", ""),
    }


def _draw_start(shard: ReadShard, seed: int) -> int:
    """Where on the circle of hashes the draw of a snapshot begins. Snapshots with equal ids get different rows."""
    where = shard.partition.place
    return xxhash.xxh3_128_intdigest(f"{where.asset}/{where.snapshot}".encode(), seed)


def _first_drawn_rows(store: Store, shard: ReadShard, number: int, n: int, seed: int) -> list[_Pick]:
    """The first rows of a shard in the draw, at most n."""
    rows = shard.shard.rows
    if not rows or not n:
        return []
    begin = _draw_start(shard, seed)
    path = shard.partition.place.index(shard.shard.name)
    entry = store.head(path)
    if entry is None:
        raise DataError(f"{path} is missing; make its shard again")
    if entry.size < rows * (HASH_BYTES + ROW_BYTES):  # Gristmill 0.1 wrote hashes only
        return heapq.nsmallest(n, _picks_by_scan(store, shard, number, begin))
    place = _first_position_after(store, path, rows, begin)
    picks: list[_Pick] = []
    for first, last in ((place, min(place + n, rows)), (0, min(place, n - min(n, rows - place)))):
        if first < last:
            picks += _picks_in_range(store, path, rows, number, begin, first, last)
    return picks


def _picks_in_range(store: Store, path: str, rows: int, number: int, begin: int, first: int, last: int) -> list[_Pick]:
    """The rows at positions [first, last) of an index."""
    hashes = store.read_range(path, first * HASH_BYTES, last * HASH_BYTES)
    start = rows * HASH_BYTES
    numbers = store.read_range(path, start + first * ROW_BYTES, start + last * ROW_BYTES)
    return [
        _pick_from_hash(hashes[i * HASH_BYTES : (i + 1) * HASH_BYTES], begin, number, row)
        for i, row in enumerate(row[0] for row in struct.iter_unpack(">I", numbers))
    ]


def _pick_from_hash(digest: bytes, begin: int, shard: int, row: int) -> _Pick:
    return _Pick((int.from_bytes(digest, "big") - begin) % _CIRCLE, shard, row, digest)


def _first_position_after(store: Store, path: str, rows: int, begin: int) -> int:
    """The position of the first hash that is not before the beginning of the draw; `rows` if all are before it."""
    low, high = 0, rows
    while high - low > 1024:
        middle = (low + high) // 2
        at = store.read_range(path, middle * HASH_BYTES, (middle + 1) * HASH_BYTES)
        low, high = (middle, high) if int.from_bytes(at, "big") < begin else (low, middle)
    data = store.read_range(path, low * HASH_BYTES, high * HASH_BYTES)
    hashes = load_hashes(data)
    before = sum((int(top) << 64 | int(bottom)) < begin for top, bottom in hashes.tolist())
    return low + before


def _picks_by_scan(store: Store, shard: ReadShard, number: int, begin: int) -> Iterator[_Pick]:
    """All rows of a shard, by their ids."""
    for held in read_shard_lines(shard.file(store), verified=True):
        for row, line in zip(held.numbers, decode_rows(held), strict=True):
            yield _pick_from_hash(hash_pair(pair_of_row(line, held.path, row)), begin, number, row)
