from dataclasses import replace

from testkit import Mill, make_documents

from gristmill.raw_data.moved import moved_snapshots
from gristmill.recipes.source import Everything

TWICE = "it has the raw objects of snapshot {!r}, which is finished and has none now, so documents would be there twice"


def test_objects_of_a_snapshot_that_has_none_now_are_found_in_the_new_ones(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    raw = mill.root / "sources" / "pages" / "raw"
    (raw / "2024").rename(raw / "moved")
    mill.raw("a.jsonl.gz", make_documents(10), snapshot="2025")  # equal bytes, but another file
    found = moved_snapshots(mill.lake, mill.source(), {"2024"}, {"2025", "moved"})
    assert list(found) == ["moved"]
    assert found["moved"].startswith(TWICE.format("2024"))
    assert "let the raw sensor confirm" in found["moved"]
    assert moved_snapshots(mill.lake, mill.source(), {"2024"}, {"2024", "2025", "moved"}) == {}
    assert moved_snapshots(mill.lake, mill.source(), {"2024"}, set()) == {}


def test_another_partition_moves_the_objects_too(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    whole = replace(mill.source(), partition=Everything())
    found = moved_snapshots(mill.lake, whole, {"2024"}, {"all"})
    assert found["all"].startswith(TWICE.format("2024"))


def test_a_snapshot_whose_loss_was_confirmed_is_no_more_asked_for(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    raw = mill.root / "sources" / "pages" / "raw"
    (raw / "2024").rename(raw / "moved")
    mill.make(replace(mill.conversion(), vanished=True))
    assert moved_snapshots(mill.lake, mill.source(), {"2024"}, {"moved"}) == {}
