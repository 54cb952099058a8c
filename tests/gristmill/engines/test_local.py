import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty import OF_TWO_JOBS, came, meeting, of_two_jobs, opened, shards, work
from testkit import Mill

from gristmill.engines.local import LocalPool
from gristmill.errors import DataError, StoreError
from gristmill.execution.work import Done, Item


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    """Two workers, however small the work. They stay from test to test, and whoever dies is replaced."""
    made = LocalPool(2, small=0)
    yield made
    made.close()


def workers() -> list[int]:
    """The worker processes that this process has."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            command = (folder / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if parent == str(os.getpid()) and b"gristmill.execution.worker" in command:
            found.append(int(folder.name))
    return found


def kill_all() -> None:
    for worker in workers():
        os.kill(worker, signal.SIGKILL)


@pytest.mark.slow
def test_results_are_those_of_one_process(mill: Mill, pool: LocalPool, tmp_path: Path) -> None:
    other = Mill(tmp_path / "other")
    for each in (mill, other):
        shards(each)
    assert mill.tag("words-1", engine=pool) == other.tag("words-1")
    assert mill.tree() == other.tree()
    assert workers()


@pytest.mark.slow
def test_results_of_two_jobs_are_read_in_turns(mill: Mill, pool: LocalPool) -> None:
    assert of_two_jobs(mill, pool) == OF_TWO_JOBS


@pytest.mark.slow
def test_a_closed_pool_has_no_workers_and_may_be_used_again(mill: Mill, pool: LocalPool) -> None:
    shards(mill)
    mill.tag("words-1", engine=pool)
    pool.close()
    assert workers() == []
    mill.tag("characters-1", engine=pool)
    assert workers()


def test_workers_stay_from_one_job_to_the_next(mill: Mill, pool: LocalPool) -> None:
    shards(mill)
    mill.tag("words-1", engine=pool)
    before = workers()
    mill.tag("characters-1", engine=pool)
    assert before
    assert set(before) <= set(workers())  # one worker may have done all of the first job: then a second one starts


def test_small_work_starts_no_worker(mill: Mill) -> None:
    shards(mill)
    before = workers()
    pool = LocalPool(2)
    mill.tag("words-1", engine=pool)
    assert workers() == before
    pool.close()


def test_two_workers_work_at_the_same_time(mill: Mill, pool: LocalPool, tmp_path: Path) -> None:
    here = tmp_path / "meeting"
    shards(mill, a=meeting(here, 2), b=meeting(here, 2))  # each waits for the other
    mill.tag("faulty-1", engine=pool)
    assert len(set(came(here, 2))) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "end"),
    [("EXIT", "ended with code 3"), ("KILL", r"was killed \(signal 9\)")],
)
def test_an_item_that_kills_its_worker_fails_alone_and_by_name(
    mill: Mill, pool: LocalPool, word: str, end: str
) -> None:
    shards(mill, c=word)
    with pytest.raises(StoreError, match=f"1 of 6 shards failed(.|\n)*shard c: its worker {end}"):
        mill.tag("faulty-1", engine=pool)
    where = mill.attributes("faulty-1")
    there = [mill.store.head(where.shard(name)) is not None for name in "abcdef"]
    assert there == [True, True, False, True, True, True]
    assert mill.store.head(where.ledger) is None
    shards(mill)
    mill.tag("faulty-1", engine=pool)
    assert mill.ground == ["c"]
    mill.verify(where)


@pytest.mark.slow
@pytest.mark.parametrize(("word", "words"), [("PANIC", "PanicException: Onig"), ("STOP", "SystemExit: 0")])
def test_a_panic_or_a_call_of_exit_fails_its_item_and_no_worker(
    mill: Mill, pool: LocalPool, word: str, words: str
) -> None:
    shards(mill)
    mill.tag("words-1", engine=pool)
    before = workers()
    shards(mill, c=word)
    with pytest.raises(DataError, match=rf"shard c:(.|\n)*{words}"):
        mill.tag("faulty-1", engine=pool)
    assert before
    assert set(before) <= set(workers())
    where = mill.attributes("faulty-1")
    assert [name for name in "abcdef" if mill.store.head(where.shard(name)) is None] == ["c"]


@pytest.mark.slow
def test_an_item_whose_worker_was_killed_once_is_tried_again(mill: Mill, pool: LocalPool, tmp_path: Path) -> None:
    here = tmp_path / "meeting"
    shards(mill, a=meeting(here), b=meeting(here))
    planned, items = work(mill)
    results = pool.map(planned.job, items[:2])

    def kill_both() -> None:
        came(here, 2)
        kill_all()
        opened(here)

    thread = threading.Thread(target=kill_both)
    thread.start()
    done = list(results)
    thread.join()
    assert sorted(each.name for each in done) == ["a", "b"]
    assert not any(each.outcome.failed for each in done)


@pytest.mark.slow
def test_a_worker_without_memory_fails_its_shard_alone_and_by_name(mill: Mill, pool: LocalPool) -> None:
    shards(mill, b="HUGE", e="ABORT")
    planned, items = work(mill)
    failed = {each.name: each.outcome.failed for each in pool.map(planned.job, items)}
    assert [name for name in "abcdef" if failed[name]] == ["b", "e"]
    assert "shard b: out of memory; use fewer workers" in failed["b"][0].message
    assert "shard e: its worker died with signal 6, SIGABRT: often for want of memory" in failed["e"][0].message


def test_items_are_taken_only_as_results_are_read(mill: Mill, pool: LocalPool) -> None:
    shards(mill)
    planned, items = work(mill)
    taken: list[int] = []

    def many() -> Iterator[Item]:
        for number in range(40):
            taken.append(number)
            yield items[number % 6]

    for seen, _ in enumerate(pool.map(planned.job, many()), start=1):
        time.sleep(0.002)  # a slow reader: what is done must wait for it
        assert len(taken) <= seen + 4, "two a worker"
    assert (seen, len(taken)) == (40, 40)


@pytest.mark.slow
def test_two_poisoned_items_do_not_take_the_others_along(mill: Mill, pool: LocalPool) -> None:
    shards(mill, a="KILL", b="EXIT")
    planned, items = work(mill)
    done = {each.name: each for each in pool.map(planned.job, items)}
    assert sorted(done) == ["a", "b", "c", "d", "e", "f"]
    assert sorted(name for name, each in done.items() if each.outcome.failed) == ["a", "b"]


@pytest.mark.slow
def test_a_worker_that_died_while_idle_is_replaced(mill: Mill, pool: LocalPool) -> None:
    shards(mill)
    mill.tag("words-1", engine=pool)
    before = workers()
    for worker in before:
        os.kill(worker, signal.SIGKILL)
    assert mill.tag("characters-1", engine=pool).totals["rows"] == 6
    assert not set(before) & {w for w in workers() if Path(f"/proc/{w}/cmdline").read_bytes()}


def test_a_reader_that_goes_away_ends_the_work_under_way(mill: Mill, pool: LocalPool, tmp_path: Path) -> None:
    here = tmp_path / "meeting"
    shards(mill, **dict.fromkeys("bcdef", meeting(here)))
    planned, items = work(mill)
    results = pool.map(planned.job, items)
    assert isinstance(next(results), Done)
    under_way = came(here, 2)
    results.close()  # type: ignore[attr-defined]  # the protocol asks for an iterator only
    assert not set(under_way) & set(workers())
    assert mill.tag("words-1", engine=pool).totals["rows"] == 6


def test_a_grinder_that_cannot_be_opened_fails_every_item_with_its_reason(mill: Mill, pool: LocalPool) -> None:
    import msgspec

    shards(mill)
    planned, items = work(mill)
    job = msgspec.structs.replace(planned.job, shelves=("gristmill",))
    done = list(pool.map(job, items))
    assert len(done) == 6
    for each in done:
        (failed,) = each.outcome.failed
        assert failed.error == "RecipeError"
        assert "no 'faulty-1' on this shelf" in failed.message
