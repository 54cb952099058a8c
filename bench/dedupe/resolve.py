"""Steps of dedupe, in a process of their own: `python -m bench.dedupe.resolve LAKE OPTIONS runs:a verdicts:1 ...`.

Options, as JSON: buckets, memory and scope of the recipe; workers; rounds (lists of snapshots). A line of JSON at the
end says for each step what it cost, wrote and spilled, and the most memory of this process and its workers together.
"""

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from bench.harness.cost import measured
from bench.harness.place import SOURCE
from gristmill.engines.local import LocalPool
from gristmill.execution.runner import Inline
from gristmill.execution.step import Step, assemble_one, grind, plan, publish_one
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.open import Lake
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import ParagraphUnits
from gristmill.stages.dedupe.marks.step import MarksStep
from gristmill.stages.dedupe.runs.step import RunsStep
from gristmill.stages.dedupe.verdicts.step import VerdictsStep
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.fingerprints.step import FingerprintStep

SHELVES = ("gristmill",)
_EVERY = 0.1
"""Seconds between two looks at the memory."""


def recipe_of(options: Mapping[str, Any]) -> Dedupe:
    """The recipe that options describe."""
    given = {name: options[name] for name in ("buckets", "memory", "scope") if name in options}
    return Dedupe(name="bench-1", unit=ParagraphUnits(), sources=(f"{SOURCE}/v0",), **given)


def step_of(words: str, recipe: Dedupe, order: Order) -> Step:
    """The step that a word names: `prints:<snapshot>`, `runs:<snapshot>`, `verdicts:<round>` or `marks:<snapshot>`."""
    verb, key = words.split(":")
    match verb:
        case "prints":
            return FingerprintStep(recipe, SOURCE, key, SHELVES)
        case "runs":
            return RunsStep(recipe, SOURCE, key, SHELVES)
        case "verdicts":
            return VerdictsStep(recipe, order, int(key), SHELVES)
        case "marks":
            return MarksStep(recipe, order, SOURCE, key, SHELVES)
    raise SystemExit(f"no step {words!r}")


def main() -> None:
    """Runs the steps that the command line names, in order."""
    where, given, *steps = sys.argv[1:]
    options = json.loads(given)
    lake, recipe, order = Lake(where), recipe_of(options), Order()
    for keys in options.get("rounds", ()):
        order = order.with_round([(SOURCE, key, False) for key in keys])
    workers, said = options.get("workers", 0), []
    with closing(LocalPool(workers)) if workers else nullcontext(Inline()) as engine:
        for words in steps:
            step = step_of(words, recipe, order)
            with measured() as costs, most_memory() as peaks:
                ledger, facts, cpu = make(step, lake, engine)
            own = costs[0].cpu_s + (cpu if workers else 0)
            cost = {"cpu_s": round(own, 3), "wall_s": round(costs[0].wall_s, 3)}
            said.append({"step": words, **cost, "peak": peaks[0], **ledger.totals, **facts})
    print(json.dumps(said))


def make(step: Step, lake: Lake, engine: Any) -> tuple[Ledger, dict[str, int], float]:
    """Makes a step: its ledger, the counters of its run, and the CPU seconds of the grinders."""
    planned = plan(step, lake, f"bench-{time.time_ns():x}")
    tally = grind(planned, engine, lambda _: None)
    if tally.failed:
        raise SystemExit(tally.failed[0].message)
    (asset,) = step.makes
    return publish_one(planned, asset, assemble_one(step, planned, asset, {})), tally.facts, tally.cpu


@contextmanager
def most_memory() -> Iterator[list[int]]:
    """Adds the most bytes that this process and its children held together to the list it gives.

    What processes share is counted once (Pss).
    """
    found, done = [0], threading.Event()

    def look() -> None:
        while not done.wait(_EVERY):
            found[0] = max(found[0], sum(map(_held, _tree())))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def _tree() -> list[int]:
    """The ids of this process and all that it started."""
    found, open_ = [], ["self"]
    while open_:
        process = open_.pop()
        with suppress(OSError):
            found.append(process)
            for task in Path(f"/proc/{process}/task").iterdir():
                open_ += (task / "children").read_text().split()
    return [int(each) if each != "self" else 0 for each in found]


def _held(process: int) -> int:
    """The bytes of a process, by the kernel's count; 0 if it has ended. 0 is this process."""
    with suppress(OSError):
        for line in Path(f"/proc/{process or 'self'}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
