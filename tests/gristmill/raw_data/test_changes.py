"""Which raw objects differ from those that the documents were made from."""

import os
from pathlib import Path

import msgspec
import pytest
from testkit import SNAPSHOT, Mill, make_documents

from gristmill.lake.address import raw_folder
from gristmill.raw_data.changes import MOST, RawChanges, find_changes
from gristmill.raw_data.scan import Seen, scan_raw


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """Documents of the objects a, b and c."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw_shards(3, rows=1)
    mill.convert()
    return mill


def changes(mill: Mill, **other: object) -> RawChanges | None:
    seen = scan_raw(mill.source(), mill.store).seen.get(SNAPSHOT, Seen())
    return find_changes(mill.source(), mill.store, mill.store, SNAPSHOT, msgspec.structs.replace(seen, **other))


def test_nothing_differs_after_the_documents_were_made(mill: Mill) -> None:
    assert changes(mill) == ([], [], [], [])


def test_objects_are_new_changed_and_gone(mill: Mill) -> None:
    mill.raw("b.jsonl.gz", make_documents(7))
    mill.raw("d.jsonl.gz", make_documents(1, start=50))
    mill.store.delete([raw_folder("pages", SNAPSHOT) + "c.jsonl.gz"])
    found = changes(mill)
    assert found is not None
    assert tuple(found) == (["d.jsonl.gz"], ["b.jsonl.gz"], ["c.jsonl.gz"], [])
    assert str(found) == "1 file new, 1 changed, 1 gone"
    assert list(found.rows(2)) == [
        {"file": "b.jsonl.gz", "change": "changed"},
        {"file": "c.jsonl.gz", "change": "gone"},
    ]


def test_objects_with_other_stamps_and_the_same_sizes_are_to_look_at(mill: Mill) -> None:
    for name in ("a", "b"):
        os.utime(mill.root / raw_folder("pages", SNAPSHOT) / f"{name}.jsonl.gz", ns=(0, 0))
    mill.raw("c.jsonl.gz", make_documents(7))
    found = changes(mill)
    assert found is not None
    assert tuple(found) == ([], ["c.jsonl.gz"], [], ["a.jsonl.gz", "b.jsonl.gz"])
    assert str(found) == "1 file changed, 2 to look at (other stamp, same size)"
    assert [row["change"] for row in found.rows(3)] == [*["to look at (other stamp, same size)"] * 2, "changed"]


def test_of_a_vanished_snapshot_everything_is_gone(mill: Mill) -> None:
    mill.store.delete([entry.path for entry in mill.store.list(raw_folder("pages", SNAPSHOT))])
    assert changes(mill) == ([], [], ["a.jsonl.gz", "b.jsonl.gz", "c.jsonl.gz"], [])


def test_objects_with_another_ctime_count_only_if_a_look_has_found_other_bytes(mill: Mill) -> None:
    path = mill.root / raw_folder("pages", SNAPSHOT) / "b.jsonl.gz"
    status = path.stat()
    path.chmod(0o640)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert changes(mill) == ([], [], [], [])
    assert changes(mill, rewritten="a mark") == ([], ["b.jsonl.gz"], [], [])


def test_before_any_run_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw_shards(1)
    assert changes(mill) is None


def test_too_many_objects_are_not_compared(mill: Mill) -> None:
    assert changes(mill, objects=MOST + 1) is None


def test_what_cannot_be_listed_keeps_no_report_back(mill: Mill) -> None:
    (mill.root / raw_folder("pages", SNAPSHOT) / "c.jsonl.gz").unlink()
    os.mkfifo(mill.root / raw_folder("pages", SNAPSHOT) / "c.jsonl.gz")
    seen = Seen(objects=2)
    assert find_changes(mill.source(), mill.store, mill.store, SNAPSHOT, seen) is None
