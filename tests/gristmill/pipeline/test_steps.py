"""From raw to tokens: by Dagster's runs and in plain Python. By the daemon alone: tests/live."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import (
    BLEND_LETTERS,
    JOURNEY,
    LETTERS_V0,
    SHELVES,
    TINY_LETTERS,
    Works,
    letters,
)

from gristmill.execution.runner import Inline
from gristmill.execution.step import Step, make
from gristmill.lake.store.open import Lake
from gristmill.pipeline.dry_run import survey_steps
from gristmill.pipeline.steps import cache_steps, mix_steps, source_steps
from gristmill.stages.tokenization.training import make_tokenizer

MADE = (*JOURNEY, BLEND_LETTERS, TINY_LETTERS)


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Works]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Works(tmp_path / "lake", instance)


def steps(works: Works) -> list[Step]:
    """All that a snapshot of the letters goes through; the tokenizer must be there."""
    blend = works.catalogue.mixes["blend"]
    return [
        *source_steps(works.catalogue, works.catalogue.sources["letters"], "2024", SHELVES),
        *mix_steps(blend, "letters", "2024", SHELVES),
        *cache_steps(works.catalogue.tokenizers_of_mix(blend), blend, "letters", "2024", SHELVES),
    ]


@pytest.mark.slow
def test_plain_python_makes_what_dagster_makes(works: Works, tmp_path: Path) -> None:
    works.raw(letters(1, 2, 3), "a")
    works.raw(letters(4, 5, 6), "b")
    works.arrive("letters")
    works.whole()
    with dg.DagsterInstance.ephemeral() as other:
        plain = Works(tmp_path / "plain", other)
        plain.raw(letters(1, 2, 3), "a")
        plain.raw(letters(4, 5, 6), "b")
        lake = Lake(str(plain.root))
        *before, spell = steps(plain)
        for step in before:
            make(step, lake, Inline(), f"plain-{id(step)}", lambda _: None)
        make_tokenizer(plain.store, plain.catalogue.tokenizers["tiny-1"], lambda _: None)
        make(spell, lake, Inline(), "plain-spell", lambda _: None)
        assert {a: plain.fingerprint(a) for a in MADE} == {a: works.fingerprint(a) for a in MADE}


@pytest.mark.slow
def test_the_dry_run_is_idle_after_the_runs_and_says_why_when_it_is_not(works: Works) -> None:
    works.raw(letters(1, 2, 3), "a")
    works.raw(letters(4, 5, 6), "b")
    works.arrive("letters")
    assert due(works)[0] == (LETTERS_V0, "make", ("never made",))
    works.whole()
    assert due(works) == []
    works.raw(letters(4, 5), "b")
    assert [found[:2] for found in due(works)] == [(LETTERS_V0, "make"), *((each, "follow") for each in MADE[1:])]
    assert due(works)[0][2] == ("raw data changed: shard b",)


def due(works: Works) -> list[tuple[str, str, tuple[str, ...]]]:
    """What the survey of all steps finds to be done."""
    found = survey_steps(steps(works), works.store)
    assert [each.asset for each in found] == list(MADE)
    return [(each.asset, each.state, each.why) for each in found if each.state != "finished"]
