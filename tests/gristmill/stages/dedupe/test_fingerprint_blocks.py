"""Forged, cut and foreign fingerprints are refused, with the file and the mend."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import xxhash
from hashlake import HashLake, hash_files, publish_rows, put_fingerprints, recipe_of

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import FINGERPRINTS
from gristmill.stages.fingerprints.reader import FingerprintPart

WHERE = place(FINGERPRINTS.at(dedupe="paragraphs-1", source="news"), "a")
HI = np.array([0, 2**63, 1, 2**64 - 1], np.uint64)


def forged(lake: HashLake, hashes: bytes, buckets: bytes | None = None) -> None:
    """Publishes a shard with these files; its ledger names their digests, but not what they should hold."""
    good = hash_files(HI, HI, 2)
    if buckets is None:
        ends = np.array([0, 2, 4], "<u8")
        digests = [xxhash.xxh3_128_digest(hashes[at : at + 40]) for at in (0, 40)]
        buckets = ends.tobytes() + b"".join(digests)
    files = {"s": {"hashes": hashes, "buckets": buckets}, "t": good}
    put_fingerprints(lake.mill.store, lake.recipe, "news", "a", files)


def block(hi: list[int], ordinals: list[int]) -> bytes:
    return np.array([*hi, *hi], "<u8").tobytes() + np.array(ordinals, "<u4").tobytes()


LOW, HIGH = [0, 1], [2**63, 2**64 - 1]


@pytest.mark.parametrize(
    ("hashes", "words"),
    [
        (block(HIGH, [0, 1]) + block(LOW, [2, 3]), "bucket 0 has a hash of another bucket"),
        (block(LOW, [1, 0]) + block(HIGH, [2, 3]), "bucket 0: its hashes are not in the order of the shard"),
        (block(LOW, [1, 1]) + block(HIGH, [2, 3]), "bucket 0: its hashes are not in the order of the shard"),
        (block(LOW, [0, 1]) + block(HIGH, [2, 4]), "bucket 1 has hash 4 of a shard of 4 hashes"),
    ],
)
@pytest.mark.parametrize("unit", [1 << 20, 20])
def test_forged_hashes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: bytes, words: str, unit: int
) -> None:
    monkeypatch.setattr("gristmill.stages.dedupe.runs.step.MIB", unit)
    lake = HashLake(tmp_path, recipe_of(buckets=2))
    forged(lake, hashes)
    with pytest.raises(DataError, match=f"hashes: {words}; make the fingerprints of this snapshot again"):
        lake.runs("news", "a")


@pytest.mark.parametrize(
    ("ends", "digests", "words"),
    [
        ([0, 2, 5], 2, "its offsets are not those of 4 hashes"),
        ([0, 5, 4], 2, "its offsets are not those of 4 hashes"),
        ([1, 2, 4], 2, "its offsets are not those of 4 hashes"),
        ([0, 2, 3, 4], 3, "80 bytes are not those of 2 buckets"),
        ([0, 4], 1, "32 bytes are not those of 2 buckets"),
        ([0, 2, 4], 1, "40 bytes are not those of 2 buckets"),
    ],
)
def test_forged_offsets_are_refused(tmp_path: Path, ends: list[int], digests: int, words: str) -> None:
    lake = HashLake(tmp_path, recipe_of(buckets=2))
    forged(lake, block(LOW, [0, 1]) + block(HIGH, [2, 3]), np.array(ends, "<u8").tobytes() + bytes(16 * digests))
    with pytest.raises(DataError, match=f"buckets: {words}; make the fingerprints of this snapshot again"):
        lake.runs("news", "a")


@pytest.mark.parametrize("unit", [1 << 20, 20])
def test_bytes_that_changed_after_they_were_written_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: int
) -> None:
    monkeypatch.setattr("gristmill.stages.dedupe.runs.step.MIB", unit)
    lake = HashLake(tmp_path, recipe_of(buckets=2))
    forged(lake, hash_files(HI, HI, 2)["hashes"])
    row = lake.mill.table(WHERE)["t"]
    for path in row.objects or {}:
        before = lake.mill.store.read(path)
        lake.mill.store.put(path, before[:-1] + b"\xff")
        with pytest.raises(DataError, match=f"{path}.* other bytes than"):
            lake.runs("news", "a")
        lake.mill.store.put(path, before)


def test_a_shard_of_another_recipe_and_a_wrong_count_are_refused(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of(buckets=2))
    forged(lake, hash_files(HI, HI, 2)["hashes"])
    rows = list(lake.mill.table(WHERE).values())
    publish_rows(lake.mill.store, lake.recipe, WHERE, [rows[0], msgspec.structs.replace(rows[1], recipe="0")])
    with pytest.raises(DataError, match="shard t has fingerprints of another recipe; make the fingerprints"):
        lake.runs("news", "a")
    extra = {**rows[0].extra, "facts": {"hashes": 3}}
    publish_rows(lake.mill.store, lake.recipe, WHERE, [msgspec.structs.replace(rows[0], extra=extra), rows[1]])
    with pytest.raises(DataError, match="80 bytes are not the 3 hashes that its ledger names"):
        lake.runs("news", "a")


def test_the_fixture_of_these_tests_is_what_the_reader_of_fingerprints_reads(tmp_path: Path) -> None:
    lake = HashLake(tmp_path, recipe_of(buckets=2))
    lake.give("news", "a", {"s": [(hi, hi // 3) for hi in HI.tolist()]})
    part = FingerprintPart(lake.mill.store, lake.mill.table(WHERE)["s"], WHERE.table)
    found = [[column.tolist() for column in part.bucket(number)] for number in (0, 1)]
    assert found == [[[0, 1], [0, 0], [0, 2]], [[2**63, 2**64 - 1], [2**63 // 3, (2**64 - 1) // 3], [1, 3]]]
