import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import pytest

from gristmill.errors import Conflict, DataError, GristmillError, RecipeError, StoreError, Superseded
from gristmill.execution.runner import Inline, grind_all_items, grind_one_item, raise_grind_failures
from gristmill.execution.work import Done, Engine, Failed, Ground, Item, Job, Outcome, encode_raw
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.store.open import Lake

JOB = Job("no_such_stage", Lake("nowhere"), (), encode_raw({}))


def item(name: str, weight: int = 1) -> Item:
    return Item(name, weight, encode_raw({}))


def failed(error: str, name: str) -> Failed:
    return Failed(error, f"message of {name}", "", name)


class Echo:
    """An engine that makes a receipt of every item, in the order in which they came."""

    def __init__(self) -> None:
        self.order: list[str] = []

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        assert job is JOB
        for each in items:
            self.order.append(each.name)
            shard = Shard(each.name, 0, 0, 0, "", "", "", "", ())
            outcome = Outcome((Ground("asset", Receipt(shard)),), {"seen": 1})
            if each.name.startswith("bad"):
                outcome = Outcome((), failed=(failed("DataError", each.name),))
            yield Done(each.name, each.weight, outcome, 0.5)


def test_the_heaviest_go_first_and_equals_by_name() -> None:
    engine = Echo()
    grind_all_items(engine, JOB, [item("a", 1), item("c", 5), item("b", 5), item("d", 9)], lambda _: None)
    assert engine.order == ["d", "b", "c", "a"]


def test_what_was_done_is_added_up_and_failures_are_collected() -> None:
    said: list[str] = []
    tally = grind_all_items(Echo(), JOB, [item("a"), item("bad-1"), item("b"), item("bad-2")], said.append)
    assert sorted(tally.ground["asset"]) == ["a", "b"]
    assert [each.name for each in tally.failed] == ["bad-1", "bad-2"]
    assert (tally.facts, tally.cpu) == ({"seen": 2}, 2.0)
    assert said[-1].startswith("4 of 4 shards, ")
    assert said[-1].endswith("0 s left, 2 failed")


class Failing:
    """An engine whose items all fail with these messages, one after another.

    Args:
        messages: of the failures; empty: the shard is made.
    """

    def __init__(self, *messages: str) -> None:
        self.messages = messages

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        assert job is JOB
        for each, message in zip(items, self.messages, strict=False):
            made = (Ground("asset", Receipt(Shard(each.name, 0, 0, 0, "", "", "", "", ()))),)
            why = (Failed("DataError", message.format(each.name), "", each.name),)
            yield Done(each.name, each.weight, Outcome((), failed=why) if message else Outcome(made))


@pytest.mark.parametrize(
    ("messages", "failed", "left"),
    [
        (["{}.jsonl: row 17: no id", "{}.jsonl: row 4: no id", "{}.jsonl: row 9: no id"], 3, 7),
        ([f"{{}}: on row 0 (id '{name}'): no text" for name in ("a.md", "it\\'s/b", "c c")], 3, 7),
        ([f"{{}}: rows (ids '{name}' to \"{name}'s\"): no text" for name in "abc"], 3, 7),
        ([f"shard {{}}: all refused; the first: {name}.txt: not utf-8" for name in "abc"], 3, 7),
        ([f"sources/x/raw/first/{name}.csv: no header" for name in "abc"], 3, 7),
        (["{}: KeyError: 'a'", "{}: KeyError: 'b'", "{}: KeyError: 'a'"], 3, 0),
        (["{}: no id", "{}: no id", "{}: no text", "{}: no id"] * 2, 8, 0),
        (["{}: no id", "{}: no id", "", "{}: no id", "{}: no id", "{}: no id"], 5, 0),
        (["", "{}: no id", "{}: no id", "{}: no id"], 3, 0),
    ],
)
def test_a_partition_stops_if_the_first_three_that_end_fail_alike(messages: list[str], failed: int, left: int) -> None:
    names = ["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii", "jj"]
    tally = grind_all_items(
        Failing(*messages, *[""] * (10 - len(messages))), JOB, [item(name) for name in names], lambda _: None
    )
    assert (len(tally.failed), {each.left for each in tally.failed}) == (failed, {left})
    assert sum(map(len, tally.ground.values())) == 10 - failed - left
    words = "3 of 10 shards failed; the other 7 were not ground" if left else "the others are done"
    with pytest.raises(DataError, match=words):
        raise_grind_failures(tally.failed, 10)


def test_of_three_shards_that_fail_alike_nothing_is_left() -> None:
    tally = grind_all_items(
        Failing("{}: no id", "{}: no id", "{}: no id"), JOB, [item("a"), item("b"), item("c")], lambda _: None
    )
    assert [each.left for each in tally.failed] == [0, 0, 0]


class Broken:
    """An engine of a package that makes an item, and then fails as a function does."""

    def __init__(self, fail: Callable[[], object]) -> None:
        self.fail = fail

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        yield from Echo().map(job, list(items)[:1])
        self.fail()


class NoResults:
    """An engine of a package that gives what is no result."""

    def __init__(self, given: object) -> None:
        self.given = given

    def map(self, job: Job, items: Iterable[Item]) -> Any:  # noqa: ARG002 - the protocol names them
        return self.given


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (Broken(lambda: 1 // 0), "the engine Broken, its map.*: ZeroDivisionError: .*, at .*test_runner.py, line"),
        (Broken(lambda: sys.exit(0)), "the engine Broken, its map.*: SystemExit: 0 .*, at .*test_runner.py, line"),
        (NoResults(None), "the engine NoResults, its map.*: TypeError: 'NoneType' object is not iterable; mend it"),
        (NoResults(["a"]), "the engine NoResults, its map.*: TypeError: it gives str, and no Done; mend it"),
    ],
    ids=["raises", "exits", "none", "words"],
)
def test_an_engine_of_a_package_that_fails_is_named(engine: Engine, words: str) -> None:
    with pytest.raises(DataError, match=words):
        grind_all_items(engine, JOB, [item("a"), item("b")], lambda _: None)


@pytest.mark.parametrize("error", [StoreError("no scheduler"), KeyboardInterrupt()])
def test_an_engine_that_does_not_answer_or_is_stopped_says_so_itself(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        grind_all_items(Broken(fail), JOB, [item("a"), item("b")], lambda _: None)
    assert caught.value is error


def test_nothing_to_do_says_nothing() -> None:
    said: list[str] = []
    assert grind_all_items(Echo(), JOB, [], said.append).ground == {}
    assert said == []


def test_a_stage_that_cannot_be_opened_is_every_items_failure() -> None:
    for done in Inline().map(JOB, [item("a"), item("b")]):
        (why,) = done.outcome.failed
        assert why.error == "crash"
        assert f"shard {done.name}:" in why.message
        assert "no_such_stage" in why.message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (DataError("wrong"), "DataError"),
        (RecipeError("wrong"), "RecipeError"),
        (StoreError("wrong"), "StoreError"),
        (Superseded("wrong"), "Superseded"),
        (GristmillError("wrong"), "DataError"),
        (MemoryError(), "StoreError"),
        (ZeroDivisionError("wrong"), "crash"),
    ],
)
def test_every_error_becomes_a_failure_that_travels(error: Exception, kind: str) -> None:
    def grind(item: Item) -> Outcome:  # noqa: ARG001 - the protocol names it
        raise error

    done = msgspec.json.decode(msgspec.json.encode(grind_one_item(grind, item("a", 7))), type=Done)
    (why,) = done.outcome.failed
    assert (done.name, done.weight, why.error) == ("a", 7, kind)
    if str(error):
        assert "wrong" in why.message


def test_the_most_lasting_kind_of_failure_is_raised() -> None:
    raise_grind_failures([], 3)
    with pytest.raises(StoreError, match="message of a"):
        raise_grind_failures([failed("StoreError", "a")], 1)
    with pytest.raises(DataError, match=r"2 of 3 shards failed; the others are done(.|\n)*of b\n(.|\n)*of a"):
        raise_grind_failures([failed("StoreError", "a"), failed("DataError", "b")], 3)
    with pytest.raises(RecipeError):
        raise_grind_failures([failed("DataError", "a"), failed("RecipeError", "b")], 3)
    with pytest.raises(Superseded):
        raise_grind_failures([failed("RecipeError", "a"), failed("Superseded", "b")], 3)
    with pytest.raises(DataError, match="in the recipe's own code"):
        raise_grind_failures([failed("crash", "a"), failed("StoreError", "b")], 3)


def test_five_messages_are_shown_and_the_rest_counted() -> None:
    with pytest.raises(DataError, match=r"and 95 more") as caught:
        raise_grind_failures([failed("DataError", f"{n:02d}") for n in range(100)], 200)
    assert [line[-2:] for line in str(caught.value).splitlines()[1:6]] == ["00", "01", "02", "03", "04"]


@pytest.mark.parametrize(
    ("errors", "calls", "failures"),
    [
        ([], 1, 0),
        ([Conflict("met")], 2, 0),
        ([Conflict("met")] * 3, 4, 0),
        ([Conflict("met")] * 9, 4, 1),
        ([StoreError("wrong")], 1, 1),
        ([Conflict("met"), DataError("wrong")], 2, 1),
    ],
)
def test_an_item_is_ground_again_only_if_it_met_another_run(
    errors: list[GristmillError], calls: int, failures: int
) -> None:
    came = 0

    def grind(item: Item) -> Outcome:  # noqa: ARG001 - the protocol names it
        nonlocal came
        came += 1
        if came <= len(errors):
            raise errors[came - 1]
        return Outcome(())

    done = grind_one_item(grind, item("a"))
    assert (came, len(done.outcome.failed)) == (calls, failures)
