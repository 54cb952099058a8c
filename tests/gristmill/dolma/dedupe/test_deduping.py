"""Runs of `dolma dedupe`: what they write, and what they do after a kill, an edit or a change."""

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import zstandard

from gristmill.dolma.dedupe.config import DedupeConfig
from gristmill.dolma.dedupe.deduping import DedupePlan, plan_dedupe, run_dedupe
from gristmill.dolma.tagging.records import MANIFEST, FileRecord, open_output_folder, write_begun_receipt
from gristmill.dolma.tagging.run_claim import RUNS, RunClaim
from gristmill.errors import AtWork, DataError, MalformedRow, RecipeError
from gristmill.process import this_process

TEXTS = {"a": ["one\ntwo"], "b": ["two\nthree"], "c": ["three", "one"]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, texts in TEXTS.items():
        write(tmp_path, name, *texts)
    return tmp_path


def write(home: Path, name: str, *texts: str) -> None:
    path = home / f"documents/{name}.jsonl.gz"
    path.parent.mkdir(exist_ok=True)
    rows = "".join(json.dumps({"id": f"{name}{number}", "text": text}) + "\n" for number, text in enumerate(texts))
    path.write_bytes(gzip.compress(rows.encode(), mtime=0))


def config(home: Path) -> DedupeConfig:
    return DedupeConfig((f"{home}/documents/*.gz",), "p", "dup")


def dedupe(given: DedupeConfig, *, force: bool = False) -> DedupePlan:
    plan = plan_dedupe(given, {}, force=force)
    run_dedupe(plan, given, {}, lambda _: None)
    return plan


def contents(home: Path) -> dict[str, list[object]]:
    return {
        path.name[0]: [
            json.loads(line)["attributes"]["dup"] for line in gzip.decompress(path.read_bytes()).splitlines()
        ]
        for path in sorted(home.glob("attributes/p/*.gz"))
    }


MARKS = {"a": [[]], "b": [[[0, 4, 1]]], "c": [[[0, 5, 1]], [[0, 3, 1]]]}


def test_each_file_is_compared_with_those_before(home: Path) -> None:
    plan = dedupe(config(home))
    assert (len(plan.files), len(plan.missing), plan.done_count) == (3, 3, 0)
    assert contents(home) == MARKS
    manifest = json.loads((home / "attributes/p" / MANIFEST).read_text())
    assert manifest["made_by"] == "gristmill dolma dedupe"
    assert not list(home.glob("attributes/p/.dolma-tag/receipts/*"))
    again = plan_dedupe(config(home), {})
    assert (again.files, again.done_count) == ([], 3)


def test_a_missing_file_is_made_after_reading_those_before(home: Path) -> None:
    dedupe(config(home))
    before = {path: path.stat().st_mtime_ns for path in home.glob("attributes/p/*.gz")}
    lost = home / "attributes/p/b.jsonl.gz"
    lost.unlink()
    plan = dedupe(config(home))
    assert [file.name[0] for file in plan.files] == ["a", "b"]
    assert contents(home) == MARKS
    assert {path for path in before if path.stat().st_mtime_ns != before[path]} == {lost}


def test_a_change_makes_that_file_and_those_behind_again(home: Path) -> None:
    dedupe(config(home))
    write(home, "b", "zero\nthree", "one")
    plan = dedupe(config(home))
    assert {file.name[0] for file in plan.missing} == {"b", "c"}
    assert contents(home) == {"a": [[]], "b": [[], [[0, 3, 1]]], "c": [[[0, 5, 1]], [[0, 3, 1]]]}


def test_a_bad_row_stops_the_run_and_the_next_continues(home: Path) -> None:
    (home / "documents/b.jsonl.gz").write_bytes(gzip.compress(b'{"id":"b0"}\n', mtime=0))
    with pytest.raises(MalformedRow, match=r"b\.jsonl\.gz: row 0: no text"):
        dedupe(config(home))
    assert contents(home) == {"a": [[]]}
    write(home, "b", *TEXTS["b"])
    plan = dedupe(config(home))
    assert {file.name[0] for file in plan.missing} == {"b", "c"}
    assert contents(home) == MARKS


def test_files_of_others_and_other_options_are_refused(home: Path) -> None:
    path = home / "attributes/p/a.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    with pytest.raises(DataError, match=r"not made by this command.*a\.jsonl\.gz"):
        dedupe(config(home))
    dedupe(config(home), force=True)
    other = replace(config(home), skip_empty=True)
    with pytest.raises(RecipeError, match=r"made with other options; give another dedupe\.name, or make all again"):
        dedupe(other)
    dedupe(other, force=True)
    assert contents(home) == MARKS


def steps(home: Path) -> tuple[DedupeConfig, DedupeConfig]:
    """A run that saves the keys of `a`, and one that compares all files with them."""
    first = replace(config(home), documents=(f"{home}/documents/a*.gz",), name="q", bloom_file=str(home / "keys"))
    return first, replace(config(home), bloom_file=str(home / "keys"), read_only=True)


def test_a_comparison_with_saved_keys_adds_nothing(home: Path) -> None:
    first, second = steps(home)
    with pytest.raises(RecipeError, match=r"there is no .*/keys; first run the step that fills it"):
        plan_dedupe(second, {})
    dedupe(first)
    saved = (home / "keys").read_bytes()
    plan = dedupe(second)
    assert contents(home) == {"a": [[[0, 4, 1], [4, 7, 1]]], "b": [[[0, 4, 1]]], "c": [[], [[0, 3, 1]]]}
    assert (home / "keys").read_bytes() == saved
    assert len(plan.files) == 3
    (home / "attributes/p/b.jsonl.gz").unlink()
    assert [file.name[0] for file in dedupe(second).files] == ["b"]


def test_other_keys_make_the_marks_again(home: Path) -> None:
    first, second = steps(home)
    dedupe(first)
    dedupe(second)
    write(home, "a", "three")
    assert plan_dedupe(first, {}).keys
    dedupe(first)
    assert len(dedupe(second).missing) == 3
    assert contents(home) == {"a": [[[0, 5, 1]]], "b": [[[4, 9, 1]]], "c": [[[0, 5, 1]], []]}


def test_keys_that_are_missing_are_saved_again_from_the_same_documents(home: Path) -> None:
    first, _ = steps(home)
    dedupe(first)
    saved = (home / "keys").read_bytes()
    assert plan_dedupe(first, {}).keys is None
    (home / "keys").unlink()
    plan = dedupe(first)
    assert (len(plan.files), len(plan.missing)) == (1, 0)
    assert (home / "keys").read_bytes() == saved


@pytest.mark.parametrize("change", [{"documents": "documents/b*.gz"}, {"min_length": 4, "name": "r"}])
def test_keys_of_other_documents_or_options_are_not_added_to(home: Path, change: dict[str, object]) -> None:
    first, _ = steps(home)
    dedupe(first)
    if "documents" in change:
        change = {"documents": (f"{home}/{change['documents']}",)}
    other = replace(first, **change)  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match=r"/keys has keys of other `documents` or options\. The toolkit would add"):
        plan_dedupe(other, {})
    dedupe(other, force=True)
    assert plan_dedupe(other, {}).keys is None


def test_documents_that_arrive_have_their_keys_saved_too(home: Path) -> None:
    first, second = steps(home)
    dedupe(first)
    write(home, "a2", "three")
    assert len(dedupe(first).missing) == 1
    dedupe(second)
    assert contents(home)["c"] == [[[0, 5, 1]], [[0, 3, 1]]]


def test_each_partition_has_a_file_of_keys(home: Path) -> None:
    first, second = steps(home)
    for partition in (0, 1):
        for step in (first, second):
            dedupe(replace(step, partitions=2, partition=partition))
    assert sorted(path.name for path in home.glob("keys*")) == ["keys_0", "keys_1"]
    marks = [
        row["attributes"][f"dup_{partition}"]
        for partition in (0, 1)
        for row in map(
            json.loads, gzip.decompress((home / f"attributes/p_{partition}/a.jsonl.gz").read_bytes()).split(b"\n")[:-1]
        )
    ]
    assert sorted(mark for found in marks for mark in found) == [[0, 4, 1], [4, 7, 1]]


def test_partitions_lie_beside_each_other_and_another_packing_keeps_the_name(home: Path) -> None:
    given = replace(config(home), partitions=2, partition=1, packing=".zst")
    dedupe(given)
    data = (home / "attributes/p_1/c.jsonl.gz").read_bytes()
    rows = zstandard.ZstdDecompressor().stream_reader(data).read().splitlines()
    assert [list(json.loads(row)["attributes"]) for row in rows] == [["dup_1"], ["dup_1"]]


def test_documents_that_were_rewritten_in_place_are_compared_again_with_all_behind_them(home: Path) -> None:
    dedupe(config(home))
    path = home / "documents/a.jsonl.gz"
    before = path.stat()
    write(home, "a", "one\nowt")  # as long as it was
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_ino) == (before.st_size, before.st_ino)
    plan = dedupe(config(home))
    assert (len(plan.missing), plan.done_count) == (3, 0)
    assert contents(home) == {**MARKS, "b": [[]]}


def test_a_file_that_somebody_put_in_the_place_of_a_killed_run_is_not_replaced(home: Path) -> None:
    given = config(home)
    plan = plan_dedupe(given, {})
    store = open_output_folder(str(home / "attributes/p"), {})
    write_begun_receipt(
        store,
        "a.jsonl.gz",
        FileRecord(plan.files[0].url, plan.files[0].version, plan.folders[0].recipe_of_file("a.jsonl.gz")),
    )
    mine = home / "attributes/p/a.jsonl.gz"
    mine.write_bytes(b"mine")
    with pytest.raises(DataError, match="not made by this command, or changed since"):
        dedupe(replace(given, name="p"))
    assert mine.read_bytes() == b"mine"


def test_of_two_runs_with_one_file_of_keys_the_later_one_does_not_replace_the_keys(home: Path) -> None:
    write(home, "d", "four")
    first, second = (
        replace(config(home), documents=(f"{home}/documents/{each}*.gz",), name=each, bloom_file=f"{home}/keys")
        for each in ("a", "d")
    )
    plans = [plan_dedupe(each, {}) for each in (first, second)]
    run_dedupe(plans[0], first, {}, lambda _: None)
    before = (home / "keys").read_bytes()
    with pytest.raises(AtWork, match="keys: another run has written it since this one began"):
        run_dedupe(plans[1], second, {}, lambda _: None)
    assert (home / "keys").read_bytes() == before


def ordered(home: Path, names: str) -> DedupeConfig:
    return replace(config(home), documents=tuple(f"{home}/documents/{name}.jsonl.gz" for name in names))


def test_of_two_runs_with_other_orders_at_once_only_one_writes(home: Path) -> None:
    """Else each may write the file that repeats the other's, and both copies are marked."""
    first, second = (plan_dedupe(ordered(home, names), {}) for names in ("ab", "ba"))
    folder = first.folders[0]
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        begun = folder.claim_if_needed({})
        claim = home / "attributes/p" / begun.claim
        held = msgspec.json.decode(claim.read_bytes(), type=RunClaim)
        lives = msgspec.structs.replace(this_process(), pid=str(child.pid), started="")
        claim.write_bytes(msgspec.json.encode(msgspec.structs.replace(held, process=lives)))
        with pytest.raises(AtWork, match="writes here since"):
            run_dedupe(second, ordered(home, "ba"), {}, lambda _: None)
        assert contents(home) == {}
        dedupe(ordered(home, "ab"))
        dedupe(ordered(home, "c"))
    assert contents(home) == {**MARKS, "c": [[], []]}


def test_a_file_that_another_order_made_again_since_the_plan_is_no_longer_done(home: Path) -> None:
    dedupe(ordered(home, "a"))
    slow = plan_dedupe(ordered(home, "ab"), {})
    assert slow.done_count == 1
    dedupe(ordered(home, "ba"))
    with pytest.raises(AtWork, match="another run has written here since this one looked; run again"):
        run_dedupe(slow, ordered(home, "ab"), {}, lambda _: None)
    dedupe(ordered(home, "ab"))
    assert contents(home) == {"a": MARKS["a"], "b": MARKS["b"]}
    assert not list((home / "attributes/p" / RUNS).glob("*"))
