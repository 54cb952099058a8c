"""FingerprintPart: reads a part of fingerprints: ids, spans, the hashes of one bucket, signatures.

ledger, rows = read_ledger(store, place(FINGERPRINTS.at(dedupe=..., source=...), snapshot))
part = FingerprintPart(store, rows[0], partition.table)
high, low, ordinals = part.bucket(3)
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.asset_kinds import FINGERPRINTS
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.files import find_head_and_table, list_ledgers
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.shard_file import split_rows, unpacked_whole
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, file_of_part, read_part_file
from gristmill.stages.fingerprints.bucket_sort import bucket_numbers
from gristmill.stages.fingerprints.spans import SpanTable

_WHOLE_TEXT = {"unit": "document", "key": "text", "normalised": ""}
"""The parameters of fingerprints that hash whole texts as they are."""
_DIGEST = 16
HASH_BYTES = 20
"""Bytes of a hash in a block: its two halves, and its ordinal."""


class BucketHashes(NamedTuple):
    """The hashes of one bucket of a shard, in the order of the shard.

    Attributes:
        high: their upper 64 bits (n).
        low: their lower 64 bits (n).
        ordinals: the number of each hash in the shard, ascending (n).
    """

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    ordinals: NDArray[np.uint32]


class FingerprintPart:
    """Reads the fingerprints of one shard. Everything that is read is compared with a recorded digest.

    Args:
        store: the lake.
        row: the part's row of the table.
        table: path of the table, for messages.
    """

    def __init__(self, store: Store, row: Shard, table: str) -> None:
        self._store, self.row, self._table = store, row, table

    @property
    def hash_count(self) -> int:
        """The number of hashes. No file is read for it.

        Raises:
            DataError: the part's row does not say it.
        """
        count = BinaryPartRecord.decode_from_row(self.row, self._table).count("hashes")
        if count is None:
            raise DataError(f"{self._table}: part {self.row.name}: no number of hashes; make this partition again")
        return count

    def ids(self) -> list[Pair]:
        """The (source, id) pair of each document."""
        return [tuple(orjson.loads(line)) for line in split_rows(self._read_id_bytes())]

    def _read_id_bytes(self) -> bytes:
        path, _ = file_of_part(self.row, self._table, "ids.gz")
        return unpacked_whole(self._read_part_file("ids.gz"), path)

    def spans(self) -> SpanTable:
        """The spans of all documents."""
        return SpanTable.decode(self._read_part_file("spans"), f"{self._table}: part {self.row.name}")

    def read_signatures(self) -> NDArray[np.uint32]:
        """The MinHash signature of each document (documents, values); that of one without words is 0 throughout."""
        values = np.frombuffer(self._read_part_file("signatures"), "<u4")
        rows = self.row.rows
        if rows < 0 or (len(values) % rows if rows else len(values)):
            raise self._damaged_file_error("signatures")
        return values.reshape(rows, -1 if rows else 0)

    @cached_property
    def bucket_offsets(self) -> NDArray[np.uint64]:
        """The number of the first hash of each bucket in the file `hashes`, and the number of all (buckets + 1)."""
        return self._bucket_index[0]

    @cached_property
    def _bucket_index(self) -> tuple[NDArray[np.uint64], bytes]:
        data = self._read_part_file("buckets")
        buckets, rest = divmod(len(data) - 8, 8 + _DIGEST)
        if rest:
            raise self._damaged_file_error("buckets")
        return np.frombuffer(data, "<u8", buckets + 1), data[8 * (buckets + 1) :]

    def bucket(self, number: int) -> BucketHashes:
        """The hashes of one bucket, by one range read.

        Raises:
            DataError: the bytes are not those that were written.
        """
        offsets, digests = self._bucket_index
        first, last = int(offsets[number]), int(offsets[number + 1])
        path, _ = file_of_part(self.row, self._table, "hashes")
        data = self._store.read_range(path, first * HASH_BYTES, last * HASH_BYTES) if last > first else b""
        if xxhash.xxh3_128_digest(data) != digests[number * _DIGEST : (number + 1) * _DIGEST]:
            raise DataError(
                f"{path}: the hashes of bucket {number} are not those that were written; make this partition again:"
                f" {self._table}"
            )
        count = last - first
        high, low = np.frombuffer(data, "<u8", 2 * count).reshape(2, count)
        return BucketHashes(high, low, np.frombuffer(data, "<u4", count, 16 * count))

    def with_text(self, digest: str) -> list[Pair]:
        """The documents of a text.

        Args:
            digest: XXH3-128 (hex) of the text. The part must have whole texts.
        """
        high, low = np.uint64(int(digest[:16], 16)), np.uint64(int(digest[16:], 16))
        bucket = self.bucket(int(bucket_numbers(np.array([high], np.uint64), len(self.bucket_offsets) - 1)[0]))
        hits = bucket.ordinals[(bucket.high == high) & (bucket.low == low)]
        if not len(hits):
            return []
        ids, spans = self.ids(), self.spans()
        return [ids[spans.span_of_hash(int(hit), self.row.name)[0]] for hit in hits]

    def _read_part_file(self, name: str) -> bytes:
        return read_part_file(self._store, self.row, self._table, name)

    def _damaged_file_error(self, name: str) -> DataError:
        return DataError(f"{self._table}: part {self.row.name}: file {name!r} is broken; make this partition again")


def parts_of_whole_texts(store: Store) -> dict[tuple[str, str, str], FingerprintPart]:
    """The fingerprints of whole texts, by (asset, shard, content) of the documents.

    Args:
        store: the lake.

    Raises:
        DataError: a ledger is damaged.
        StoreError: the lake does not answer.
    """
    parts: dict[tuple[str, str, str], FingerprintPart] = {}
    for there in list_ledgers(store, FINGERPRINTS.top_folder):
        found = find_head_and_table(store, there) if there.kind is FINGERPRINTS else None
        if found and all(found[0].recipe.parameters.get(name) == value for name, value in _WHOLE_TEXT.items()):
            for row in found[1]:
                part = FingerprintPart(store, row, there.table)
                parts.update(((read.asset, read.shard, read.content), part) for read in row.inputs)
    return parts
