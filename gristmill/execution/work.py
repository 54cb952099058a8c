"""The messages between a run and its workers: jobs, items and their outcomes, as JSON."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import msgspec

from gristmill.errors import RefusedReason
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.store.open import Lake


class Job(msgspec.Struct, frozen=True):
    """What all items of a grind share.

    Attributes:
        stage: a package below gristmill.stages; the function `grinder(job)` of its module `grinder` opens the Grinder.
        lake: the lake.
        shelves: packages whose shelves hold the recipes.
        spec: further settings of the stage, as JSON.
    """

    stage: str
    lake: Lake
    shelves: tuple[str, ...]
    spec: msgspec.Raw


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """The work of one shard.

    Attributes:
        name: name of the shard.
        weight: size of its input in bytes; it decides the order, and is the unit of progress.
        body: input of the stage for the shard, as JSON.
        without: assets that are not made, because they failed for the shards before.
    """

    name: str
    weight: int
    body: msgspec.Raw
    without: tuple[str, ...] = ()


class Ground(msgspec.Struct, frozen=True):
    """A receipt, and the asset it belongs to: one tagging item makes shards of several assets."""

    asset: str
    receipt: Receipt


class Failed(msgspec.Struct, frozen=True):
    """Why a shard was not made.

    Attributes:
        error: name of the error's class in gristmill.errors, or `crash`.
        message: text of the error.
        asset: the asset whose shard failed; empty: all assets of the item.
        name: name of the item.
        met: whether another run wrote the same object at the same time.
        refused: the reasons, if too many rows of raw data were refused.
        left: number of shards that were not ground because of this failure.
    """

    error: str
    message: str
    asset: str = ""
    name: str = ""
    met: bool = False
    refused: tuple[RefusedReason, ...] = ()
    left: int = 0


class Outcome(msgspec.Struct, frozen=True):
    """The result of grinding one item.

    Attributes:
        ground: the receipts of the shards that were made.
        facts: counters for the run's metadata, such as tokenized and copied rows; they do not enter the ledger's table.
        failed: the failures; other assets of the item may have succeeded.
        notes: sentences for the log of the run.
        found: number of rows in which a search has found something, by asset. A run in which it finds nothing warns.
        left: the assets of the item that were not made, because it says so.
    """

    ground: tuple[Ground, ...]
    facts: dict[str, int] = {}
    failed: tuple[Failed, ...] = ()
    notes: tuple[str, ...] = ()
    found: dict[str, int] = {}
    left: tuple[str, ...] = ()


class Done(msgspec.Struct, frozen=True):
    """The answer of a worker to one item.

    Attributes:
        name: name of the item.
        weight: size of the item, in bytes.
        outcome: the result.
        cpu: CPU seconds.
    """

    name: str
    weight: int
    outcome: Outcome
    cpu: float = 0.0


class Grinder(Protocol):
    """Grinds the items of one job. Each worker opens one, which may hold models and connections."""

    def __call__(self, item: Item) -> Outcome: ...


class Engine(Protocol):
    """Where items are ground. It may return results in any order. A failing item must not stop the others."""

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        """Grinds the items of a job. It may be called for another job before all results of this one are read.

        Args:
            job: job of the items.
            items: taken one after another as the results are read, so that memory stays bounded.

        Yields:
            One result for each item. When the caller stops reading, what has not begun is dropped.

        Raises:
            StoreError: the engine does not answer any more.
        """


class OpenEngine(Engine, Protocol):
    """An engine that holds worker processes or a connection. It serves all steps of a run until it is closed."""

    def close(self) -> None:
        """Ends the workers of this machine, or the connection to a cluster."""


def encode_raw(value: Any) -> msgspec.Raw:
    """The JSON of a struct, which another struct can carry as it is."""
    return msgspec.Raw(msgspec.json.encode(value))


Say = Callable[[str], None]
"""A function that takes a line of progress."""


class ProgressLine(str):
    """A line that the next one of its kind replaces on a terminal: how far a grind is."""

    __slots__ = ()
