"""Each step with each input damaged in each way: nothing is published, and the error names the object and the row.

The steps, their grinders and what they read are found by walking the code and by looking on (`steplake`). What a step
need not see stands in NEED_NOT; what it should see and does not yet, in GAPS. Both are strict: a cell that is listed
and seen all the same fails, so that the line goes.
"""

import re
from collections.abc import Iterator, Mapping

import pytest
from inputdamages import DAMAGES, NOT_SEEN, verdict
from steplake import StepLake, stages, step_classes
from stepmishaps import (
    lost_before_assembling,
    lost_before_grinding,
    lost_before_publishing,
    lost_while_reading,
    newer_ledger,
    other_worker,
)

from gristmill.execution.step import Step

NO_LEDGER = {
    "dolma_mixing": "its command reads and writes plain folders, which have no ledgers and no claims",
    "dolma_tagging": "its command reads and writes plain folders, which have no ledgers and no claims",
}
"""Stages with a grinder, but without a step."""

PACKAGED = "packaged"
"""The stage of kinds that packages add. A process reads its kinds as it starts: see test_kind.py of that stage."""

_NUMBERS = r"dedupe/.* (positions|[0-9]+|[0-9]+\.index|clusters|spans|2025 signatures)"
NEED_NOT: Mapping[str, str] = {
    "ConversionStep: other bytes: sources/[a-z]+/raw/[0-9]+|"
    "AdoptionStep: other bytes: own .*|"
    "AdoptionStep: (?!made anew).*: own .*/documents all|"
    "ExportStep: (other bytes|made anew meanwhile): media|"
    "MixingStep: (other bytes|made anew meanwhile): withdrawn/blocklists": (
        "no ledger names raw data, media and the record of a blocklist's entries before they are read"
    ),
    "[A-Za-z]+Step: .*: sources/theirs/v0/documents json": "where the files are; the sha256 of each file is compared",
    "[A-Za-z]+Step: another recipe in the ledger: (sources|mixes)/.*": "whatever made the rows, they count",
    f"(?!ClustersStep.*/clusters r00001 [0-9])[A-Za-z]+Step: two rows swapped: {_NUMBERS}": (
        "nothing else has these numbers: only `verify` makes them again"
    ),
    "(?!MarksStep.*/verdicts )[A-Za-z]+Step: another count in the ledger: "
    "dedupe/[a-z0-9-]+/(fingerprints|runs|verdicts|clusters)[/ ].*": (
        "of these parts, `rows` is for people: their files say themselves how many rows they have"
    ),
    "(Runs|DedupeLabels)Step: other ids in the ledger: dedupe/[a-z0-9-]+/fingerprints/.*": (
        "the ids themselves are compared, or none are read"
    ),
    "DedupeLabelsStep: made anew meanwhile: dedupe/[a-z0-9-]+/resolution|"
    "NearMarksStep: made anew meanwhile: dedupe/.* [0-9]+.index": "only the plan reads it",
}
"""Cells, written as `step: damage: input` or `step: damage: input for asset`, that need not be seen, and why."""

GAPS: Mapping[str, str] = {}
"""Cells that are not seen yet, and the guard that is missing."""

FOUND_ON_A_SHELF = ("ConversionStep", "DedupeLabelsStep", "TaggingStep")
"""The steps whose workers find a recipe on their own shelf. To all others, the plan brings all of it."""

MISHAPS = {
    "claim lost before grinding": lost_before_grinding,
    "claim lost before assembling": lost_before_assembling,
    "claim lost before publishing": lost_before_publishing,
    "a newer ledger": newer_ledger,
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StepLake]:
    with pytest.MonkeyPatch.context() as patch:
        yield StepLake(tmp_path_factory.mktemp("damaged"), patch)


def _check(lake: StepLake, step: Step, name: str) -> None:
    """Plants a damage in each input of a step, one after the other."""
    wrong: list[str] = []
    damage, ledgers = DAMAGES[name], set[str]()
    for read in lake.reads(step):
        if damage.in_ledger and read.where is not None:
            if read.where.ledger in ledgers:
                continue
            ledgers.add(read.where.ledger)
        told = verdict(lake, step, read, damage)
        cell = f"{type(step).__name__}: {name}: {read.role}"
        made = f"{cell} for {step.makes[0]}"
        listed = any(re.fullmatch(pattern, each) for pattern in (*NEED_NOT, *GAPS) for each in (cell, made))
        if told == NOT_SEEN and listed:
            continue
        if told or (told == "" and listed):
            wrong.append(f"{cell}: {told or 'it is seen: take its line out of the table'}")
    assert wrong == [], wrong


def test_each_step_and_each_grinder_is_in_the_lake(lake: StepLake) -> None:
    assert sorted({name for name, _ in lake.steps}) == step_classes()
    assert sorted({step.stage for step in lake.steps.values()} | NO_LEDGER.keys() | {PACKAGED}) == stages()


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("step", step_classes())
def test_a_damaged_input_is_seen(lake: StepLake, step: str, damage: str) -> None:
    _check(lake, lake.steps_of(step)[0], damage)


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("step", step_classes())
def test_a_damaged_input_is_seen_by_all_steps_of_a_class(lake: StepLake, step: str, damage: str) -> None:
    for each in lake.steps_of(step)[1:]:
        _check(lake, each, damage)


@pytest.mark.parametrize("step", step_classes())
def test_a_claim_that_is_lost_while_an_input_is_read_stops_the_run(lake: StepLake, step: str) -> None:
    first = lake.steps_of(step)[0]
    found = {read.role: lost_while_reading(lake, first, read) for read in lake.reads(first)}
    assert {role: told for role, told in found.items() if told} == {}


@pytest.mark.parametrize("mishap", MISHAPS)
@pytest.mark.parametrize("step", step_classes())
def test_a_run_stops_before_it_writes(lake: StepLake, step: str, mishap: str) -> None:
    assert MISHAPS[mishap](lake, lake.steps_of(step)[0]) == ""


@pytest.mark.parametrize("step", FOUND_ON_A_SHELF)
def test_a_worker_with_another_recipe_than_the_run_makes_nothing(lake: StepLake, step: str) -> None:
    assert other_worker(lake, lake.steps_of(step)[0]) == ""
