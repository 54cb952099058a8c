"""Grinding: one shard after another through one function, on any engine.

A Job is what all shards of a run share, an Item is one of them; both are JSON, so that they travel to workers on
this machine or another. A stage names the module that grinds; workers import it and nothing of the orchestrator.
"""

import importlib
import resource
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gristmill.errors import (
    Conflict,
    DataError,
    GristmillError,
    RecipeError,
    StoreError,
    Superseded,
)
from gristmill.execution.work import Done, Engine, Failed, Grinder, Item, Job, Outcome, Say
from gristmill.lake.ledger.counts import add_counts
from gristmill.lake.ledger.receipts import Receipt

_MEETINGS = 3
"""How often an item is ground again because another run wrote its object meanwhile.

Most often that was the last put of a run that had just been superseded; if it is we who were, the grinder says so.
"""

_ERRORS: dict[str, type[GristmillError]] = {
    "DataError": DataError,
    "RecipeError": RecipeError,
    "StoreError": StoreError,
    "Superseded": Superseded,
}


def open_grinder(job: Job) -> Grinder:
    """The function that grinds this job's items, in this process."""
    module = importlib.import_module(f"gristmill.stages.{job.stage}.grinder")
    return module.grinder(job)  # type: ignore[no-any-return]


class LazyGrinder:
    """Opens the job's grinder at the first item, so that a failure to open is an item's failure."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._grind: Grinder | None = None

    def __call__(self, item: Item) -> Outcome:
        if self._grind is None:
            self._grind = open_grinder(self._job)
        return self._grind(item)


def grind_one(grind: Grinder, item: Item) -> Done:
    """Grinds one item; whatever goes wrong becomes part of the result, under the item's name."""
    start = time.process_time()
    outcome = _ground(grind, item)
    for _ in range(_MEETINGS):
        if not any(failed.met for failed in outcome.failed):
            break
        outcome = _ground(grind, item)
    return Done(item.name, item.weight, outcome, time.process_time() - start)


def _ground(grind: Grinder, item: Item) -> Outcome:
    try:
        return grind(item)
    except Exception as error:  # noqa: BLE001 - also a recipe's own bug: it must not take the other shards along
        return Outcome((), failed=(failure_of(error, item.name),))


def failure_of(error: Exception, name: str, asset: str = "") -> Failed:
    """An exception as a failure that travels."""
    if isinstance(error, GristmillError):
        kind = next((name for name, cls in reversed(_ERRORS.items()) if isinstance(error, cls)), "DataError")
        return Failed(kind, str(error), asset, name, met=isinstance(error, Conflict))
    if isinstance(error, MemoryError):
        words = f"shard {name}: out of memory; use fewer workers, or smaller shards"
        return Failed("StoreError", words, asset, name)
    shown = "".join(traceback.format_exception(error))
    return Failed("crash", f"shard {name}:\n{shown}", asset, name)


class Inline:
    """The engine that grinds in this process, one item after another."""

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        grind = LazyGrinder(job)
        for item in items:
            yield grind_one(grind, item)

    def close(self) -> None:
        """There is nothing to end."""


class Tally(msgspec.Struct):
    """What a grind came to.

    Attributes:
        ground: receipts by asset, then by shard.
        failed: what was not made.
        facts: counters.
        cpu: CPU seconds of all workers.
        seconds: wall time.
        peak: peak memory of this process, bytes.
    """

    ground: dict[str, dict[str, Receipt]]
    failed: list[Failed]
    facts: dict[str, int]
    cpu: float = 0.0
    seconds: float = 0.0
    peak: int = 0


_SHOWN = 5
"""Messages of failures that are shown; the rest are counted."""

_EVERY = 2.0
"""Seconds between two lines of progress."""


def grind_all(engine: Engine, job: Job, items: Sequence[Item], say: Say) -> Tally:
    """Grinds all items, the heaviest first, and says how it goes about every two seconds.

    Failures are collected, not raised: the other shards are ground, and their receipts stay.
    """
    started = last = time.monotonic()
    tally = Tally(ground={}, failed=[], facts={})
    total = sum(item.weight for item in items) or 1
    weight = 0
    ordered = sorted(items, key=lambda item: (-item.weight, item.name))
    for done, result in enumerate(engine.map(job, ordered) if ordered else (), start=1):
        weight += result.weight
        _count(tally, result)
        now = time.monotonic()
        if now - last >= _EVERY or done == len(items):
            last = now
            left = (now - started) * (total - weight) / max(weight, 1)
            rate = weight / max(now - started, 1e-6) / 1e6
            failed = f", {len(tally.failed)} failed" if tally.failed else ""
            say(f"{done} of {len(items)} shards, {rate:.1f} MB/s, {left:.0f} s left{failed}")
    tally.seconds = time.monotonic() - started
    tally.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return tally


def _count(tally: Tally, result: Done) -> None:
    tally.cpu += result.cpu
    tally.failed += result.outcome.failed
    for each in result.outcome.ground:
        tally.ground.setdefault(each.asset, {})[each.receipt.row.name] = each.receipt
    add_counts(tally.facts, result.outcome.facts)


def raise_failures(failed: Sequence[Failed], of: int) -> None:
    """Raises what a grind collected: the most lasting kind of error, with the first messages.

    Raises:
        GristmillError: of the kind that says what to do next.
    """
    if not failed:
        return
    order = ["Superseded", "RecipeError", "DataError", "crash", "StoreError"]
    ranked = sorted(failed, key=lambda each: (order.index(each.error), each.name))
    shown = list(dict.fromkeys(each.message for each in ranked))[:_SHOWN]
    more = f"\n... and {len(failed) - len(shown)} more" if len(failed) > len(shown) else ""
    text = "\n".join(shown) + more
    if ranked[0].error == "crash":
        raise DataError(f"{len(failed)} of {of} shards failed in the recipe's own code:\n{text}")
    counted = f"{len(failed)} of {of} shards failed; the others are done and will be kept:\n" if of > 1 else ""
    raise _ERRORS[ranked[0].error](counted + text)
