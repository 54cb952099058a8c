"""The hashes of shards of fingerprints, read by bucket and checked.

A shard has two files (gristmill.stages.fingerprints): `hashes` has one block for each bucket: high halves, low halves
and ordinals. `buckets` says where each block begins, in hashes, and its XXH3-128.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.json_object import Integer
from gristmill.lake.store.protocol import Store
from gristmill.stages.dedupe.columns import BLOCK, Column, ColumnFile, Spill
from gristmill.stages.dedupe.hash_order import U64, bucket_range
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, file_of_part

HASH_BYTES = 20
"""Bytes of a hash in a block."""
_DIGEST = 16
_MEND = "make the fingerprints of this snapshot again"


class PlacedHashes(NamedTuple):
    """Hashes and their positions: (number of the shard << 32) + ordinal in the shard."""

    hi: U64
    lo: U64
    positions: U64


class HashFile(msgspec.Struct, frozen=True):
    """The hashes of one shard.

    Attributes:
        path: path of the file `hashes`.
        hashes: number of hashes in the file.
        buckets: path of the file `buckets`.
        digest: XXH3-128 (hex) of that file.
    """

    path: str
    hashes: Integer
    buckets: str
    digest: str


class BlockIndex(NamedTuple):
    """Where the blocks of a shard begin, in hashes, and at last where they end; and the XXH3-128 of each block."""

    offsets: NDArray[np.int64]
    digests: bytes

    def digest(self, bucket: int) -> bytes:
        """The digest of a block."""
        return self.digests[_DIGEST * bucket : _DIGEST * (bucket + 1)]


def hash_files(shards: Sequence[Shard], table: str, recipe: str) -> list[HashFile]:
    """The hash files of a snapshot. The number of a shard is its index in this list.

    Args:
        shards: rows of the fingerprints' table.
        table: its path.
        recipe: digest of the recipe that the fingerprints must have.

    Raises:
        DataError: a shard is of another recipe, or its file has another size than its number of hashes gives.
    """
    files: list[HashFile] = []
    for shard in sorted(shards, key=lambda each: each.name):
        if shard.recipe != recipe:
            raise DataError(f"{table}: shard {shard.name} has fingerprints of another recipe; {_MEND}")
        record = BinaryPartRecord.decode_from_row(shard, table)
        (path, _), (index, _) = (file_of_part(shard, table, name) for name in ("hashes", "buckets"))
        count, size = record.count("hashes"), record.objects[path][1]
        if count is None or size != HASH_BYTES * count or count >= 1 << 32:
            raise DataError(f"{path}: {size} bytes are not the {count} hashes that its ledger names; {_MEND}")
        files.append(HashFile(path, count, index, record.contents["buckets"]))
    return files


def read_index(store: Store, file: HashFile, buckets: int) -> BlockIndex:
    """The index of the blocks of a shard.

    Raises:
        DataError: it is not the file that the ledger names, or not one of so many buckets.
    """
    data = store.read(file.buckets)
    if xxhash.xxh3_128_hexdigest(data) != file.digest:
        raise DataError(f"{file.buckets}: other bytes than its ledger names; {_MEND}")
    if len(data) != 8 + buckets * (8 + _DIGEST):
        raise DataError(f"{file.buckets}: {len(data)} bytes are not those of {buckets} buckets; {_MEND}")
    offsets = np.frombuffer(data, "<u8", buckets + 1).astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != file.hashes or (np.diff(offsets) < 0).any():
        raise DataError(f"{file.buckets}: its offsets are not those of {file.hashes} hashes; {_MEND}")
    return BlockIndex(offsets, data[8 * (buckets + 1) :])


class BucketReader:
    """Reads one bucket of all shards of a snapshot.

    Args:
        store: the lake.
        files: the hash files of the shards.
        indexes: indexes of the blocks of the same shards.
        bucket: the bucket.
    """

    def __init__(self, store: Store, files: Sequence[HashFile], indexes: Sequence[BlockIndex], bucket: int) -> None:
        self._store, self._files, self._indexes, self._bucket = store, files, indexes, bucket
        buckets = len(indexes[0].offsets) - 1 if indexes else 1
        self._low, self._high = bucket_range(bucket, buckets)
        self._ends = [(int(index.offsets[bucket]), int(index.offsets[bucket + 1])) for index in indexes]
        self.hashes = sum(end - begin for begin, end in self._ends)

    def read_ordered_hashes(self, most: int, spill: Spill) -> Iterator[PlacedHashes]:
        """All hashes in the order of their positions, in pieces of at most so many. Larger blocks go through files."""
        for number, (begin, end) in enumerate(self._ends):
            if begin == end:
                continue
            path, digest = self._files[number].path, self._indexes[number].digest(self._bucket)
            held, within = (spill if end - begin > most else None), (HASH_BYTES * begin, HASH_BYTES * end)
            block = ColumnFile(self._store, path, digest.hex(), BLOCK, held, within=within)
            last = -1
            for columns in block.blocks(most):
                yield self._check_shard_hashes(number, columns, last)
                last = int(columns[2][-1])

    def read_given_blocks(self, blocks: Sequence[memoryview]) -> Iterator[PlacedHashes]:
        """The same of blocks that were read before, one of each shard."""
        for number, block in enumerate(blocks):
            count = len(block) // HASH_BYTES
            if not count:
                continue
            if xxhash.xxh3_128_digest(block) != self._indexes[number].digest(self._bucket):
                raise DataError(
                    f"{self._files[number].path}: bucket {self._bucket} has other bytes than were written; {_MEND}"
                )
            columns = [np.frombuffer(block, dtype, count, 8 * at * count) for at, dtype in enumerate(BLOCK)]
            yield self._check_shard_hashes(number, columns, -1)

    def _check_shard_hashes(self, number: int, columns: Sequence[Column], last: int) -> PlacedHashes:
        """Checks hashes of a shard that follow one with the ordinal `last`."""
        hi, lo, ordinals = columns
        file = self._files[number]
        where = f"{file.path}: bucket {self._bucket}"
        if int(hi.min()) < self._low or int(hi.max()) >= self._high:
            raise DataError(f"{where} has a hash of another bucket; {_MEND}")
        if int(ordinals[0]) <= last or not (ordinals[1:] > ordinals[:-1]).all():
            raise DataError(f"{where}: its hashes are not in the order of the shard; {_MEND}")
        if int(ordinals[-1]) >= file.hashes:
            raise DataError(f"{where} has hash {int(ordinals[-1])} of a shard of {file.hashes} hashes; {_MEND}")
        return PlacedHashes(hi, lo, ordinals.astype(np.uint64) | np.uint64(number << 32))
