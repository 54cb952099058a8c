"""A shard of documents while it is written: its rows, the digest of its ids, and its id index."""

import hashlib
from collections.abc import Mapping, Sequence

from gristmill.lake.address import Place
from gristmill.lake.identity import IdDigest, Pair
from gristmill.lake.ledger.model import Input, Quarantine, Shard
from gristmill.lake.ledger.receipts import Stamp
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.protocol import Store


class DocumentsWriter:
    """Writes rows with their (source, id) pairs; nothing is visible before close()."""

    def __init__(self, store: Store, place: Place, name: str) -> None:
        self._place, self._name = place, name
        self._writer = ShardWriter(store, place.shard(name))
        self._index = store.upload(place.index(name))
        self._ids = IdDigest()

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self._ids.rows

    def write(self, rows: bytes, pairs: Sequence[Pair]) -> None:
        """Adds whole lines and, in the same order, whose they are."""
        self._writer.write(rows)
        self._ids.update(pairs)

    def close(
        self,
        recipe: str,
        inputs: tuple[Input, ...],
        *,
        dropped: Mapping[str, int],
        counts: Mapping[str, int],
        quarantine: Quarantine | None = None,
        spots: bytes = b"",
    ) -> tuple[Shard, dict[str, Stamp]]:
        """Publishes the id index (v0's with raw spots), then the shard: its row of the table, and stamps of both."""
        index = self._ids.index() + spots
        self._index.write(index)
        entry = self._index.close()
        written = self._writer.close()
        row = Shard.of(
            self._name,
            written,
            ids=self._ids.hexdigest(),
            recipe=recipe,
            inputs=inputs,
            index=hashlib.sha256(index).hexdigest(),
            dropped=dropped,
            counts=counts,
            quarantine=quarantine,
        )
        path = self._place.shard(self._name)
        return row, {entry.path: (entry.size, entry.etag), path: (written.bytes, written.etag)}

    def abort(self) -> None:
        """Leaves nothing behind."""
        self._index.abort()
        self._writer.abort()
