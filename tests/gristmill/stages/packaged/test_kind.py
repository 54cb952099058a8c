"""A kind of an installed package, from plan to takedown, by the commands that people give."""

import gzip
import json
from functools import reduce
from pathlib import Path

import pytest
from songs import Songs

from gristmill.errors import DataError
from gristmill.stages.packaged.kind import encode_row_line

ASSET = "lengths/short-1/verses"
MADE = f"lake/{ASSET}/1"
SHARD = f"{MADE}/b.txt.jsonl.gz"


@pytest.fixture
def songs(tmp_path: Path) -> Songs:
    return Songs(tmp_path)


def rows(shard: Path) -> list[dict[str, int]]:
    return [json.loads(line) for line in gzip.decompress(shard.read_bytes()).splitlines()]


def test_it_is_planned_made_verified_traced_and_taken_down(songs: Songs) -> None:
    code, said = songs.run("plan", "short-1")
    assert (code, f"follow   {ASSET} (1): after sources/verses/v0/documents" in said) == (1, True), said
    code, said = songs.run("make")
    assert (code, f"made {ASSET} (1): 3 rows in 3 shards" in said) == (0, True), said
    shards = {each.name[0]: rows(each) for each in (songs.top / MADE).iterdir()}
    assert shards == {  # of 10, 11 and 17 characters
        "a": [{"from": 10, "documents": 1}],
        "b": [{"from": 10, "documents": 1}],
        "c": [{"from": 10, "documents": 1}],
    }
    ledger = json.loads((songs.top / "lake/lengths/short-1/ledgers/verses/1.json").read_text())
    assert (ledger["recipe"]["parameters"], ledger["totals"]["documents"]) == ({"width": 10}, 3)
    assert "1 partition: 1 finished" in songs.run("plan", "short-1")[1]
    code, said = songs.run("verify", "lake", "--all", "--remix", "1")
    assert (code, "WRONG" in said, "9 of 9 ledgers proven, 0 findings" in said) == (0, False, True), said
    assert f"  {SHARD.removeprefix('lake/')}: made from its shard" in songs.run("trace", "lake", "verses", "b.txt")[1]
    (songs.top / "ids").write_text('{"source": "verses", "id": "b.txt"}\n')
    code, said = songs.run("takedown", "lake", "--ids", "ids", "--dry-run")
    assert f"{SHARD.removeprefix('lake/')}: made from document 0 of its shard" in said, said

    (songs.top / "lake/sources/verses/raw/1/b.txt").unlink()
    assert songs.run("make", "short-1")[0] == 0
    assert sorted(each.name[0] for each in (songs.top / MADE).iterdir()) == ["a", "c"]
    code, said = songs.run("verify", "lake", "--asset", ASSET)
    assert (code, "1 of 1 ledgers proven, 0 findings" in said) == (0, True), said


def test_damage_is_found_and_edited_code_is_refused(songs: Songs) -> None:
    assert songs.run("make", "short-1")[0] == 0
    shard = songs.top / SHARD
    whole = shard.read_bytes()
    shard.write_bytes(gzip.compress(b'{"from":10,"documents":2}\n', mtime=0))
    code, said = songs.run("verify", "lake", "--asset", ASSET)
    assert (code, f"{ASSET}/1/b.txt.jsonl.gz: its sha256 is" in said) == (1, True), said
    shard.unlink()
    code, said = songs.run("verify", "lake", "--asset", ASSET)
    assert (code, f"{ASSET}/1/b.txt.jsonl.gz: there is no such object" in said) == (1, True), said
    shard.write_bytes(whole)
    (shard.parent / "d.txt.jsonl.gz").write_bytes(whole)
    code, said = songs.run("verify", "lake", "--asset", ASSET)
    assert (code, f"{ASSET}/1/d.txt.jsonl.gz: no ledger names this object" in said) == (1, True), said
    (shard.parent / "d.txt.jsonl.gz").unlink()

    songs.edit("lengths.py", "sum(row", "2 * sum(row")
    code, said = songs.run("verify", "lake", "--asset", ASSET)
    assert (code, "shard a.txt: its counts are {'documents': 2}, but its ledger says {'documents': 1}" in said) == (
        1,
        True,
    ), said
    code, said = songs.run("plan", "short-1")
    assert (code, "the code of millextras.lengths changed since it was made" in said) == (1, True), said


def test_what_a_package_made_that_is_not_installed_is_named_and_kept(songs: Songs) -> None:
    assert songs.run("make", "short-1")[0] == 0
    points = songs.site / "millextras-1.2.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().partition("[gristmill.asset_kinds]")[0])
    told = "made by the package millextras 1.2, which is not installed"
    code, said = songs.run("verify", "lake", "--all")
    assert (code, f"lengths/: not proven: {told} (install it, and verify again)" in said) == (1, True), said
    (songs.top / "ids").write_text('{"source": "verses", "id": "b.txt"}\n')
    code, said = songs.run("takedown", "lake", "--ids", "ids", "--dry-run")
    assert (code, f"lengths/: {told}" in said) == (1, True), said
    assert songs.run("gc", "lake")[0] == 0
    assert (songs.top / SHARD).exists()
    assert songs.run("plan", "verses")[0] == 1  # its set is due, and nothing of lengths/ is asked


DEEP: dict[str, object] = reduce(lambda inner, _: {"a": inner}, range(201), {})


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ([], "row is no dict"),
        ({"x": float("nan")}, "row.x"),
        ({1: 2}, "row"),
        ({"x": 1 << 64}, "row cannot be written .*64-bit"),
        ({"x": ["\ud800"]}, r"row\.x\[0\] is '\\ud800', which is not UTF-8"),
        (DEEP, "row has more than 200 levels"),
    ],
    ids=["list", "nan", "key", "large", "surrogate", "deep"],
)
def test_a_row_that_is_no_json_object_is_refused(row: object, why: str) -> None:
    with pytest.raises(DataError, match=f"a.jsonl.gz: {why}.*; mend the package's function rows"):
        encode_row_line(row, "a.jsonl.gz")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('{"n": 1.5}', "counts() gives 1.5 for 'n'; give integers"),
        ('{"n": "1"}', "counts() gives '1' for 'n'; give integers"),
        ('{"n": True}', "counts() gives True for 'n'; give integers"),
        ('{"n": 1 << 63}', "counts() gives 9223372036854775808 for 'n'; give integers of 64 bits"),
        ("{1: 2}", "counts() gives 2 for 1; give integers of 64 bits by names"),
        ("None", "counts() gives None, and no dict"),
    ],
)
def test_counts_that_no_ledger_holds_are_refused_and_stop_nothing_else(songs: Songs, given: str, said: str) -> None:
    songs.edit("lengths.py", '{"documents": sum(row["documents"] for row in rows)}', given)
    code, told = songs.run("make")
    assert (code, f"{ASSET}/1/a.txt.jsonl.gz: {said}" in told, "damage, or a bug" in told) == (1, True, False), told
    assert "mend the function counts() of the kind 'lengths' of the package millextras 1.2" in told
    assert "8 partitions made; 1 failed" in told, told  # all but that of the kind


def test_a_kind_whose_findings_end_the_process_is_named_and_stops_nothing_else(songs: Songs) -> None:
    songs.edit(
        "lengths.py", "    def counts", "    def findings(self, part):\n        raise SystemExit(0)\n\n    def counts"
    )
    code, told = songs.run("make")
    named = "the kind 'lengths' of the package millextras 1.2, its findings(): SystemExit: 0 (it called sys.exit), at "
    assert (code, named in told, "lengths.py, line 29; mend it" in told) == (1, True, True), told
    assert "8 partitions made; 1 failed" in told, told


STEP = """
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.store.open import Lake
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.packaged.step import RowsStep

catalogue = read_catalogue(("songbook",))
((kind, declared),) = catalogue.rows_recipes_of_version(catalogue.sources["verses"], "v0")
make(RowsStep(kind, declared, "verses", "1", ("songbook",)), Lake("lake", {}), Inline(), "token", print)
"""


@pytest.mark.parametrize("change", [{"text": "It stops!\n"}, {"id": "z.txt"}, None], ids=["text", "id", "row missing"])
def test_a_damaged_shard_of_documents_stops_its_step(songs: Songs, change: dict[str, str] | None) -> None:
    """The step alone: `make` would make the documents again first."""
    assert songs.run("make", "sources/verses")[0] == 0
    shard = songs.top / "lake/sources/verses/v0/documents/1/b.txt.jsonl.gz"
    document = json.loads(gzip.decompress(shard.read_bytes()))
    data = b"" if change is None else json.dumps(document | change).encode() + b"\n"
    shard.write_bytes(gzip.compress(data, mtime=0))
    code, said = songs.python(STEP)
    assert (code, "sources/verses/v0/documents/1/b.txt.jsonl.gz" in said) == (1, True), said
    assert list((songs.top / "lake/lengths").rglob("1.json")) == []
