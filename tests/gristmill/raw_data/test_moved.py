from dataclasses import replace

from testkit import Mill, make_documents

from gristmill.raw_data.moved import moved_snapshots
from gristmill.recipes.source import Everything

TWICE = "it has raw objects of snapshot {!r}, which is finished and has none now, so documents would be there twice"


def move(mill: Mill, name: str, to: str) -> None:
    raw = mill.root / "sources" / "pages" / "raw"
    (raw / to).parent.mkdir(exist_ok=True)
    (raw / "2024" / name).rename(raw / to)


def copy(mill: Mill, name: str, to: str) -> None:
    raw = mill.root / "sources" / "pages" / "raw"
    (raw / to).parent.mkdir(exist_ok=True)
    (raw / to).write_bytes((raw / "2024" / name).read_bytes())


def test_objects_of_a_snapshot_that_has_none_now_are_found_in_the_new_ones(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    move(mill, "a.jsonl.gz", "moved/a.jsonl.gz")
    mill.raw("a.jsonl.gz", make_documents(10, start=10), snapshot="2025")  # the same name, another text
    found = moved_snapshots(mill.lake, mill.source(), {"2024"}, {"2025", "moved"})
    assert list(found) == ["moved"]
    assert found["moved"].startswith(TWICE.format("2024"))
    assert "by `gristmill make --vanished SOURCE/SNAPSHOT`, or" in found["moved"]
    assert moved_snapshots(mill.lake, mill.source(), {"2024"}, {"2024", "2025", "moved"}) == {}
    assert moved_snapshots(mill.lake, mill.source(), {"2024"}, set()) == {}


def test_copies_count_as_moved_under_any_folder(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        copy(mill, name, f"copied/{name}")
    assert list(moved_snapshots(mill.lake, mill.source(), {"2024"}, {"copied"})) == ["copied"]


def test_objects_that_move_into_a_finished_snapshot_are_found_too(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.raw("z.jsonl.gz", make_documents(10, start=90), snapshot="2025")
    mill.convert(snapshot="2025")
    made = {"2024", "2025"}
    assert moved_snapshots(mill.lake, mill.source(), made, {"2025"}) == {}
    move(mill, "a.jsonl.gz", "2025/a.jsonl.gz")
    assert list(moved_snapshots(mill.lake, mill.source(), made, {"2025"})) == ["2025"]


def test_objects_that_move_into_several_snapshots_are_counted_together(mill: Mill) -> None:
    mill.raw_shards(4)
    mill.convert()
    for number, name in enumerate("abcd"):
        move(mill, f"{name}.jsonl.gz", f"2025-{number % 2}/{name}.jsonl.gz")
    new = {"2025-0", "2025-1"}
    assert set(moved_snapshots(mill.lake, mill.source(), {"2024"}, new)) == new


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


def test_a_small_object_that_many_snapshots_have_is_no_move(mill: Mill) -> None:
    """A licence file, say: one of 20 objects. A tenth of the bytes is a move."""
    mill.raw_shards(20)
    mill.convert()
    move(mill, "a.jsonl.gz", "2025/a.jsonl.gz")
    assert moved_snapshots(mill.lake, mill.source(), {"2024"}, {"2025"}) == {}
    for name in "bcd":
        move(mill, f"{name}.jsonl.gz", f"2025/{name}.jsonl.gz")
    assert list(moved_snapshots(mill.lake, mill.source(), {"2024"}, {"2025"})) == ["2025"]


def test_an_edition_may_have_all_objects_of_the_one_that_it_replaces(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    raw = mill.root / "sources" / "pages" / "raw"
    (raw / "2024").rename(raw / "2025")
    assert moved_snapshots(mill.lake, replace(mill.source(), snapshots="replace"), {"2024"}, {"2025"}) == {}
