"""Runs, verdicts and marks that die anywhere leave the same bytes when they are made again."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from dying import deaths
from hashlake import SHELVES, HashLake, recipe_of
from testkit import Mill

from gristmill.execution.step import Step
from gristmill.stages.dedupe.marks.step import MarksStep
from gristmill.stages.dedupe.runs.step import RunsStep
from gristmill.stages.dedupe.verdicts.step import VerdictsStep
from gristmill.stages.fingerprints.order import Order

RECIPE = recipe_of(buckets=20)  # two buckets are made together
ORDER = Order().with_round([("news", "a", False)])


def steps() -> Iterator[Step]:
    yield RunsStep(RECIPE, "news", "a", SHELVES)
    yield VerdictsStep(RECIPE, ORDER, 1, SHELVES)
    yield MarksStep(RECIPE, ORDER, "news", "a", SHELVES)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2], ids=["runs", "verdicts", "marks"])
def test_a_step_that_dies_anywhere_leaves_the_same_bytes_when_it_is_run_again(tmp_path: Path, number: int) -> None:
    made, root = tmp_path / "made", tmp_path / "lake"
    hashes = [((each % 40) << 58, each % 3) for each in range(80)]
    lake = HashLake(made, RECIPE)
    lake.give("news", "a", {name: hashes[start:] for start, name in enumerate("abcdefgh")})
    *before, step = list(steps())[: number + 1]
    for each in before:
        lake.mill.make(each)

    def again() -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(made, root)

    def work() -> None:
        Mill(root).make(step)

    again()
    work()
    whole, died = Mill(root).tree(), 0
    for _ in deaths(root, work, again, every=23):
        died += 1
        work()
        assert Mill(root).tree() == whole
    assert died > 2
