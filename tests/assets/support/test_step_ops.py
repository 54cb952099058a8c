"""Re-execution from failure, once the cause is mended: it looks again, and grinds what is missing and no more."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import (
    COUNT_V0,
    JOURNEY,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    Result,
    Works,
    environment_of,
    letter,
    letters,
    letters_journey,
)
from testkit import packed

from definitions import build
from gristmill.lake.address import place

pytestmark = pytest.mark.slow

TRUNCATED = packed(letters(4))[:-9]


@pytest.fixture
def lasting(tmp_path: Path) -> Iterator[Works]:
    """An instance that keeps its runs on disk, as re-execution wants it."""
    home = tmp_path / "home"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        yield Works(tmp_path / "lake", instance)


def from_failure(works: Works, failed: Result) -> Result:
    """What the UI's button does. The partition's tag goes along: Dagster does not copy it by itself here."""
    with dg.execute_job(
        dg.build_reconstructable_job(letters_journey.__module__, letters_journey.__name__, (str(works.root),)),
        instance=works.instance,
        reexecution_options=dg.ReexecutionOptions.from_failure(failed.run_id, works.instance),
        run_config={"resources": {"engine": {"config": {"kind": "inline"}}}},
        tags={"dagster/partition": "2024"},
    ) as done:
        return Result(done.run_id, works.instance)


class Upgrade(logging.Handler):
    """As soon as a run says that it has planned, its plan becomes one that version 0.1 stored."""

    def __init__(self, works: Works) -> None:
        super().__init__()
        self._works = works
        self._done = False

    def emit(self, record: logging.LogRecord) -> None:
        where = place(LETTERS_V0, "2024")
        if "to grind" in record.getMessage() and not self._done:
            self._done = True
            (path,) = [e.path for e in self._works.store.list(where.receipts_folder) if "/.planned-" in e.path]
            new = json.loads(self._works.store.read(path))
            old = {"makings": new["partitions"], "job": {**new["job"], "stage": "conversion_grinder"}}
            self._works.store.put(path, json.dumps({**old, "items": new["items"], "weight": new["weight"]}).encode())


def test_a_run_that_was_planned_before_an_upgrade_is_planned_anew_and_says_so(lasting: Works) -> None:
    lasting.raw(letters(1, 2), "a")
    lasting.arrive("letters")
    logger = logging.getLogger("upgrade")
    logger.setLevel(logging.INFO)
    logger.addHandler(Upgrade(lasting))
    defined = dg.LoggerDefinition(lambda _: logger)
    lasting.definitions = build(environment_of(lasting.root), lasting.catalogue, loggers={"upgrade": defined})
    done = lasting.run("letters_journey", only=(LETTERS_V0,), config={"loggers": {"upgrade": {}}})
    assert done.success
    assert done.said == [
        f"{LETTERS_V0}: 1 shard to grind, 0 kept, 0 gone",
        f"{LETTERS_V0}: another version of gristmill planned this run; it is planned again",
        f"{LETTERS_V0}: 1 shard to grind, 0 kept, 0 gone",
        *done.said[3:],
    ]
    assert lasting.ids(LETTERS_V0) == ["letter-1", "letter-2"]


def test_a_mended_raw_object_is_all_that_is_ground(lasting: Works) -> None:
    lasting.raw(letters(1, 2), "a")
    lasting.store.put("sources/letters/raw/2024/b.jsonl.gz", TRUNCATED)
    lasting.arrive("letters")
    failed = lasting.run("letters_journey")
    assert list(failed.failures) == ["sources__letters__v0__documents.grind"]
    lasting.raw(letters(4), "b")
    done = from_failure(lasting, failed)
    assert done.success
    assert done.said[0] == f"{LETTERS_V0}: 1 shard to grind, 1 kept, 0 gone"
    assert set(done.made) == set(JOURNEY)
    assert {event.partition for event in done.made.values()} == {"2024"}
    assert lasting.ids(LETTERS_V1, "b") == ["letter-4"]


def test_ids_that_were_mended_after_a_failing_check_are_published(lasting: Works) -> None:
    lasting.raw(letters(2, 3), "a")
    lasting.raw(letters(3, 4), "b")
    lasting.arrive("letters")
    failed = lasting.run("letters_journey")
    assert list(failed.failures) == ["sources__letters__v0__documents.commit"]
    lasting.raw(letters(4, 5), "b")
    done = from_failure(lasting, failed)
    assert done.success
    assert done.said[0] == f"{LETTERS_V0}: 1 shard to grind, 1 kept, 0 gone"
    check = done.checks[f"{LETTERS_V0}:ids_unique"]
    assert (check.passed, check.partition) == (True, "2024")
    assert lasting.ids(LETTERS_V0, "b") == ["letter-4", "letter-5"]


@pytest.mark.slow
def test_a_check_that_still_fails_fails_again(lasting: Works) -> None:
    lasting.raw(letters(2, 3), "a")
    lasting.raw(letters(3, 4), "b")
    lasting.arrive("letters")
    again = from_failure(lasting, lasting.run("letters_journey"))
    assert list(again.failures) == ["sources__letters__v0__documents.commit"]
    assert not again.checks[f"{LETTERS_V0}:ids_unique"].passed
    assert lasting.ledger(LETTERS_V0) is None


def test_a_mended_tagger_makes_its_own_set_and_its_own_shard_alone(lasting: Works, tmp_path: Path) -> None:
    marker = tmp_path / "mended"
    lasting.raw(letters(2, 3), "a")
    lasting.raw([letter(4, f"UNLESS {marker}")], "b")
    lasting.arrive("letters")
    failed = lasting.run("letters_journey")
    assert set(failed.made) == set(JOURNEY) - {MOODY_V1}
    marker.touch()
    done = from_failure(lasting, failed)
    assert done.success
    assert done.said[0] == f"{MOODY_V1}: 1 shard to grind, 1 kept, 0 gone"
    assert set(done.made) == {MOODY_V1}
    assert lasting.materialized(MOODY_V1) == {"2024"}


@pytest.mark.slow
def test_what_another_run_finished_meanwhile_is_kept(lasting: Works) -> None:
    lasting.raw(letters(1, 2), "a")
    lasting.store.put("sources/letters/raw/2024/b.jsonl.gz", TRUNCATED)
    lasting.arrive("letters")
    failed = lasting.run("letters_journey")
    lasting.raw(letters(4), "b")
    assert lasting.run("letters_journey").success
    done = from_failure(lasting, failed)
    assert done.success
    assert f"{LETTERS_V0}: 0 shards to grind, 2 kept, 0 gone" in done.said
    assert f"{COUNT_V0}: 0 shards to grind, 2 kept, 0 gone" in done.said
