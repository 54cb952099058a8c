"""The output of a shard of an attribute set: rows that belong to documents, line by line."""

from collections.abc import Callable

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.protocol import Store


class AttributeOutput:
    """A shard of an attribute set that is being written. See ShardOutput.

    Args:
        store: the lake.
        spec: the settings of the partition.
        name: name of the shard.
        inputs: the inputs that it is made from.
        ids: gives the digest of the rows' ids, once all rows are written.
        code: digest of the code of the recipe; empty: it has none.

    Attributes:
        path: path of the shard.
        counts: counters of the shard, for its ledger.
    """

    def __init__(
        self,
        store: Store,
        spec: OneAssetSpec,
        name: str,
        inputs: tuple[Input, ...],
        ids: Callable[[], str],
        code: str = "",
    ) -> None:
        self.place, self.token, self.path = spec.place, spec.token, spec.place.shard(name)
        self.counts: dict[str, int] = {}
        self._recipe, self._name, self._inputs, self._ids, self._code = spec.recipe, name, inputs, ids, code
        self._writer = ShardWriter(store, self.path)

    def write(self, rows: bytes) -> None:
        """Appends whole JSON lines."""
        self._writer.write(rows)

    def close(self) -> Receipt:
        written = self._writer.close()
        row = Shard.of(
            self._name, written, ids=self._ids(), recipe=self._recipe, inputs=self._inputs, counts=self.counts
        )
        return Receipt(row, {self.path: written.version}, code=self._code)

    def abort(self) -> None:
        self._writer.abort()
