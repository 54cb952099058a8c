import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import Any

import msgspec
import pytest
from dedupelake import SHELVES, known, put, resolved
from testkit import Mill

from gristmill.errors import AtWork, Conflict, DataError, StoreError, Superseded
from gristmill.execution.claim import (
    Claimant,
    check_claim,
    claim_token,
    error_or_superseded,
    has_leftovers,
    others_at_work,
    release_claims,
    write_claim,
)
from gristmill.execution.runner import Inline, raise_grind_failures
from gristmill.execution.step import StepPlan, assemble_one, grind, plan, publish_one
from gristmill.execution.work import Done, Failed, Item, Job, Outcome
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Store
from gristmill.process import Process, this_process
from gristmill.stages.dedupe.resolution import resolve_duplicates
from gristmill.stages.fingerprints.step import FingerprintStep


def test_the_run_that_was_taken_over_stops_and_changes_nothing(mill: Mill) -> None:
    mill.raw_shards(3)
    older = plan(mill.conversion(), mill.lake, "older")
    newer = plan(mill.conversion(), mill.lake, "newer")
    tally = grind(older, Inline(), mill.said.append)
    (first,) = tally.failed
    assert (first.error, first.left) == ("Superseded", 2)  # it notices at its next shard, and begins no other
    with pytest.raises(Superseded, match="a newer run has taken it over"):
        raise_grind_failures(tally.failed, older.items)
    assert not grind(newer, Inline(), mill.said.append).failed
    asset = mill.documents().asset
    with pytest.raises(Superseded):
        assemble_one(mill.conversion(), older, asset, {})
    assembled = assemble_one(mill.conversion(), newer, asset, {})
    publish_one(newer, asset, assembled)
    with pytest.raises(Superseded):
        assemble_one(mill.conversion(), older, asset, {})
    mill.verify(mill.documents())


def test_a_store_error_of_the_run_that_was_taken_over_is_named_so(mill: Mill) -> None:
    mill.raw_shards(2)
    there = mill.documents()
    older = plan(mill.conversion(), mill.lake, "older")
    lost = StoreError(f"{there.ledger}: another run wrote it meanwhile; run again")
    assert error_or_superseded(mill.store, there, "older", lost) is lost
    assert error_or_superseded(mill.store, there, "older", DataError("a row is wrong")).args == ("a row is wrong",)
    newer = plan(mill.conversion(), mill.lake, "newer", by=Claimant.of_this_process(takes_over=True))
    told = rf"the newer one is .*{this_process().pid}"
    assert re.search(told, str(error_or_superseded(mill.store, there, "older", lost)))
    grind(newer, Inline(), mill.said.append)
    publish_one(newer, there.asset, assemble_one(mill.conversion(), newer, there.asset, {}))
    with pytest.raises(Superseded) as raised:
        grind(older, Inline(), mill.said.append)  # its items are gone
    assert isinstance(raised.value.__cause__, StoreError)


def test_what_fails_a_plan_before_it_has_claimed_anything_is_told_as_it_is(mill: Mill) -> None:
    """A killed run has left its claim; then the lake does not answer, while the next run reads what it needs."""
    mill.raw_shards(1)
    there = mill.documents()
    write_claim(mill.store, there, "killed", Claimant(dead()))
    step = mill.conversion()

    class Away(type(step)):  # type: ignore[misc]
        def plan(self, store: Store) -> StepPlan:
            raise StoreError(f"{store.url}: the disk does not answer")

    away = Away(**{field.name: getattr(step, field.name) for field in fields(step)})
    with pytest.raises(StoreError, match="the disk does not answer") as told:
        plan(away, mill.lake, "next", by=Claimant.of_this_process(takes_over=False))
    assert not isinstance(told.value, Superseded)
    assert claim_token(mill.store, there) == "killed"


def test_of_two_runs_that_claim_several_sets_in_turn_one_gets_them_all(mill: Mill) -> None:
    """Neither of two runs of Dagster asks. One claims the first set, then the other claims both."""
    mill.raw_shards(1)
    mill.convert()
    step = mill.tagging("words-1", "length-1")
    first, second = (place(asset, step.snapshot) for asset in step.makes)
    write_claim(mill.store, first, "older")
    newer = plan(step, mill.lake, "newer")
    with pytest.raises(Superseded, match=f"{first.asset}.*a newer run has taken it over"):
        write_claim(mill.store, second, "older", earlier=[first])
    assert [claim_token(mill.store, each) for each in (first, second)] == ["newer", "newer"]
    assert not grind(newer, Inline(), mill.said.append).failed


def test_a_shard_that_the_store_failed_for_a_run_that_was_taken_over_tells_that(mill: Mill) -> None:
    mill.raw_shards(2)
    older = plan(mill.conversion(), mill.lake, "older")

    class Overtaken:
        """An engine whose workers lose an object to the run that took over."""

        def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
            assert job is older.job
            plan(mill.conversion(), mill.lake, "newer", by=Claimant.of_this_process(takes_over=True))
            for item in items:
                yield Done(item.name, item.weight, Outcome((), failed=(Failed("StoreError", "no such object"),)), 0.0)

        def close(self) -> None: ...

    (first, *_) = grind(older, Overtaken(), mill.said.append).failed
    assert first.error == "Superseded"
    assert "the newer one is" in first.message


def test_the_loser_of_a_resolution_tells_that_it_was_taken_over(mill: Mill) -> None:
    put(mill, "a", "x", "one", "one")
    resolved(mill, "texts-1")
    put(mill, "b", "x", "one", "two")
    mill.convert(snapshot="b")
    recipe = known().dedupes["texts-1"]
    mill.make(FingerprintStep(recipe, "pages", "b", SHELVES))
    runs = place("dedupe/texts-1/runs/pages", "b")

    class Lost(Inline):
        """An engine during whose work another run takes the partition over, and removes what this one reads."""

        def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
            write_claim(mill.store, runs, "newer", Claimant.of_this_process(takes_over=True))
            for item in items:
                raise StoreError(f"an object of {job.stage} for {item.name} is gone")
            yield from ()

    by = Claimant.of_this_process(takes_over=False)
    with pytest.raises(Superseded, match=r"dedupe/texts-1/runs/pages \(b\): a newer run .* the newer one is"):
        resolve_duplicates(mill.lake, recipe, (), SHELVES, Lost(), "older", mill.said.append, by=by)


def test_of_two_runs_that_publish_the_later_claim_wins(mill: Mill) -> None:
    mill.raw_shards(2)
    asset = mill.documents().asset
    older = plan(mill.conversion(), mill.lake, "older")
    grind(older, Inline(), mill.said.append)
    assembled = assemble_one(mill.conversion(), older, asset, {})
    newer = plan(mill.conversion(), mill.lake, "newer")
    assert newer.items == 0
    with pytest.raises(Superseded):
        publish_one(older, asset, assembled)
    assert mill.store.head(mill.documents().ledger) is None
    publish_one(newer, asset, assemble_one(mill.conversion(), newer, asset, {}))
    mill.verify(mill.documents())


def test_of_four_runs_at_once_one_makes_the_partition_and_three_change_nothing(mill: Mill) -> None:
    mill.raw_shards(6, rows=3)
    asset = mill.documents().asset
    claimed, ground = threading.Barrier(4), threading.Barrier(4)

    def run(number: int) -> str:
        planned = plan(mill.conversion(), mill.lake, f"thread-{number}")
        claimed.wait()  # all four have claimed the partition, one of them last
        tally = grind(planned, Inline(), mill.said.append)
        ground.wait()
        try:
            raise_grind_failures(tally.failed, planned.items)
            publish_one(planned, asset, assemble_one(mill.conversion(), planned, asset, {}))
        except Superseded:
            return "superseded"
        return "done"

    with ThreadPoolExecutor(4) as pool:
        ends = sorted(pool.map(run, range(4)))
    assert ends == ["done", "superseded", "superseded", "superseded"]
    mill.verify(mill.documents())
    assert read_ledger(mill.store, mill.documents())[0].totals["rows"] == 18


@pytest.mark.parametrize(
    ("data", "token"),
    [
        (None, None),
        (b'{"token":"mine"}', "mine"),
        (b"{}", None),
        (b"", None),
        (b'{"tok', None),
        (b'{"token":"\xff"}', None),
    ],
)
def test_a_claim_that_is_torn_or_gone_is_nobodys(lake: FolderStore, data: bytes | None, token: str | None) -> None:
    here = place(documents_asset("wiki", "v0"), "2024")
    if data is not None:
        lake.put(here.claim_path, data)
    assert claim_token(lake, here) == token
    if token == "mine":
        check_claim(lake, here, "mine")
    with pytest.raises(Superseded, match=r"sources/wiki/v0/documents \(2024\): a newer run has taken it over"):
        check_claim(lake, here, "older")


def test_a_claim_on_what_is_made_from_a_partition_counts_and_its_own_does_not(lake: FolderStore) -> None:
    here = place(documents_asset("wiki", "v0"), "2024")
    lake.put(here.claim_path, b'{"token":"other"}')
    for elsewhere in (place(documents_asset("news", "v0"), "2024"), place(documents_asset("wiki", "v0"), "2025")):
        lake.put(elsewhere.claim_path, b'{"token":"other"}')
    assert not others_at_work(lake, here, "mine")
    reader = place(attributes_asset("wiki", "v0", "length-1"), "2024")
    lake.put(reader.claim_path, b'{"token":"mine"}')
    assert not others_at_work(lake, here, "mine")
    lake.put(reader.claim_path, b'{"token":"other"}')
    assert others_at_work(lake, here, "mine")


WIKI = place(documents_asset("wiki", "v0"), "2024")


def living() -> Process:
    """A process that runs, and is not this one: the first of the system."""
    return msgspec.structs.replace(this_process(), pid="1", started="", since="2026-01-02 03:04:05 UTC")


def dead() -> Process:
    """A process of this machine that has ended."""
    program = subprocess.Popen([sys.executable, "-c", ""])
    program.wait()
    return msgspec.structs.replace(this_process(), pid=str(program.pid))


def test_a_partition_is_left_to_a_process_that_runs_and_the_error_names_it(lake: FolderStore) -> None:
    write_claim(lake, WIKI, "first", Claimant(living()))
    host = this_process().host
    words = rf"wiki/v0/documents \(2024\): process 1 on {host} has been making it since 2026-01-02 03:04:05 UTC\. Wait"
    with pytest.raises(AtWork, match=words):
        write_claim(lake, WIKI, "second", Claimant(this_process()))
    assert claim_token(lake, WIKI) == "first"
    write_claim(lake, WIKI, "second", Claimant(this_process(), takes_over=True))
    with pytest.raises(Superseded, match=rf"this one stops here: the newer one is {this_process()}$"):
        check_claim(lake, WIKI, "first")


def test_a_process_of_another_machine_is_asked_about_because_nobody_here_can_see_it(lake: FolderStore) -> None:
    write_claim(lake, WIKI, "first", Claimant(msgspec.structs.replace(living(), host="far\x1b[31m")))
    with pytest.raises(AtWork, match=r"it cannot be seen from here whether that still runs. Wait until it ends, or"):
        write_claim(lake, WIKI, "second", Claimant(this_process()))


def test_a_dead_holder_is_taken_over_at_once(lake: FolderStore) -> None:
    for holder in (dead(), msgspec.structs.replace(living(), boot="the one before the power cut")):
        write_claim(lake, WIKI, "first", Claimant(holder))
        write_claim(lake, WIKI, "second", Claimant(this_process()))
        assert claim_token(lake, WIKI) == "second"


def test_a_run_of_dagster_names_no_process_never_asks_and_is_never_asked_about(lake: FolderStore) -> None:
    write_claim(lake, WIKI, "by hand", Claimant(living()))
    write_claim(lake, WIKI, "run-0")
    assert lake.read(WIKI.claim_path) == b'{"token":"run-0"}'  # as it always was
    write_claim(lake, WIKI, "run-1")
    write_claim(lake, WIKI, "by hand again", Claimant(this_process()))
    assert claim_token(lake, WIKI) == "by hand again"
    assert set(msgspec.json.decode(lake.read(WIKI.claim_path), type=dict[str, str])) >= {
        "token",
        "pid",
    }  # 0.2 reads it so


class WrongEtags(FolderStore):
    """A bucket that shows other etags than those that it compares."""

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        found = super().read_tagged(path)
        return (found[0], f"{found[1]}-weak") if found else None


def test_a_claim_that_can_never_be_written_is_an_error_and_no_endless_loop(lake: FolderStore) -> None:
    write_claim(lake, WIKI, "run-0")
    with pytest.raises(Conflict, match=r"\.claim"):
        write_claim(WrongEtags(lake.url), WIKI, "run-1")
    assert claim_token(lake, WIKI) == "run-0"


def test_a_claim_is_left_behind_if_its_process_has_ended_and_not_if_nobody_can_tell(lake: FolderStore) -> None:
    assert has_leftovers(lake, WIKI)  # asked only of files beside a ledger: without a claim no run needs them
    write_claim(lake, WIKI, "first", Claimant(dead()))
    assert has_leftovers(lake, WIKI)
    write_claim(lake, WIKI, "of Dagster")
    assert not has_leftovers(lake, WIKI)
    for holder in (living(), msgspec.structs.replace(dead(), host="far")):
        lake.delete([WIKI.claim_path])
        write_claim(lake, WIKI, "second", Claimant(holder))
        assert not has_leftovers(lake, WIKI)


def run_of_dagster(root: str, claimed: Event, ends: Event) -> None:
    """A run whose steps are in this process."""
    write_claim(FolderStore(root), WIKI, "of Dagster", Claimant.of_dagster(in_process=True))
    claimed.set()
    ends.wait(60)


def code_server(root: str, claimed: Event, ends: Event, numbers: Any) -> None:
    """It starts the process of a run, and is killed before the run ends."""
    run = get_context("spawn").Process(target=run_of_dagster, args=(root, claimed, ends))
    run.start()
    numbers.put(run.pid)
    run.join()


def test_a_claim_of_dagster_is_left_behind_if_the_process_of_its_run_has_ended(lake: FolderStore) -> None:
    """Not if the code server has, which started that process: the run goes on."""
    spawn = get_context("spawn")
    claimed, ends, numbers = spawn.Event(), spawn.Event(), spawn.Queue()
    server = spawn.Process(target=code_server, args=(lake.url, claimed, ends, numbers))
    server.start()
    assert claimed.wait(60)
    number = numbers.get(timeout=60)
    server.kill()
    server.join()
    assert not has_leftovers(lake, WIKI)
    os.kill(number, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while not has_leftovers(lake, WIKI):  # the system takes a killed process away when it gets to it
        assert time.monotonic() < deadline
        time.sleep(0.01)
    write_claim(lake, WIKI, "second", Claimant(this_process()))  # nobody is asked about it
    assert claim_token(lake, WIKI) == "second"


def test_a_run_whose_steps_have_processes_of_their_own_names_none(lake: FolderStore) -> None:
    write_claim(lake, WIKI, "of Dagster", Claimant.of_dagster(in_process=False))
    assert json.loads(lake.read(WIKI.claim_path)) == {"token": "of Dagster"}


def test_of_two_that_claim_at_the_same_moment_one_is_told_of_the_other(lake: FolderStore) -> None:
    class Late(FolderStore):
        """Another process claims the partition right after this one has looked."""

        def read_tagged(self, path: str) -> tuple[bytes, str] | None:
            found = super().read_tagged(path)
            if found is None:
                write_claim(lake, WIKI, "first", Claimant(living()))
            return found

    with pytest.raises(AtWork):
        write_claim(Late(lake.url), WIKI, "second", Claimant(this_process()))
    assert claim_token(lake, WIKI) == "first"


def test_who_gives_up_and_lives_on_is_not_asked_about(lake: FolderStore) -> None:
    with release_claims(lake, [WIKI.asset], "2024", "first"):
        write_claim(lake, WIKI, "first", Claimant(living()))
    assert lake.read(WIKI.claim_path) == b'{"ended":"yes","token":"first"}'  # receipts have an owner still
    assert has_leftovers(lake, WIKI)
    with release_claims(lake, [WIKI.asset], "2024", "first"):
        write_claim(lake, WIKI, "second", Claimant(living()))
    with pytest.raises(AtWork):
        write_claim(lake, WIKI, "third", Claimant(this_process()))


def test_all_sets_of_a_step_are_let_go_if_one_is_held(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    step = mill.tagging("words-1", "length-1")
    first, second = (place(asset, step.snapshot) for asset in step.makes)
    write_claim(mill.store, second, "other", Claimant(living()))
    with pytest.raises(AtWork), release_claims(mill.store, step.makes, step.snapshot, "mine"):
        plan(step, mill.lake, "mine", by=Claimant(this_process()))
    assert mill.store.read(first.claim_path) == b'{"ended":"yes","token":"mine"}'
    assert claim_token(mill.store, second) == "other"
