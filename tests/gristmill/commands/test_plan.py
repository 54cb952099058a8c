"""`plan`: what would be rebuilt, and why; read off a lake that Dagster's jobs have made."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_kit import (
    BLEND_LETTERS,
    COUNT_V0,
    COUNT_V1,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    TINY,
    TINY_LETTERS,
    Works,
    letters,
)

from gristmill.__main__ import main
from gristmill.lake.address import place

MADE = (LETTERS_V0, COUNT_V0, LETTERS_V1, COUNT_V1, MOODY_V1, BLEND_LETTERS, TINY_LETTERS)
"""In the order in which they are made."""


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Works]:
    """Two raw shards of the letters."""
    with dg.DagsterInstance.ephemeral() as instance:
        made = Works(tmp_path / "lake", instance)
        made.raw(letters(1, 2, 3), "a")
        made.raw(letters(4, 5, 6), "b")
        yield made


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """The same two shards, taken from raw to tokens and indexes."""
    with dg.DagsterInstance.ephemeral() as instance:
        made = Works(tmp_path_factory.mktemp("finished") / "lake", instance)
        made.raw(letters(1, 2, 3), "a")
        made.raw(letters(4, 5, 6), "b")
        made.arrive("letters")
        made.whole()
        yield made


@pytest.fixture
def ground(finished: Works, tmp_path: Path) -> Iterator[Works]:
    """A copy of them."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield finished.copy(tmp_path / "lake", instance)


class Plan:
    """One dry run: its exit code, and what it says of each partition."""

    def __init__(self, works: Works, capsys: pytest.CaptureFixture[str], *more: str) -> None:
        capsys.readouterr()
        told = ["plan", str(works.root), "--shelves", "dagshelf", "--source", "letters", *more]
        self.code = main([*told, "--json"])
        self.found: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        main(told)
        self.text = capsys.readouterr().out.splitlines()

    def state(self, *addresses: str) -> list[str]:
        by_asset = {each["asset"]: each["state"] for each in self.found}
        return [by_asset[address] for address in addresses]

    def why(self, address: str) -> list[str]:
        return list(next(each["why"] for each in self.found if each["asset"] == address))


def test_of_raw_data_that_nobody_has_touched_everything_would_be_made(
    works: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(works, capsys)
    assert plan.code == 1
    assert [each["asset"] for each in plan.found] == list(MADE)
    assert plan.state(*MADE) == ["make", *["follow"] * 6]
    assert plan.text[0] == f"make     {LETTERS_V0} (2024): 2 to grind; never made"
    assert plan.text[2] == f"follow   {LETTERS_V1} (2024): after {LETTERS_V0}; after {COUNT_V0}"
    assert plan.text[-5] == f"follow   {TINY_LETTERS} (2024): after {BLEND_LETTERS}; after {TINY}"
    assert plan.text[-4:-1] == [
        "set count-1: 1 source, 1 snapshot, new",
        "set moody-1: 1 source, 1 snapshot, new",
        "tokens blend by tiny-1: 1 stream, 1 snapshot, new",
    ]
    assert plan.text[-1] == "7 partitions: 1 make, 6 follow"


def test_a_finished_lake_has_nothing_to_do_and_the_dry_run_leaves_no_trace(
    ground: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {entry.path: entry.etag for entry in ground.store.list("")}
    plan = Plan(ground, capsys)
    assert (plan.code, plan.text) == (0, ["7 partitions: 7 finished"])
    assert {entry.path: entry.etag for entry in ground.store.list("")} == before


@pytest.mark.slow
def test_each_cause_is_named(ground: Works, capsys: pytest.CaptureFixture[str]) -> None:
    ground.block("letter-5")
    assert Plan(ground, capsys).text[:2] == [
        f"make     {BLEND_LETTERS} (2024): 1 to grind, 1 to keep; blocklists/takedowns changed: shard b",
        f"follow   {TINY_LETTERS} (2024): after {BLEND_LETTERS}",
    ]
    ground.block()
    ground.raw(letters(4, 5), "b")
    ground.raw(letters(7), "c")
    plan = Plan(ground, capsys)
    assert plan.why(LETTERS_V0) == ["raw data changed: shard b", "new: shard c"]
    assert plan.state(LETTERS_V0, COUNT_V0, TINY_LETTERS) == ["make", "follow", "follow"]
    ground.raw(letters(4, 5, 6), "b")
    ground.store.delete([f"sources/letters/raw/2024/{name}.jsonl.gz" for name in "ac"])
    assert Plan(ground, capsys).why(LETTERS_V0)[-1] == "no longer has input: shard a"
    ground.raw(letters(1, 2, 3), "a")
    ground.store.delete([f"{MOODY_V1}/2024/a.jsonl.gz"])
    assert Plan(ground, capsys).why(MOODY_V1)[-1] == "its own objects are missing or changed: shard a"


def test_a_list_that_is_gone_and_a_tokenizer_that_changed_are_told_apart(
    ground: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    ground.store.delete(["blocklists/takedowns.jsonl"])
    plan = Plan(ground, capsys)
    assert plan.state(BLEND_LETTERS, TINY_LETTERS) == ["refused", "finished"]
    assert plan.why(BLEND_LETTERS)[0].startswith("blocklists/takedowns.jsonl: a selection names this blocklist")
    ground.block()
    ground.store.put("tokenizers/tiny-1/tokenizer.json", b"{}")
    capsys.readouterr()
    assert main(["plan", str(ground.root), "--shelves", "dagshelf"]) == 1
    said = [line for line in capsys.readouterr().out.splitlines() if "tiny-1" in line]
    assert said[0].startswith(f"wrong    {TINY}: {TINY}/tokenizer.json: changed under its name")
    assert said[1] == f"wait     {TINY_LETTERS} (2024): for {TINY}"


def test_one_mix_and_one_snapshot_can_be_asked_for(works: Works, capsys: pytest.CaptureFixture[str]) -> None:
    works.raw(letters(8), snapshot="2025")
    found = Plan(works, capsys, "--snapshot", "2025").found
    assert [each["asset"] for each in found if each["snapshot"] == "2025"] == list(MADE)
    trained_on = [LETTERS_V0, COUNT_V0, LETTERS_V1, BLEND_LETTERS]  # and what that is made from
    assert [each["asset"] for each in found if each["snapshot"] == "2024"] == trained_on
    found = Plan(works, capsys, "--mix", "blend").found
    assert {each["asset"] for each in found} == {BLEND_LETTERS, TINY_LETTERS}


def edited(works: Works, address: str, kind: str) -> str:
    """Tears or edits a ledger; the path that the plan must name."""
    where = place(address, "2024")
    table = gzip.decompress(works.store.read(where.table))
    lies = {
        "head torn": (where.ledger, works.store.read(where.ledger)[:-40]),
        "table torn": (where.table, works.store.read(where.table)[:-4]),
        "table edited": (where.table, gzip.compress(table.replace(b'"rows":3', b'"rows":4', 1), mtime=0)),
        "head of another table": (where.ledger, works.store.read(where.ledger).replace(b'"shards":2', b'"shards":3')),
    }
    path, data = lies[kind]
    assert works.store.read(path) != data
    works.store.put(path, data)
    return path


@pytest.mark.parametrize("kind", ["head torn", "table torn", "table edited", "head of another table"])
@pytest.mark.parametrize("address", [LETTERS_V0, COUNT_V0, BLEND_LETTERS])
def test_a_torn_or_edited_ledger_is_one_line_and_the_rest_is_planned(
    ground: Works, capsys: pytest.CaptureFixture[str], address: str, kind: str
) -> None:
    path = edited(ground, address, kind)
    plan = Plan(ground, capsys)
    assert plan.code == 1
    assert [each["asset"] for each in plan.found] == list(MADE)
    wrong = [each for each in plan.found if each["state"] == "wrong"]
    assert [each["asset"] for each in wrong] == [address]
    assert wrong[0]["why"][0].startswith((path, place(address, "2024").table))
    assert "run its asset again" in wrong[0]["why"][0]


def test_while_a_run_is_between_table_and_head_what_lies_below_follows(
    ground: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    edited(ground, LETTERS_V0, "head of another table")
    ground.store.put(place(LETTERS_V0, "2024").claim_path, b'{"token":"killed"}')
    plan = Plan(ground, capsys)
    assert plan.state(*MADE) == ["make", *["follow"] * 6]


@pytest.mark.slow
def test_an_edited_total_is_named_and_mended(ground: Works, capsys: pytest.CaptureFixture[str]) -> None:
    head = place(COUNT_V0, "2024").ledger
    before = ground.store.read(head)
    ground.store.put(head, before.replace(b'"rows":6', b'"rows":7'))
    plan = Plan(ground, capsys)
    assert plan.why(COUNT_V0) == [f"{head} was changed by hand (totals); it is written again"]
    assert ground.run("letters_journey").success
    assert ground.store.read(head) == before


def test_an_unknown_snapshot_is_an_error_that_lists_the_known_ones(
    works: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    works.raw(letters(8), snapshot="2025")
    works.raw(letters(8, source="diary"), snapshot="monday", source="diary")
    assert main(["plan", str(works.root), "--shelves", "dagshelf", "--snapshot", "2052"]) == 2
    assert "no source has raw data or a ledger of it; there are diary: monday; letters: 2024, 2025" in (
        capsys.readouterr().err
    )
    assert main(["plan", str(works.root), "--shelves", "dagshelf", "--snapshot", "monday", "--json"]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    v0 = [each["asset"] for each in found if each["asset"].endswith("v0/documents") and each["snapshot"] == "monday"]
    assert v0 == ["sources/diary/v0/documents"]


@pytest.mark.slow
def test_touched_raw_files_are_looked_at_and_not_ground(works: Works, capsys: pytest.CaptureFixture[str]) -> None:
    works.arrive("letters")
    works.whole()
    raw = works.root / "sources/letters/raw/2024/a.jsonl.gz"
    os.utime(raw)
    plan = Plan(works, capsys)
    said = "raw data must be looked at again (other stamps, same sizes): shard a"
    assert plan.text[0] == f"make     {LETTERS_V0} (2024): 1 to look at again, 1 to keep; {said}"
    raw.chmod(0o640)
    made = works.run("letters_journey")
    assert made.success
    assert Plan(works, capsys).text == ["7 partitions: 7 finished"]
    raw.chmod(0o600)  # another ctime alone: planning reads the file, and reports nothing
    assert Plan(works, capsys).text == ["7 partitions: 7 finished"]


def test_what_cannot_be_planned_has_the_exit_code_2(
    works: Works, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = str(works.root)
    assert main(["plan", lake, "--shelves", "dagshelf", "--source", "lettres"]) == 2
    assert "did you mean 'letters'? known: letters, diary" in capsys.readouterr().err
    assert main(["plan", lake, "--shelves", "dagshelf", "--mix", "blind"]) == 2
    assert main(["plan", lake, "--shelves", "dagshelf", "--source", "diary"]) == 2
    assert main(["plan", str(tmp_path / "nowhere")]) == 2
