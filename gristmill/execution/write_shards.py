"""Writes shards: a shard becomes visible only if it is complete and the run still holds the claim."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from gristmill.execution.claim import check_claim
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.work import Ground
from gristmill.lake.address import Place
from gristmill.lake.fence import fence_writes
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.ledger.receipts import Receipt, leave_receipt
from gristmill.lake.store.protocol import ObjectVersion, Store


class ShardOutput(ABC):
    """A shard of a partition that is being written, with open uploads.

    Args:
        spec: settings of the partition.
        name: name of the shard.
        inputs: sources of the shard's content.

    Attributes:
        place: the partition.
        token: token of the run that holds the claim.
        dropped: number of rows that were left out, by reason.
        counts: further counters of the shard.
    """

    def __init__(self, spec: OneAssetSpec, name: str, inputs: tuple[Input, ...] = ()) -> None:
        self.place, self.token, self.name, self.inputs = spec.place, spec.token, name, inputs
        self.dropped: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self._recipe, self._code = spec.recipe, spec.code

    def build_receipt(self, row: Shard, stamps: dict[str, ObjectVersion]) -> Receipt:
        """The receipt of the shard, once its objects are published.

        Args:
            row: sizes and digests of the shard. Its other fields are those of this output.
            stamps: version of each object, by its path.
        """
        row = msgspec.structs.replace(
            row,
            name=self.name,
            recipe=self._recipe,
            inputs=self.inputs,
            dropped=dict(sorted(self.dropped.items())),
            counts=dict(sorted(self.counts.items())),
        )
        return Receipt(row, stamps, code=self._code)

    @abstractmethod
    def close(self) -> Receipt:
        """Publishes the shard's objects, and returns its receipt.

        Returns:
            The receipt, as close() describes it.
        """

    @abstractmethod
    def abort(self) -> None:
        """Aborts the open uploads; does nothing after close()."""


def write_shards(store: Store, outputs: Sequence[ShardOutput], write: Callable[[], None]) -> tuple[Ground, ...]:
    """Writes shards of several partitions that are made from the same rows, and leaves a receipt for each.

    Args:
        store: the lake.
        outputs: the shards. `write` may abort and remove one that failed.
        write: function that writes all rows to the outputs.

    Returns:
        The receipt of each shard, with its asset.

    Raises:
        Superseded: a newer run has claimed a partition. Its objects are unchanged.
        GristmillError: `write` or a store failed. After every error, all uploads are aborted.
    """
    ground: list[Ground] = []

    def check() -> None:
        for output in outputs:
            check_claim(store, output.place, output.token)

    try:
        with fence_writes(check):  # some parts publish objects while rows are written, such as tars that are full
            write()
        for output in outputs:
            # An upload replaces only the object that existed when it began, and the claim is checked when it ends. If a
            # newer run writes the object in between, close() fails.
            with fence_writes(partial(check_claim, store, output.place, output.token)):
                ground.append(_record_receipt(store, output.place, output.token, output.close()))
    except BaseException:
        for output in outputs:
            output.abort()
        raise
    return tuple(ground)


def renew_kept_receipt(store: Store, place: Place, token: str, receipt: Receipt) -> Ground:
    """Leaves a new receipt for a shard that is kept unchanged.

    Returns:
        The kept shard, as the outcome of an item.

    Raises:
        Superseded: a newer run has claimed the partition.
    """
    with fence_writes(partial(check_claim, store, place, token)):
        return _record_receipt(store, place, token, receipt)


def _record_receipt(store: Store, place: Place, token: str, receipt: Receipt) -> Ground:
    return Ground(place.asset, leave_receipt(store, place, token, receipt))
