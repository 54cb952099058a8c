"""The output of a shard of an attribute set: rows that belong to documents, line by line."""

from collections.abc import Callable

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.write_shards import ShardOutput
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.protocol import Store


class AttributeOutput(ShardOutput):
    """A shard of an attribute set that is being written.

    Args:
        store: the lake.
        spec: the settings of the partition.
        name: name of the shard.
        inputs: the inputs that it is made from.
        ids: function that gives the digest of the rows' ids, once all rows are written.

    Attributes:
        path: path of the shard.
    """

    def __init__(
        self, store: Store, spec: OneAssetSpec, name: str, inputs: tuple[Input, ...], ids: Callable[[], str]
    ) -> None:
        super().__init__(spec, name, inputs)
        self.path, self._ids = spec.place.shard(name), ids
        self._writer = ShardWriter(store, self.path)

    def write(self, rows: bytes) -> None:
        """Appends whole JSON lines."""
        self._writer.write(rows)

    def close(self) -> Receipt:
        written = self._writer.close()
        return self.build_receipt(Shard.from_written(self.name, written, ids=self._ids()), {self.path: written.version})

    def abort(self) -> None:
        self._writer.abort()
