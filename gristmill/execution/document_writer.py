"""The output of a shard of documents: it writes the rows and the id index, and computes the digest of the ids."""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.write_shards import ShardOutput
from gristmill.lake.identity import IdDigest, Pair
from gristmill.lake.ledger.model import Input, Quarantine, Shard
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.protocol import Store


class DocumentWriter(ShardOutput):
    """Writes rows with their (source, id) pairs. Nothing is visible in the lake before close().

    Args:
        store: the lake.
        spec: settings of the partition.
        name: name of the shard.
        inputs: sources of the shard's content.

    Attributes:
        extra: fields that only this kind of asset has, as in Shard.
        quarantine: file of refused rows, as in Shard.
        packed_spans: packed raw spans, which follow the id index of a v0 shard.
    """

    def __init__(self, store: Store, spec: OneAssetSpec, name: str, inputs: tuple[Input, ...] = ()) -> None:
        super().__init__(spec, name, inputs)
        self._writer = ShardWriter(store, spec.place.shard(name))
        self._index = store.upload(spec.place.index(name))
        self._ids = IdDigest()
        self.extra: dict[str, Any] = {}
        self.quarantine: Quarantine | None = None
        self.packed_spans = b""

    @property
    def rows(self) -> int:
        """The number of rows written so far."""
        return self._ids.rows

    def write(self, rows: bytes, pairs: Sequence[Pair]) -> None:
        """Appends rows.

        Args:
            rows: whole JSON lines.
            pairs: the (source, id) pair of each line, in the same order.
        """
        self._writer.write(rows)
        self._ids.update(pairs)

    def close(self) -> Receipt:
        """Publishes the id index, then the shard.

        Returns:
            The receipt of the shard.
        """
        index = self._ids.index() + self.packed_spans
        self._index.write(index)
        entry = self._index.close()
        written = self._writer.close()
        row = msgspec.structs.replace(
            Shard.from_written(self.name, written, ids=self._ids.hexdigest()),
            index=hashlib.sha256(index).hexdigest(),
            quarantine=self.quarantine,
            extra=self.extra,
        )
        return self.build_receipt(row, {entry.path: entry.version, self.place.shard(self.name): written.version})

    def abort(self) -> None:
        """Ends both uploads without leaving an object."""
        self._index.abort()
        self._writer.abort()
