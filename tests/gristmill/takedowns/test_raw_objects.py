"""Which raw objects are as they were when documents were made from them. What a proof says: test_foreign.py."""

import hashlib
from pathlib import Path

import msgspec
import pytest
from testkit import Mill, make_documents

from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.raw_parts import PartEdges, RawPart, part_name
from gristmill.stages.conversion.parts import add_part_edges
from gristmill.takedowns.raw_objects import CHANGED, UNUSED, RawObjects

RAW = "sources/pages/raw"


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", make_documents(3))
    mill.convert()
    return mill


def why(mill: Mill, path: str, rows: list[Shard] | None = None) -> str:
    """What is said of one object."""
    objects = RawObjects(mill.store)
    objects.add(mill.documents(), rows or read_ledger(mill.store, mill.documents())[1])
    assert objects.assets_outside() == [RAW]
    entry = mill.store.head(path)
    assert entry is not None
    said = objects.why_unread(entry)
    assert objects.assets_outside() == ([RAW] if said == UNUSED else [])
    return said


def test_without_a_note_of_the_run_the_ledger_decides(mill: Mill) -> None:
    path = f"{RAW}/2024/a.jsonl.gz"
    data = mill.store.read(path)
    for noted in (True, False):
        if not noted:
            mill.store.delete([mill.documents().run])
        mill.store.put(path, data)
        assert why(mill, path) == ""
        mill.store.put(path, data[:4] + bytes([data[4] ^ 1]) + data[5:])  # the time in gzip's header
        assert why(mill, path) == CHANGED
    mill.store.put(f"{RAW}/2024/b.jsonl.gz", data)
    assert why(mill, f"{RAW}/2024/b.jsonl.gz") == UNUSED


def test_all_parts_of_an_object_are_compared_and_its_size(mill: Mill) -> None:
    path, data = f"{RAW}/2024/big.jsonl", b"0123456789abcde"
    [row] = read_ledger(mill.store, mill.documents())[1]
    rows = []
    for part in (RawPart(0, 10), RawPart(10, 15)):
        sha256 = hashlib.sha256(data[part.start : part.end]).hexdigest()
        read = msgspec.structs.replace(row.inputs[0], shard=part_name("big.jsonl", part.start), content=sha256)
        whole = msgspec.structs.replace(row, inputs=(read,))
        rows.append(add_part_edges(whole, PartEdges("big.jsonl", 15, part)))
    said = {}
    for each in (data, b"0123456789abcdE", b"0123456789abcdef", b"x123456789abcde"):
        mill.store.put(path, each)
        said[each] = why(mill, path, rows)
    assert list(said.values()) == ["", CHANGED, CHANGED, CHANGED]


def test_an_object_is_not_taken_for_one_of_its_name_in_a_folder_of_the_snapshots_name(mill: Mill) -> None:
    """As with partition=Everything(): all objects are of one snapshot, and their names begin below `raw/`."""
    [row] = read_ledger(mill.store, mill.documents())[1]
    rows = []
    for name in ("x.jsonl", "2024/x.jsonl"):
        mill.store.put(f"{RAW}/{name}", name.encode())
        read = msgspec.structs.replace(row.inputs[0], shard=name, content=hashlib.sha256(name.encode()).hexdigest())
        rows.append(msgspec.structs.replace(row, name=name, inputs=(read,)))
    for name in ("x.jsonl", "2024/x.jsonl"):
        assert why(mill, f"{RAW}/{name}", rows) == ""
