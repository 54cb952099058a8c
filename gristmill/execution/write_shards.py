"""How a worker writes a shard: nothing of it is visible before it is whole and the claim is found to be still ours."""

from collections.abc import Callable, Sequence
from typing import Protocol

from gristmill.execution.claim import check_claim
from gristmill.execution.work import Ground
from gristmill.lake.address import Place
from gristmill.lake.ledger.receipts import Receipt, leave_receipt
from gristmill.lake.store.protocol import Store


class ShardOutput(Protocol):
    """One shard of one partition while it is written; its uploads are open.

    Attributes:
        place: the partition.
        token: of the run that claims the partition.
    """

    @property
    def place(self) -> Place: ...

    @property
    def token(self) -> str: ...

    def close(self) -> Receipt:
        """Publishes the shard's objects."""

    def abort(self) -> None:
        """Leaves nothing behind of what is not published; harmless after close()."""


def write_shards(store: Store, outputs: Sequence[ShardOutput], write: Callable[[], None]) -> tuple[Ground, ...]:
    """Writes shards that are made together, each of another partition, and records each with a receipt.

    Args:
        store: the lake.
        outputs: the shards. `write` may remove one that failed, when it has aborted that one.
        write: writes all rows to the outputs.

    Raises:
        Superseded: a newer run has claimed a partition; its objects are untouched.
        GristmillError: `write` or a store failed. On every error all uploads are aborted.
    """
    ground: list[Ground] = []
    try:
        write()
        for output in outputs:
            # An upload replaces only what was there when it began. So the claim is checked after the rows are written
            # and before close(): a newer run that comes in between makes close() fail.
            check_claim(store, output.place, output.token)
            ground.append(_record(store, output.place, output.close()))
    except BaseException:
        for output in outputs:
            output.abort()
        raise
    return tuple(ground)


def keep_shard(store: Store, place: Place, token: str, receipt: Receipt) -> Ground:
    """Records a shard that is kept as it is, under a new receipt.

    Raises:
        Superseded: a newer run has claimed the partition.
    """
    check_claim(store, place, token)
    return _record(store, place, receipt)


def _record(store: Store, place: Place, receipt: Receipt) -> Ground:
    leave_receipt(store, place, receipt)
    return Ground(place.asset, receipt)
