"""The writer of a shard of documents: it writes the rows and the id index, and computes the digest of the ids."""

import hashlib
from collections.abc import Mapping, Sequence

from gristmill.lake.address import Place
from gristmill.lake.identity import IdDigest, Pair
from gristmill.lake.ledger.model import Input, Quarantine, Shard
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.protocol import ObjectVersion, Store


class DocumentWriter:
    """Writes rows with their (source, id) pairs. Nothing is visible in the lake before close().

    Args:
        store: the lake.
        place: the partition.
        name: of the shard.
    """

    def __init__(self, store: Store, place: Place, name: str) -> None:
        self._place, self._name = place, name
        self._writer = ShardWriter(store, place.shard(name))
        self._index = store.upload(place.index(name))
        self._ids = IdDigest()

    @property
    def rows(self) -> int:
        """Number of rows written so far."""
        return self._ids.rows

    def write(self, rows: bytes, pairs: Sequence[Pair]) -> None:
        """Appends rows.

        Args:
            rows: whole JSON lines.
            pairs: the (source, id) pair of each line, in the same order.
        """
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
        raw_spans: bytes = b"",
    ) -> tuple[Shard, dict[str, ObjectVersion]]:
        """Publishes the id index, then the shard.

        Args:
            recipe: digest of the recipe that made the rows.
            inputs: what the shard was made from.
            dropped: number of dropped rows, for each reason.
            counts: further counters of the shard.
            quarantine: what is known of the shard's quarantine file, if it has one.
            raw_spans: packed raw spans, which follow the index of a v0 shard.

        Returns:
            The shard's row of the ledger's table, and the stamp of each of the two objects, by path.
        """
        index = self._ids.index() + raw_spans
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
        return row, {entry.path: entry.version, path: written.version}

    def abort(self) -> None:
        """Ends both uploads without leaving an object."""
        self._index.abort()
        self._writer.abort()
