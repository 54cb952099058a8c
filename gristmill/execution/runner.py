"""Grinding: one function is applied to each shard of a step, on any engine.

A Job holds what all shards share; an Item holds one shard. Both are JSON, so they can travel to workers on this or
another machine. The job names the stage's module that grinds. Workers import that module, and nothing of Dagster.
"""

import importlib
import re
import resource
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gristmill.errors import (
    Conflict,
    DataError,
    GristmillError,
    RecipeError,
    StoreError,
    Superseded,
    TooManyRefused,
    added_reasons,
    escape_surrogates,
    is_failure,
    raise_named,
)
from gristmill.execution.claim import error_or_superseded
from gristmill.execution.work import Done, Engine, Failed, Grinder, Item, Job, Outcome, ProgressLine, Say
from gristmill.lake.address import Place
from gristmill.lake.ledger.counts import add_counts
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.store.protocol import Store
from gristmill.shipped import SHIPPED

_MEETINGS = 3
"""How often an item is ground again because another run wrote its object at the same time.

Usually that was the last write of a run that had just been superseded. If this run is the superseded one, the grinder
raises Superseded when it is called again.
"""

_ERRORS: dict[str, type[GristmillError]] = {
    "DataError": DataError,
    "RecipeError": RecipeError,
    "StoreError": StoreError,
    "Superseded": Superseded,
}


def open_grinder(job: Job) -> Grinder:
    """Imports the stage's module, and opens the function that grinds this job's items in this process.

    Returns:
        The function that grinds one item.
    """
    module = importlib.import_module(SHIPPED["grinders"].get(job.stage, f"gristmill.stages.{job.stage}.grinder"))
    return module.grinder(job)  # type: ignore[no-any-return]


class LazyGrinder:
    """Opens the job's grinder at the first item, so that a failure to open it is reported as a failure of that item."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._grind: Grinder | None = None

    def __call__(self, item: Item) -> Outcome:
        if self._grind is None:
            self._grind = open_grinder(self._job)
        return self._grind(item)


def grind_one_item(grind: Grinder, item: Item) -> Done:
    """Grinds one item. An exception is not raised: it becomes part of the result, under the item's name.

    Returns:
        The item's outcome, its size in bytes and its CPU time in seconds.
    """
    start = time.process_time()
    outcome = _grind_item(grind, item)
    for _ in range(_MEETINGS):
        if not any(failed.met for failed in outcome.failed):
            break
        outcome = _grind_item(grind, item)
    return Done(item.name, item.weight, outcome, time.process_time() - start)


def _grind_item(grind: Grinder, item: Item) -> Outcome:
    try:
        return grind(item)
    except BaseException as error:  # also a bug in a recipe: the other shards must still be ground
        if not is_failure(error):
            raise
        return Outcome((), failed=(failure_of_error(error, item.name),))


def failure_of_error(error: BaseException, name: str, asset: str = "") -> Failed:
    """Converts an exception into a failure that can be sent as JSON.

    Args:
        error: the exception.
        name: name of the item.
        asset: the asset that failed; empty: all assets of the item.

    Returns:
        The failure, with the exception's class and message.
    """
    if isinstance(error, GristmillError):
        kind = next((name for name, cls in reversed(_ERRORS.items()) if isinstance(error, cls)), "DataError")
        refused = error.reasons if isinstance(error, TooManyRefused) else ()
        return Failed(kind, escape_surrogates(str(error)), asset, name, isinstance(error, Conflict), refused)
    if isinstance(error, MemoryError):
        words = f"shard {name}: out of memory; use fewer workers, or smaller shards"
        return Failed("StoreError", words, asset, name)
    shown = escape_surrogates("".join(traceback.format_exception(error)))
    return Failed("crash", f"shard {name}:\n{shown}", asset, name)


class Inline:
    """The engine that grinds in this process, one item after another."""

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        grind = LazyGrinder(job)
        for item in items:
            yield grind_one_item(grind, item)

    def close(self) -> None:
        """Does nothing: this engine holds no processes or connections."""


class GrindResult(msgspec.Struct):
    """The result of grinding all items.

    Attributes:
        ground: receipts by asset, then by shard.
        failed: the failures.
        facts: counters of all outcomes, summed.
        cpu: CPU seconds of all workers.
        seconds: wall time in seconds.
        peak: peak memory of this process in bytes.
        found: number of matches by asset: the sums of all outcomes.
    """

    ground: dict[str, dict[str, Receipt]]
    failed: list[Failed]
    facts: dict[str, int]
    cpu: float = 0.0
    seconds: float = 0.0
    peak: int = 0
    found: dict[str, int] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """The assets whose search has found nothing in any row that was ground, as lines for people."""
        rows = {
            asset: sum(receipt.row.rows for receipt in self.ground.get(asset, {}).values())
            for asset, found in sorted(self.found.items())
            if not found
        }
        return tuple(
            f"{asset}: nothing was found in the {count:,} rows of this run; {LOOK}"
            for asset, count in rows.items()
            if count
        )

    def effort(self, asset: str, items: Sequence[Item], assets: int) -> dict[str, float]:
        """The costs of the grind for the run note of an asset. Times and bytes read are those of all its assets.

        Args:
            asset: one of the assets that were ground.
            items: all items.
            assets: number of assets.
        """
        rows = [receipt.row for receipt in self.ground.get(asset, {}).values()]
        return {
            "cpu seconds": round(self.cpu, 3),
            "wall seconds": round(self.seconds, 3),
            "assets": assets,
            "bytes read": sum(item.weight for item in items),
            "bytes written": sum(row.bytes for row in rows),
            "length written": sum(row.length for row in rows),
            **self.facts,
        }


LOOK = "look whether the recipe compares what you mean: the sources, the unit and the sets"
"""What to do about a search that has found nothing."""

_SHOWN = 5
"""Number of failures whose messages are shown; the others are counted."""

_ALIKE = 3
"""Number of shards that end a grind if they are its first, and all fail in the same way: the others would too.

The same holds for one of several sets that are made together: the others go on.
"""

_OF_ONE_SHARD = re.compile(
    r"""; the first: .*|\b(?:ids?|document|to) (?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\S*/\S*|0x[0-9a-f]+|[0-9]+""",
    re.DOTALL,
)
"""What differs in failures of the same cause: refused rows, ids of documents, paths, numbers such as those of rows."""

_EVERY = 2.0
"""Seconds between two lines of progress, at least."""


def grind_all_items(engine: Engine, job: Job, items: Sequence[Item], say: Say) -> GrindResult:
    """Grinds all items, the heaviest first, and reports progress about every two seconds.

    Failures are collected, not raised: the other shards are still ground, and their receipts stay. They are not if
    another run has taken over, or if the first shards that end have the same failure. If only one of several sets fails
    so, it is left out of the shards that are not sent yet.

    Args:
        engine: engine that grinds the items.
        job: job of all items.
        items: the work.
        say: function that takes lines of progress, and the notes of items.

    Returns:
        The outcomes, the failures and the totals.
    """
    started = last = time.monotonic()
    tally = GrindResult(ground={}, failed=[], facts={})
    total = sum(item.weight for item in items) or 1
    weight = 0
    kinds: set[frozenset[tuple[str, str, str]]] = set()
    ordered = sorted(items, key=lambda item: (-item.weight, item.name))
    failing = _FailingSets()
    results = _results(engine, job, failing.items_without_failed_sets(ordered)) if ordered else ()
    for done, result in enumerate(results, start=1):
        weight += result.weight
        _count_result(tally, result)
        failing.look(result.outcome)
        for note in result.outcome.notes:
            say(note)
        now = time.monotonic()
        if now - last >= _EVERY or done == len(items):
            last = now
            left = (now - started) * (total - weight) / max(weight, 1)
            rate = weight / max(now - started, 1e-6) / 1e6
            failed = f", {len(tally.failed)} failed" if tally.failed else ""
            say(ProgressLine(f"{done} of {len(items)} shards, {rate:.1f} MB/s, {left:.0f} s left{failed}"))
        if done <= _ALIKE:
            kinds.add(frozenset(map(_failure_cause_key, result.outcome.failed)))
        alike = done == _ALIKE and len(kinds) == 1 and not tally.ground
        if result.outcome.failed and (alike or any(each.error == "Superseded" for each in result.outcome.failed)):
            tally.failed = [msgspec.structs.replace(failure, left=len(items) - done) for failure in tally.failed]
            break
    else:
        tally.failed = [failing.failure_with_shard_count(failure) for failure in tally.failed]
    tally.seconds = time.monotonic() - started
    tally.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return tally


def _results(engine: Engine, job: Job, items: Iterable[Item]) -> Iterator[Done]:
    """The results of an engine.

    Raises:
        StoreError: the engine does not answer any more.
        DataError: an engine of a package raised something else, or gave what is no result.
    """
    try:
        for result in engine.map(job, items):
            if not isinstance(result, Done):
                raise TypeError(f"it gives {type(result).__name__}, and no Done")  # noqa: TRY301 - told like what it raises
            yield result
    except BaseException as error:  # noqa: BLE001 - it is raised again
        raise_named(error, f"the engine {type(engine).__name__}, its map()", engine)


class _FailingSets:
    """Which of the sets that are made together fail in the same way for the first shards that end, and for no other."""

    def __init__(self) -> None:
        self._kinds: dict[str, list[tuple[str, str, str]]] = {}
        self._made: set[str] = set()
        self._given_up: set[str] = set()
        self._left: Counter[str] = Counter()

    def items_without_failed_sets(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, each without the sets that are given up when it is sent."""
        for item in items:
            yield msgspec.structs.replace(item, without=tuple(sorted(self._given_up))) if self._given_up else item

    def look(self, outcome: Outcome) -> None:
        """Learns from the end of a shard."""
        self._made |= {ground.asset for ground in outcome.ground}
        self._left.update(outcome.left)
        for failure in outcome.failed:
            if failure.asset:
                self._kinds.setdefault(failure.asset, []).append(_failure_cause_key(failure))
        for asset, kinds in self._kinds.items():
            if asset not in self._made and len(kinds) == _ALIKE and len(set(kinds)) == 1:
                self._given_up.add(asset)

    def failure_with_shard_count(self, failure: Failed) -> Failed:
        """A failure with the number of shards that its set was left out of."""
        return msgspec.structs.replace(failure, left=self._left[failure.asset]) if failure.asset else failure


def _failure_cause_key(failure: Failed) -> tuple[str, str, str]:
    """What failures of the same cause share: no name of a shard, a file or a document, and no number."""
    message = re.sub(rf"(?<!\w){re.escape(failure.name)}(?!\w)", "", failure.message)
    return failure.error, failure.asset, _OF_ONE_SHARD.sub("", message)


def _count_result(tally: GrindResult, result: Done) -> None:
    tally.cpu += result.cpu
    tally.failed += result.outcome.failed
    for ground in result.outcome.ground:
        tally.ground.setdefault(ground.asset, {})[ground.receipt.row.name] = ground.receipt
    add_counts(tally.facts, result.outcome.facts)
    add_counts(tally.found, result.outcome.found)


def raise_grind_failures(failed: Sequence[Failed], of: int) -> None:
    """Raises the failures of a grind as one error. Without failures it does nothing.

    The kinds are ranked: an error that a retry cannot solve wins over one that it may solve.

    Args:
        failed: the failures.
        of: number of items that were to be ground.

    Raises:
        GristmillError: of the first kind, with the first messages.
    """
    if not failed:
        return
    order = ["Superseded", "RecipeError", "DataError", "crash", "StoreError"]
    ranked = sorted(failed, key=lambda failure: (order.index(failure.error), failure.name))
    shown = list(dict.fromkeys(failure.message for failure in ranked))[:_SHOWN]
    more = f"\n... and {len(failed) - len(shown)} more" if len(failed) > len(shown) else ""
    text = "\n".join(shown) + more
    left = max(failure.left for failure in failed)
    if ranked[0].error == "crash":
        stopped = f"; the other {left} were not ground" if left else ""
        raise DataError(f"{len(failed)} of {of} shards failed in the recipe's own code{stopped}:\n{text}")
    others = f"the other {left} were not ground" if left else "the others are done, and the next run keeps them"
    counted = f"{len(failed)} of {of} shards failed; {others}:\n" if of > 1 and ranked[0].error != "Superseded" else ""
    refused = added_reasons(reason for failure in ranked for reason in failure.refused)
    if refused and ranked[0].error == "DataError":
        raise TooManyRefused(counted + text, refused)
    raise _ERRORS[ranked[0].error](counted + text)


def lost_shard_failures(store: Store, place: Place, token: str, failed: Iterable[Failed]) -> list[Failed]:
    """The failures of shards; those of the store are Superseded if another run has taken the partition over.

    Args:
        store: the lake.
        place: the partition.
        token: the token of the run that has failed.
        failed: the failures of this run, also of shards of other partitions.
    """
    every = list(failed)
    mine = [each for each in every if each.error == "StoreError" and each.asset in {"", place.asset}]
    loss = (
        error_or_superseded(store, place, token, StoreError(mine[0].message)) if mine else None
    )  # one question for all
    if not isinstance(loss, Superseded):
        return every
    named = {"error": "Superseded", "message": str(loss)}
    return [msgspec.structs.replace(each, **named) if each in mine else each for each in every]
