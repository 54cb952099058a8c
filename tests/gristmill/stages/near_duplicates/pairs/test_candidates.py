from collections.abc import Callable
from pathlib import Path

import pytest
from nearlake import Near

from gristmill.errors import DataError
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.near_duplicates.inputs import ClusterInputs
from gristmill.stages.near_duplicates.pairs import candidates as module
from gristmill.stages.near_duplicates.pairs.candidates import members_of_buckets

ONE = "the mill grinds"
OTHER = "another text"


def test_the_first_document_of_a_band_may_be_of_the_same_snapshot_or_of_one_before(tmp_path: Path) -> None:
    near = Near(tmp_path)
    near.add(("wiki", "1", {"a": [ONE, OTHER, ONE]}))
    near.resolve()
    near.add(("wiki", "2", {"a": ["", ONE, ONE], "b": [OTHER]}))
    for number, expected in (
        (1, [(0, 0, 2), (0, 1, 2)]),
        (
            2,
            [(0, band, 1 << 48 | node) for band in (0, 1) for node in (0, 1)]
            + [(1, b, 1 << 48 | 1 << 28) for b in (0, 1)],
        ),
    ):
        inputs = ClusterInputs.read(near.store, near.dedupe, near.order, number)
        found = [
            pair
            for members in members_of_buckets(near.store, inputs, inputs.new_ranks)
            for pair in zip(members.heads.tolist(), members.bands.tolist(), members.nodes.tolist(), strict=True)
        ]
        assert sorted(found) == expected


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("repeats", lambda data: data[:-1], "its repeats are not those of its positions"),
        ("repeats", lambda data: b"\xff" * 4 + data[4:], "its repeats are not those of its positions"),
        ("1", lambda data: data[:-1], "file 1 is not of this order"),
        (
            "1",
            lambda data: data[: len(data) // 2] + b"\x02" + data[len(data) // 2 + 1 :],
            "file 1 is not of this order",
        ),
        ("1", lambda data: data[:8] * 2 + data[16:], "file 1 names a position twice"),
        ("1", lambda data: data[:-4] + b"\xff" * 4, "file 1 names a hash that the runs of rank 0 do not have"),
        ("1", lambda data: bytes([data[0] ^ 1]) + data[1:], "it joins hashes of different bands"),
    ],
)
def test_damaged_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, change: Callable[[bytes], bytes], message: str
) -> None:
    near = Near(tmp_path)
    near.add(("wiki", "1", {"a": [ONE, OTHER]}))
    near.resolve()
    near.add(("wiki", "2", {"a": [ONE, OTHER, ONE, OTHER, "a third one"]}))
    inputs = ClusterInputs.read(near.store, near.dedupe, near.order, 2)

    def changed(store: Store, row: Shard, table: str, name: str) -> bytes:
        data = read_part_file(store, row, table, name)
        return change(data) if name == file and len(data) >= (24 if file == "repeats" else 32) else data

    monkeypatch.setattr(module, "read_part_file", changed)
    with pytest.raises(DataError, match=message):
        list(members_of_buckets(near.store, inputs, inputs.new_ranks))


def test_no_files_have_no_members(tmp_path: Path) -> None:
    near = Near(tmp_path)
    near.add(("wiki", "1", {}))
    inputs = ClusterInputs.read(near.store, near.dedupe, near.order, 1)
    assert [len(members) for members in members_of_buckets(near.store, inputs, inputs.new_ranks)] == [0, 0]
    assert near.resolve().totals["clusters"] == 0
