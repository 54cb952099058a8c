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


def test_one_object_that_stays_the_same_is_no_move(mill: Mill) -> None:
    """A licence file, say, that lies in each snapshot: here a link to the same file."""
    mill.raw_shards(2)
    mill.convert()
    raw = mill.root / "sources" / "pages" / "raw"
    (raw / "2025").mkdir()
    (raw / "2025" / "a.jsonl.gz").hardlink_to(raw / "2024" / "a.jsonl.gz")
    assert moved_snapshots(mill.lake, mill.source(), {"2024"}, {"2025"}) == {}
    (raw / "2025" / "b.jsonl.gz").hardlink_to(raw / "2024" / "b.jsonl.gz")
    assert list(moved_snapshots(mill.lake, mill.source(), {"2024"}, {"2025"})) == ["2025"]


def test_an_edition_may_have_all_objects_of_the_one_that_it_replaces(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    raw = mill.root / "sources" / "pages" / "raw"
    (raw / "2024").rename(raw / "2025")
    assert moved_snapshots(mill.lake, replace(mill.source(), snapshots="replace"), {"2024"}, {"2025"}) == {}
