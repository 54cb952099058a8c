"""Runs that fail: how far, with which words, how often they try, and what they leave alone."""

import json
import os

import pytest
from dagster_kit import (
    BLEND_LETTERS,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    Works,
    letter,
    letters,
)

from gristmill.environment import read_environment
from gristmill.errors import RecipeError
from gristmill.lake.address import place
from gristmill.lake.ledger.code import CHANGED_CODE


@pytest.mark.slow
def test_a_wrong_label_is_named_with_tagger_shard_and_row(works: Works) -> None:
    works.raw([letter(1, "two words"), letter(2, "NAN here")])
    works.arrive("letters")
    done = works.run("letters_journey")
    assert not done.success
    [said] = done.failures.values()
    assert f"{place(MOODY_V1, '2024').shard('a')}: tagger 'moody-1' on row 1 (id 'letter-2')" in said
    assert said.endswith(f"; {CHANGED_CODE}"), "the mend is not another one than that of the plan"


def test_a_delay_that_is_no_number_of_seconds_is_refused() -> None:
    with pytest.raises(RecipeError, match="GRISTMILL_RETRY_DELAY is 'soon'; give the seconds until an op is tried"):
        read_environment({"GRISTMILL_RETRY_DELAY": "soon"})


@pytest.mark.slow
def test_an_id_twice_in_a_snapshot_is_recorded_and_nothing_is_published(works: Works) -> None:
    works.raw(letters(1, 2), "a")
    works.raw(letters(3, 2), "b")
    works.arrive("letters")
    done = works.run("letters_journey")
    check = done.checks[f"{LETTERS_V0}:ids_unique"]
    assert (check.passed, check.partition, check.blocking) == (False, "2024", True)
    said = {name: value.value for name, value in check.metadata.items()}
    assert said["id"] == "letter-2"
    assert (said["first shard"], said["first row"]) == ("a", 1)
    assert (said["second shard"], said["second row"]) == ("b", 1)
    assert done.made == {}
    assert list(done.failures) == ["sources__letters__v0__documents.commit"]
    assert "not published: ids_unique: 1 ids occur twice" in done.failures["sources__letters__v0__documents.commit"]
    assert done.attempts("sources__letters__v0__documents.commit") == 1
    assert works.ledger(LETTERS_V0) is None
    claim = json.loads(works.store.read(place(LETTERS_V0, "2024").claim_path))
    assert claim["within"]["pid"] == str(os.getpid()), "the process of the run: all its steps are in this one"
    assert not (works.root / "sources/letters/v0/ledgers/attributes").exists()


@pytest.mark.slow
def test_a_failing_check_leaves_the_old_ledger_for_the_truth(works: Works) -> None:
    works.raw(letters(1, 2), "a")
    works.arrive("letters")
    assert works.run("letters_journey").success
    before = works.store.read(place(LETTERS_V0, "2024").ledger)
    version = works.version(LETTERS_V0)
    works.raw(letters(3, 2), "b")
    works.arrive("letters")
    done = works.run("letters_journey")
    assert not done.success
    assert works.store.read(place(LETTERS_V0, "2024").ledger) == before
    assert works.version(LETTERS_V0) == version
    assert works.ids(LETTERS_V1) == ["letter-2"]


@pytest.mark.slow
def test_a_blocklist_that_grew_takes_its_documents_out(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    works.run("letters_journey")
    works.run("__ASSET_JOB", only=[BLEND_LETTERS])
    works.block("letter-3")
    assert works.run("__ASSET_JOB", only=[BLEND_LETTERS]).success
    assert works.ids("mixes/blend/documents/letters") == ["letter-2"]


@pytest.mark.slow
def test_a_lake_that_never_answers_fails_with_its_own_words_first(works: Works) -> None:
    works.raw([letter(1, "AWAY today"), letter(2, "two words")])
    works.arrive("letters")
    done = works.run("letters_journey")
    [(step, said)] = done.failures.items()
    assert done.attempts(step) == 3
    assert said.startswith("http://bucket.example: timed out")
    assert said.endswith("(tried 3 times; re-execute from failure later)")


@pytest.mark.slow
def test_a_run_without_a_snapshot_says_that_it_needs_one(works: Works) -> None:
    done = works.run("letters_journey", None, only=[LETTERS_V0])
    assert done.failures == {
        "sources__letters__v0__documents.plan": "the run names no snapshot; launch it with one: in the dialog of"
        " Materialize, by `--partition SNAPSHOT`, or by the tag dagster/partition"
    }
