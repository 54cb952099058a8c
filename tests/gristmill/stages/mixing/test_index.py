from dataclasses import replace

import pytest
from streams import stream
from testkit import Mill, make_documents

from gristmill.errors import DataError, NewerSchema
from gristmill.lake.address import mix_index
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.index import Index, read_index, why_mix_open, write_mix_index
from gristmill.stages.mixing.step import stream_step

BLEND = Mix(name="blend", streams=(stream(),))


def mixed(mill: Mill, *snapshots: str) -> None:
    for number, snapshot in enumerate(snapshots):
        sized(mill, snapshot, 3 + number, start=10 * number)


def sized(mill: Mill, snapshot: str, rows: int, start: int = 0) -> None:
    mill.raw("a.jsonl.gz", make_documents(rows, start=start), snapshot=snapshot)
    mill.convert(snapshot=snapshot)
    mill.make(stream_step(BLEND, "pages", snapshot, ("gristmill", "testshelf")))


def close(mill: Mill, *known: str, snapshots: str = "accumulate") -> Index:
    source = replace(mill.source(), snapshots=snapshots)  # type: ignore[arg-type]  # one of two words
    return write_mix_index(mill.store, BLEND, {"pages": source}, {"pages": known})


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


def test_an_index_that_holds_an_edition_back_has_the_newest_of_the_others_as_it_is_now(mill: Mill) -> None:
    """Editions of 3, 4 and 5 rows come before one of a single row, which is less than half of 4."""
    mixed(mill, "2021", "2022", "2023")
    sized(mill, "2024", 1)

    def held() -> dict[str, int]:
        with pytest.raises(
            DataError, match=r"index: stream 'pages': edition 2024 has 1 rows, .* takes an older edition"
        ):
            close(mill, "2021", "2022", "2023", "2024", snapshots="replace")
        index = read_index(mill.store, mix_index("blend"))
        assert index is not None
        assert index.left == tuple(f"pages/{key}" for key in ("2021", "2022", "2023") if key < index.slices[0].snapshot)
        return {each.snapshot: each.totals["rows"] for each in index.slices}

    assert held() == {"2023": 5}
    stamps = mill.stamps()
    assert held() == {"2023": 5}
    assert mill.stamps() == stamps
    sized(mill, "2023", 4)  # as after a takedown
    assert why(mill)[-1].startswith("stream 'pages': edition 2024 has 1 rows")
    assert held() == {"2023": 4}
    with pytest.raises(DataError, match="edition 2024 has 1 rows"):
        why(mill)
    sized(mill, "2023", 1)
    assert held() == {"2022": 4}
    sized(mill, "2024", 2)
    assert [each.snapshot for each in close(mill, "2024", snapshots="replace").slices] == ["2024"]


def why(mill: Mill) -> tuple[str, ...]:
    """Why the index of editions would be written again."""
    source = replace(mill.source(), snapshots="replace")
    return why_mix_open(mill.store, BLEND, {"pages": source}, {"pages": ("2021", "2022", "2023", "2024")})


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
    """2024 is a snapshot of both: until its new slice is made, it is absent. Nothing makes that of 2023 again."""
    mixed(mill, "2023", "2024")
    other = replace(BLEND, streams=(stream(version="v1"),))
    index = write_mix_index(mill.store, other, {"pages": mill.source()}, {"pages": ("2024",)})
    assert (index.slices, index.absent) == ((), ("pages/2024",))
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
