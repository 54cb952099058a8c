from dataclasses import replace

import pytest
from streams import stream
from testkit import Mill, make_documents

from gristmill.errors import NewerSchema
from gristmill.lake.address import mix_index
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.index import Index, index_mix, read_index
from gristmill.stages.mixing.step import stream_step

BLEND = Mix(name="blend", streams=(stream(),))


def mixed(mill: Mill, *snapshots: str) -> None:
    for number, snapshot in enumerate(snapshots):
        mill.raw("a.jsonl.gz", make_documents(3 + number, start=10 * number), snapshot=snapshot)
        mill.convert(snapshot=snapshot)
        mill.make(stream_step(BLEND, "pages", snapshot, ("gristmill", "testshelf")))


def close(mill: Mill, *known: str, snapshots: str = "accumulate") -> Index:
    source = replace(mill.source(), snapshots=snapshots)  # type: ignore[arg-type]  # one of two words
    return index_mix(mill.store, BLEND, {"pages": source}, {"pages": known})


def test_what_is_finished_is_taken_and_what_is_known_besides_is_absent(mill: Mill) -> None:
    mixed(mill, "2023", "2024")
    index = close(mill, "2025", "2024", "2023")
    assert [(each.snapshot, each.totals["rows"]) for each in index.slices] == [("2023", 3), ("2024", 4)]
    assert (index.absent, index.left, index.totals["rows"]) == (("pages/2025",), (), 7)
    assert read_index(mill.store, mix_index("blend")) == index


def test_of_editions_that_replace_each_other_the_newest_alone_is_taken(mill: Mill) -> None:
    mixed(mill, "2023", "2024")
    index = close(mill, "2023", "2024", "2025", snapshots="replace")
    assert [each.snapshot for each in index.slices] == ["2024"]
    assert (index.absent, index.left) == (("pages/2025",), ("pages/2023",))


def test_an_index_of_the_same_slices_has_the_same_fingerprint_and_is_not_written_again(mill: Mill) -> None:
    mixed(mill, "2023", "2024")
    first = close(mill, "2023", "2024")
    stamps = mill.stamps()
    assert close(mill, "2023", "2024") == first
    assert mill.stamps() == stamps
    mixed(mill, "2025")
    assert close(mill, "2023", "2024", "2025").fingerprint != first.fingerprint


def test_a_slice_that_another_run_made_is_taken_though_its_snapshot_was_not_known(mill: Mill) -> None:
    """A run that knows 2024 alone ends after another one, which made and indexed 2025."""
    mixed(mill, "2024", "2025")
    both = close(mill, "2024", "2025")
    assert close(mill, "2024") == both
    mill.store.delete([entry.path for entry in mill.store.list("sources/") if "/2025" in entry.path])
    assert [each.snapshot for each in close(mill, "2024").slices] == ["2024"]  # people have removed its documents


def test_a_slice_of_what_its_stream_read_before_is_not_taken(mill: Mill) -> None:
    """The new source has no such snapshot, so nothing makes the slice again."""
    mixed(mill, "2023", "2024")
    other = replace(BLEND, streams=(stream(version="v1"),))
    index = index_mix(mill.store, other, {"pages": mill.source()}, {"pages": ("2024",)})
    assert [each.snapshot for each in index.slices] == ["2024"]
    assert [each.snapshot for each in close(mill, "2024").slices] == ["2023", "2024"]


def test_an_index_that_is_not_there_or_no_index_is_none(mill: Mill) -> None:
    assert read_index(mill.store, mix_index("blend")) is None
    mill.store.put(f"{mix_index('blend')}/index.json", b'{"schema": 1}')
    assert read_index(mill.store, mix_index("blend")) is None


def test_an_index_of_a_newer_gristmill_is_not_overwritten(mill: Mill) -> None:
    mixed(mill, "2024")
    path = f"{mix_index('blend')}/index.json"
    mill.store.put(path, b'{"schema":2}')
    with pytest.raises(NewerSchema, match="has schema 2, and this Gristmill reads 1: upgrade Gristmill"):
        close(mill, "2024")
    assert mill.store.read(path) == b'{"schema":2}'
