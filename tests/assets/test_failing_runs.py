"""Runs that fail: how far, with which words, how often they try, and what they leave alone."""

import threading
from pathlib import Path

import pytest
from dagster import DagsterEventType
from dagster_kit import (
    COUNT_V0,
    COUNT_V1,
    JOURNEY,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    RETRY_DELAY,
    Result,
    Works,
    letter,
    letters,
)

from gristmill.environment import read_environment
from gristmill.errors import RecipeError
from gristmill.lake.address import place
from resources.lake import lake_resource

GRIND = "sources__letters__v1__attributes.grind"


def attempts(done: Result, step: str) -> int:
    """How often a step was begun."""
    kinds = (DagsterEventType.STEP_START, DagsterEventType.STEP_RESTARTED)
    return sum(name == step for kind in kinds for name in done.steps(kind))


def test_one_set_alone_can_be_asked_for(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0, COUNT_V0, LETTERS_V1]).success
    done = works.run("letters_journey", only=[COUNT_V1])
    assert done.success
    assert set(done.made) == {COUNT_V1}
    assert set(done.checks) == {f"{COUNT_V1}:row_alignment"}
    assert works.ledger(MOODY_V1) is None
    rest = works.run("letters_journey", only=[MOODY_V1])
    assert set(rest.made) == {MOODY_V1}


def test_a_failing_tagger_leaves_the_other_sets_and_is_named_with_shard_and_row(works: Works) -> None:
    works.raw([letter(1, "two words"), letter(2, "RAISE hell")])
    works.arrive("letters")
    done = works.run("letters_journey")
    assert not done.success
    assert set(done.made) == set(JOURNEY) - {MOODY_V1}
    assert works.ledger(MOODY_V1) is None
    [(step, said)] = done.failures.items()
    assert step == "sources__letters__v1__attributes.commit_moody_1"
    assert said.startswith(f"{MOODY_V1} (2024): ")
    assert f"{place(MOODY_V1, '2024').shard('a')}: tagger 'moody-1' on row 1 (id 'letter-2')" in said
    assert "LookupError: letter-2" in said


def test_a_wrong_label_is_named_with_tagger_shard_and_row(works: Works) -> None:
    works.raw([letter(1, "two words"), letter(2, "NAN here")])
    works.arrive("letters")
    done = works.run("letters_journey")
    assert not done.success
    [said] = done.failures.values()
    assert f"{place(MOODY_V1, '2024').shard('a')}: tagger 'moody-1' on row 1 (id 'letter-2')" in said


def test_wrong_bytes_are_not_tried_again(works: Works) -> None:
    works.raw([letter(1, "two words"), letter(2, "WRONG bytes")])
    works.arrive("letters")
    done = works.run("letters_journey")
    [(step, said)] = done.failures.items()
    assert "letter-2: these bytes are wrong" in said
    assert attempts(done, step) == attempts(done, GRIND) == 1


def test_a_lake_that_did_not_answer_is_tried_again(works: Works, tmp_path: Path) -> None:
    works.raw([letter(1, f"ONCE {tmp_path / 'marker'}"), letter(2, "two words")])
    works.raw(letters(3), "b")
    works.arrive("letters")
    done = works.run("letters_journey")
    assert done.success
    assert attempts(done, GRIND) == 2
    assert done.steps(DagsterEventType.STEP_UP_FOR_RETRY) == [GRIND]
    assert done.waits == [RETRY_DELAY]
    assert works.materialized(MOODY_V1) == {"2024"}


@pytest.mark.parametrize(("given", "delay"), [({}, 5), ({"GRISTMILL_RETRY_DELAY": "7"}, 7)])
def test_a_lake_that_did_not_answer_has_five_seconds_or_what_is_given(given: dict[str, str], delay: int) -> None:
    assert lake_resource(read_environment(given)).retry_delay == delay


def test_a_delay_that_is_no_number_of_seconds_is_refused() -> None:
    with pytest.raises(RecipeError, match="GRISTMILL_RETRY_DELAY is 'soon'; give the seconds until an op is tried"):
        read_environment({"GRISTMILL_RETRY_DELAY": "soon"})


def test_a_raw_object_that_comes_back_in_time_is_no_failure(works: Works) -> None:
    """It vanishes between the plan and the grind, and is put back while the op waits for its second attempt."""
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    raw, aside = works.root / "sources/letters/raw/2024/a.jsonl.gz", works.root / "aside"
    claims = works.root / "sources/letters/v0/ledgers/documents"
    stop = threading.Event()

    def waits() -> bool:
        kind = DagsterEventType.STEP_UP_FOR_RETRY
        return any(works.instance.all_logs(run_id, of_type=kind) for run_id in works.instance.get_run_ids())

    def disturb() -> None:
        while not list(claims.glob("2024.receipts/.planned-*")) and not stop.wait(0.0005):
            pass
        raw.rename(aside)
        while not waits() and not stop.wait(0.01):
            pass
        aside.rename(raw)

    thread = threading.Thread(target=disturb)
    thread.start()
    done = works.run("letters_journey", only=[LETTERS_V0])
    stop.set()
    thread.join()
    assert done.success, done.failures
    assert works.ids(LETTERS_V0) == ["letter-1", "letter-2", "letter-3"]


def test_an_id_twice_in_a_snapshot_is_recorded_and_nothing_is_published(works: Works) -> None:
    works.raw(letters(1, 2), "a")
    works.raw(letters(3, 2), "b")
    works.arrive("letters")
    done = works.run("letters_journey")
    check = done.checks[f"{LETTERS_V0}:ids_unique"]
    assert (check.passed, check.partition, check.blocking) == (False, "2024", True)
    said = {name: value.value for name, value in check.metadata.items()}
    assert said["id"] == "letter-2"
    assert (said["first_shard"], said["first_row"]) == ("a", 1)
    assert (said["second_shard"], said["second_row"]) == ("b", 1)
    assert done.made == {}
    assert list(done.failures) == ["sources__letters__v0__documents.commit"]
    assert "not published: ids_unique: 1 ids occur twice" in done.failures["sources__letters__v0__documents.commit"]
    assert attempts(done, "sources__letters__v0__documents.commit") == 1
    assert works.ledger(LETTERS_V0) is None
    assert not (works.root / "sources/letters/v0/ledgers/attributes").exists()


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


def test_a_blocklist_that_grew_takes_its_documents_out(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    works.run("letters_journey")
    works.run("blend_letters_documents")
    works.block("letter-3")
    assert works.run("blend_letters_documents").success
    assert works.ids("mixes/blend/documents/letters") == ["letter-2"]
