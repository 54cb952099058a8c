import threading
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterEventType
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster_kit import (
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    RETRY_DELAY,
    Works,
    letter,
    letters,
)
from panics import panic

from assets.support.report import failures
from gristmill.environment import read_environment
from resources.lake import lake_resource

GRIND = "sources__letters__v1__attributes.grind"


def test_wrong_bytes_are_not_tried_again(works: Works) -> None:
    works.raw([letter(1, "two words"), letter(2, "WRONG bytes")])
    works.arrive("letters")
    done = works.run("letters_journey")
    [(step, said)] = done.failures.items()
    assert "letter-2: these bytes are wrong" in said
    assert done.attempts(step) == done.attempts(GRIND) == 1


def test_a_lake_that_did_not_answer_is_tried_again(works: Works, tmp_path: Path) -> None:
    works.raw([letter(1, f"ONCE {tmp_path / 'marker'}"), letter(2, "two words")])
    works.raw(letters(3), "b")
    works.arrive("letters")
    done = works.run("letters_journey")
    assert done.success
    assert done.attempts(GRIND) == 2
    assert done.steps(DagsterEventType.STEP_UP_FOR_RETRY) == [GRIND]
    assert done.waits == [RETRY_DELAY]
    assert works.materialized(MOODY_V1) == {"2024"}


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


def test_a_materialization_says_what_one_asks_next(milled: Works) -> None:
    done = milled.run("letters_journey", engine={"force": True})
    v0, v1 = done.metadata(LETTERS_V0), done.metadata(LETTERS_V1)
    assert (v0["dagster/row_count"], v0["shards"], v0["shards ground"], v0["shards kept"]) == (6, 2, 2, 0)
    assert v1["dagster/row_count"] == 5
    assert [record.data for record in v1["dropped by reason"].records] == [{"reason": "short", "rows": 1}]
    assert [(r.data["shard"], r.data["rows"]) for r in v1["shard table"].records] == [("a", 2), ("b", 3)]
    assert v0["bytes"] == sum(r.data["bytes"] for r in v0["shard table"].records) > 0
    for address, path in {
        LETTERS_V0: "sources/letters/v0/ledgers/documents/2024.json",
        MOODY_V1: "sources/letters/v1/ledgers/attributes/moody-1/2024.json",
    }.items():
        assert done.metadata(address)["ledger"] == f"{milled.root}/{path}"
        assert (milled.root / path).is_file()


def test_a_panic_of_native_code_is_a_failure_without_retries_and_an_interrupt_goes_through() -> None:
    lake = lake_resource(read_environment())
    with pytest.raises(dg.Failure, match=r"PanicException: Onig.*a bug") as failed, failures(lake):
        panic()
    assert failed.value.allow_retries is False
    with pytest.raises(DagsterExecutionInterruptedError), failures(lake):
        raise DagsterExecutionInterruptedError
