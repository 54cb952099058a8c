"""The walk of a step: which modules its planning and committing process enters, in which order."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType

from testkit import Mill

from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.execution.work import Done, Item, Job
from gristmill.recipes.code.digest import code_of

MODULES = 12
"""That a step enters at most."""

AGAIN = 2
"""How often the walk comes back to one module at most."""

DOCS = Path(__file__).resolve().parents[3] / "docs" / "internals" / "architecture.md"


class Walk:
    """The modules of gristmill that are called from another module, in order; calls in a row are one visit.

    The nouns of the lake (`gristmill.lake`) are left out: everyone asks them, and they call nobody back. So is what
    the engine does: it happens in other processes.
    """

    def __init__(self) -> None:
        self.visits: list[str] = []
        self.away = False

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG002 - Python's signature
        module = frame.f_globals.get("__name__", "")
        before = frame.f_back.f_globals.get("__name__", "") if frame.f_back else ""
        if self.away or event != "call" or module == before or not module.startswith("gristmill."):
            return
        if not module.startswith("gristmill.lake.") and self.visits[-1:] != [module]:
            self.visits.append(module)


class Elsewhere:
    """An engine that is not looked at."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        self._walk.away = True
        done = list(Inline().map(job, items))
        self._walk.away = False
        yield from done


def walk_of(mill: Mill) -> list[str]:
    """The walk of a tagging step of one set, from nothing to its ledger."""
    walk = Walk()
    step = mill.tagging("words-1")
    code_of(step.taggers[0])  # computed once for a process
    sys.setprofile(walk)
    try:
        made = make(step, mill.lake, Elsewhere(walk), "run", mill.said.append)
    finally:
        sys.setprofile(None)
    assert [ledger.totals["rows"] for ledger in made.values()] == [30]
    return [module.removeprefix("gristmill.") for module in walk.visits]


def test_a_step_enters_few_modules_and_comes_back_to_none_more_than_twice(mill: Mill) -> None:
    mill.raw_shards(3)
    mill.convert()
    visits = walk_of(mill)
    counts = Counter(visits)
    assert len(counts) <= MODULES, visits
    assert {module: n - 1 for module, n in counts.items() if n - 1 > AGAIN} == {}, visits


def test_the_drawing_in_the_documents_is_this_walk(mill: Mill) -> None:
    mill.raw_shards(3)
    mill.convert()
    drawn = [line.split()[1] for line in DOCS.read_text().splitlines() if line[:3].strip().isdigit()]
    assert drawn == walk_of(mill)
