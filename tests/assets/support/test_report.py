import logging
from collections.abc import Callable
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
    environment_of,
    letter,
    letters,
)
from packedlake import make_caches, mix_of
from panics import panic
from steered import before_any
from testkit import SNAPSHOT, Mill, lines

from assets.support.report import cache_facts, convert_errors
from definitions import build
from gristmill.environment import read_environment
from gristmill.errors import DataError, RecipeError, Superseded
from gristmill.execution.claim import claim_token
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_table
from resources.lake import lake_resource

GRIND = "sources__letters__v1__attributes.grind"


@pytest.mark.slow
def test_wrong_bytes_are_not_tried_again(works: Works) -> None:
    works.raw([letter(1, "two words"), letter(2, "WRONG bytes")])
    works.arrive("letters")
    done = works.run("letters_journey")
    [(step, said)] = done.failures.items()
    assert "letter-2: these bytes are wrong" in said
    assert done.attempts(step) == done.attempts(GRIND) == 1


@pytest.mark.slow
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


class Planned(logging.Handler):
    """Lets something happen each time that a run says that it has planned."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._happens = happens

    def emit(self, record: logging.LogRecord) -> None:
        if "to grind" in record.getMessage():
            self._happens()


@pytest.mark.slow
def test_a_raw_object_that_comes_back_in_time_is_no_failure(works: Works, monkeypatch: pytest.MonkeyPatch) -> None:
    """It vanishes between the plan and the grind, and is back when the op plans for its second attempt."""
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    raw, aside = works.root / "sources/letters/raw/2024/a.jsonl.gz", works.root / "aside"
    tokens: list[str | None] = []

    def disturb() -> None:
        tokens.append(claim_token(works.store, place(LETTERS_V0, "2024")))
        if len(tokens) == 1:
            raw.rename(aside)
            before_any(monkeypatch, "list", "sources/letters/raw/2024/", lambda: aside.rename(raw))

    logger = logging.getLogger("planned")
    logger.setLevel(logging.INFO)
    logger.addHandler(Planned(disturb))
    defined = dg.LoggerDefinition(lambda _: logger)
    works.definitions = build(environment_of(works.root), works.catalogue, loggers={"planned": defined})
    done = works.run("letters_journey", only=[LETTERS_V0], config={"loggers": {"planned": {}}})
    assert done.success, done.failures
    assert works.ids(LETTERS_V0) == ["letter-1", "letter-2", "letter-3"]
    assert len(set(tokens)) == len(tokens) == 2  # a first attempt that is still at work loses its claim
    assert all((token or "").startswith(done.run_id) for token in tokens)


@pytest.mark.parametrize(
    "error", [DataError("wrong"), RecipeError("wrong"), Superseded("wrong"), ZeroDivisionError("wrong")]
)
def test_what_a_retry_cannot_mend_is_never_tried_again(works: Works, error: Exception) -> None:
    with pytest.raises(dg.Failure, match="wrong") as told, convert_errors(lake_resource(environment_of(works.root))):
        raise error
    assert not told.value.allow_retries


@pytest.mark.slow
def test_a_materialization_says_what_one_asks_next(milled: Works) -> None:
    done = milled.run("letters_journey", engine={"force": True})
    v0, v1 = done.metadata(LETTERS_V0), done.metadata(LETTERS_V1)
    assert "quarantine" not in v0  # no row was refused
    assert (v0["dagster/row_count"], v0["shards"], v0["shards ground"], v0["shards kept"]) == (6, 2, 2, 0)
    assert v1["dagster/row_count"] == 5
    assert [record.data for record in v1["dropped by reason"].records] == [
        {"reason": "short", "rows": 1, "share (%)": 16.67}
    ]
    assert (v1["rows read"], v1["rows dropped"], v1["rows dropped (%)"]) == (6, 1, 16.67)
    assert (v0["rows read"], v0["rows dropped"]) == (6, 0)
    assert list(v1)[:5] == ["dagster/row_count", "rows read", "rows dropped", "rows dropped (%)", "size"]
    moody = done.metadata(MOODY_V1)
    assert list(moody)[:4] == ["dagster/row_count", "size", "scores in short", "scores"]
    assert v0["size"] == f"{v0['bytes']} bytes"
    assert [(r.data["shard"], r.data["rows"]) for r in v1["shard table"].records] == [("a", 2), ("b", 3)]
    assert v0["bytes"] == sum(r.data["bytes"] for r in v0["shard table"].records) > 0
    for address, path in {
        LETTERS_V0: "sources/letters/v0/ledgers/documents/2024.json",
        MOODY_V1: "sources/letters/v1/ledgers/attributes/moody-1/2024.json",
    }.items():
        assert done.metadata(address)["ledger"] == f"{milled.root}/{path}"
        assert (milled.root / path).is_file()


@pytest.mark.slow
def test_reasons_of_refused_rows_are_a_table_with_the_place_of_one_example_each(works: Works) -> None:
    many = letters(*range(600))
    works.raw([*many, b"no json", {"text": "x"}, b"no json"])
    works.arrive("letters")
    done = works.run("letters_journey")
    assert done.success, done.failures
    size, at = len(lines(many)), "a.jsonl.gz, row"
    assert [record.data for record in done.metadata(LETTERS_V0)["dropped by reason"].records] == [
        {
            "reason": "quarantine: invalid JSON",
            "rows": 2,
            "share (%)": 0.3317,
            "example": f"{at} 600, byte {size}",
        },
        {"reason": "quarantine: no id", "rows": 1, "share (%)": 0.1658, "example": f"{at} 601, byte {size + 8}"},
    ]
    folder = Path(done.metadata(LETTERS_V0)["quarantine"])
    assert sorted(path.name for path in folder.iterdir()) == ["a.jsonl.gz"]


def test_a_failed_run_shows_the_reasons_with_the_place_of_one_example_each(works: Works) -> None:
    works.raw([*[b"no json"] * 11, *letters(1)], "a")
    works.raw([*letters(2), *[b"no json"] * 9, {"text": "x"}, {"text": "x"}], "b")
    works.arrive("letters")
    done = works.run("letters_journey")
    [event] = [event for event in done.events if event.is_step_failure]
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert failure.metadata["kind"].value == "TooManyRefused"
    table = failure.metadata["refused by reason"]
    assert isinstance(table, dg.TableMetadataValue)
    assert [record.data for record in table.records] == [
        {"reason": "invalid JSON", "rows": 20, "example": "a.jsonl.gz, row 0, byte 0"},
        {"reason": "no id", "rows": 2, "example": f"b.jsonl.gz, row 10, byte {len(lines(letters(2))) + 9 * 8}"},
    ]


def test_a_panic_of_native_code_is_a_failure_without_retries_and_an_interrupt_goes_through() -> None:
    lake = lake_resource(read_environment())
    with pytest.raises(dg.Failure, match=r"PanicException: Onig.*a bug") as failed, convert_errors(lake):
        panic()
    assert failed.value.allow_retries is False
    with pytest.raises(DagsterExecutionInterruptedError), convert_errors(lake):
        raise DagsterExecutionInterruptedError


def test_bytes_of_text_are_told_where_tokens_are_made_of_text(tmp_path: Path) -> None:
    mill = Mill(tmp_path)
    built = {"kind": "built", "ids": [100, 100, 100]}
    mill.raw("built.jsonl.gz", [{"id": "0", "text": "", "source": "pages", "metadata": built}])
    make_caches(mill, mix_of("texts", "built"), texts=(4, 6))
    told = {}
    for stream in ("texts", "built"):
        cache = place(f"token_caches/packed/bytes-1/{stream}", SNAPSHOT)
        told[stream] = cache_facts(read_table(mill.store, cache))
    assert told["texts"]["bytes of text a token"] == 1
    assert told["built"].keys() == told["texts"].keys() - {"bytes of text a token"}
