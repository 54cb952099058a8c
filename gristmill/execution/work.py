"""The work that travels to workers: jobs, items and their outcomes, as JSON."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import msgspec

from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.store.open import Lake


class Job(msgspec.Struct, frozen=True):
    """What all shards of a run share.

    Attributes:
        stage: the package below gristmill.stages; its module `grinder` has `grinder(job)`, which gives a Grinder.
        lake: the lake.
        shelves: packages whose shelves hold the recipes.
        spec: what this stage needs to know, as JSON.
    """

    stage: str
    lake: Lake
    shelves: tuple[str, ...]
    spec: msgspec.Raw


class Item(msgspec.Struct, frozen=True):
    """One shard's work: its name, its weight in bytes (for progress and order), and what the stage needs as JSON."""

    name: str
    weight: int
    body: msgspec.Raw


class Ground(msgspec.Struct, frozen=True):
    """One receipt and the asset it belongs to (a tagging run makes several sets at once)."""

    asset: str
    receipt: Receipt


class Failed(msgspec.Struct, frozen=True):
    """Why something was not made.

    Attributes:
        error: kind of the error: a class of gristmill.errors, or `crash`.
        message: of the error.
        asset: which asset failed; empty: all that the item makes.
        name: of the item.
        met: whether another run wrote the same object meanwhile.
    """

    error: str
    message: str
    asset: str = ""
    name: str = ""
    met: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """What a grinder made of an item.

    Attributes:
        ground: what was made.
        facts: counters for the run's metadata that say nothing about the result (tokenized, copied).
        failed: the assets that failed while others were made.
    """

    ground: tuple[Ground, ...]
    facts: dict[str, int] = {}
    failed: tuple[Failed, ...] = ()


class Done(msgspec.Struct, frozen=True):
    """What became of one item: name and weight as given, the outcome, and CPU seconds."""

    name: str
    weight: int
    outcome: Outcome
    cpu: float = 0.0


class Grinder(Protocol):
    """Grinds items of one job; made once a worker, so that it may hold models and connections."""

    def __call__(self, item: Item) -> Outcome: ...


class Engine(Protocol):
    """Where items are ground. The order of results is the engine's; a failing item must not stop the others."""

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]: ...


def raw(value: Any) -> msgspec.Raw:
    """A struct as raw JSON, to be carried inside another."""
    return msgspec.Raw(msgspec.json.encode(value))


Say = Callable[[str], None]
"""Takes a line of progress."""
