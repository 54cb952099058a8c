"""Large raw objects become several shards, and nothing is published unless their parts meet."""

import bz2
import gzip
import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from testkit import SNAPSHOT, Mill

from gristmill.engines.local import LocalPool
from gristmill.errors import DataError, RecipeError
from gristmill.execution.runner import Inline
from gristmill.execution.work import Done, Item, Job
from gristmill.lake.ledger.model import Shard
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.parts import lines
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import OneToOne, Source, Split
from gristmill.stages.conversion.parts import check_parts_meet, recorded_part_edges, reported_part_edges
from gristmill.stages.conversion.step import ConversionStep
from gristmill.tracing.raw import Shelves
from gristmill.tracing.trace import trace_document

SHELVES = ("gristmill", "cutshelf")


def rows(count: int, first: int = 0) -> bytes:
    draw = random.Random(first)
    texts = [" ".join(str(draw.random()) for _ in range(n % 7)) for n in range(count)]
    return b"".join(json.dumps({"id": f"{first + n}", "text": text}).encode() + b"\n" for n, text in enumerate(texts))


def step(**changes: Any) -> ConversionStep:
    return ConversionStep(replace(find_recipe("sources", Source, SHELVES, "cut"), **changes), SNAPSHOT, SHELVES)


def put(mill: Mill, name: str, data: bytes) -> None:
    mill.raw(name, data, source="cut")


def test_large_objects_become_shards_of_their_parts_and_small_ones_stay_whole(mill: Mill) -> None:
    plain, members = rows(200), b"".join(gzip.compress(rows(20, 1000 * n), mtime=0) for n in range(1, 30))
    put(mill, "a.jsonl", plain)
    put(mill, "b/c.jsonl.gz", members)
    put(mill, "d.jsonl", rows(3, 90_000))
    ledger = mill.make(step())
    where = mill.documents(source="cut")
    table = mill.table(where)
    assert len(plain) > 12_000 < len(members)
    assert [name for name in table if name.startswith("a")] == [
        f"a@{start:013d}" for start in range(0, len(plain), 4000)
    ]
    assert "d" in table
    made = [doc["id"] for name in sorted(table) for doc in mill.rows(where.shard(name))]
    whole = [json.loads(line)["id"] for data in (plain, gzip.decompress(members)) for line in data.splitlines()]
    assert made == [*whole, "90000", "90001", "90002"]
    assert ledger.totals["rows"] == len(made)
    assert check_parts_meet(mill.store, where, list(table.values())).passed


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "b.jsonl.gz"])
def test_what_cannot_be_cut_is_one_shard_and_the_log_names_it(mill: Mill, name: str) -> None:
    pack = zstandard.ZstdCompressor().compress if name.endswith(".zst") else gzip.compress
    unit = "zstd frame" if name.endswith(".zst") else "gzip member"
    small = b"".join(pack(rows(20, 1000 * n)) for n in range(1, 4)) if name.startswith("b") else b""
    data = small + pack(rows(600))
    put(mill, name, data)
    ledger = mill.make(step())
    table = list(mill.table(mill.documents(source="cut")).values())
    empty = sum(not shard.rows for shard in table)
    assert ledger.totals["rows"] == 600 + (60 if small else 0)
    assert len(data) > 12_000
    (told,) = [each for each in mill.said if name in each]
    assert told == (
        f"sources/cut/raw/2024/{name}: no {unit} begins behind its first 4,000 bytes, so it stays one shard, and"
        f" {empty} are empty"
    )
    assert empty == len(table) - 1 >= 3
    mill.make(step())
    assert mill.ground == []  # nothing is read again


class Backwards:
    """An engine that makes the last part first."""

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        for item in reversed(list(items)):
            yield from Inline().map(job, [item])


def test_parts_made_in_any_order_give_the_same_bytes(mill: Mill, tmp_path: Path) -> None:
    other = Mill(tmp_path / "other")
    for each in (mill, other):
        put(each, "a.jsonl", rows(300))
    mill.make(step())
    other.make(step(), Backwards())
    assert {path: data for path, data in mill.tree().items() if "/documents/" in path} == {
        path: data for path, data in other.tree().items() if "/documents/" in path
    }


@pytest.mark.slow
def test_two_workers_make_the_bytes_of_one_and_their_notes_arrive(mill: Mill, tmp_path: Path) -> None:
    other = Mill(tmp_path / "other")
    for each in (mill, other):
        put(each, "a.jsonl", rows(300))
        put(each, "b.jsonl.gz", b"".join(gzip.compress(rows(20, 1000 * n), mtime=0) for n in range(1, 30)))
        put(each, "c.jsonl.gz", gzip.compress(rows(600, 50_000), mtime=0))
    one = mill.make(step())
    pool = LocalPool(2, small=0)
    try:
        assert other.make(step(), pool) == one
    finally:
        pool.close()
    assert other.tree() == mill.tree()
    assert one.totals["rows"] == 300 + 29 * 20 + 600
    for each in (mill, other):
        (told,) = [line for line in each.said if "stays one shard" in line]
        assert told.startswith("sources/cut/raw/2024/c.jsonl.gz: no gzip member begins behind its first 4,000 bytes")


def test_nothing_is_made_again_until_the_object_changes_and_then_all_of_it(mill: Mill) -> None:
    put(mill, "a.jsonl", rows(100))
    put(mill, "b.jsonl", rows(100, 500))
    mill.make(step())
    assert len(mill.ground) > 4
    mill.make(step())
    assert mill.ground == []
    put(mill, "a.jsonl", rows(100))  # the same bytes, another etag: a part does not hash what follows its end
    mill.make(step())
    assert set(mill.ground) == {name for name in mill.table(mill.documents(source="cut")) if name.startswith("a")}


def test_trace_leads_from_a_document_of_a_part_to_its_bytes(mill: Mill) -> None:
    plain, members = rows(100), [gzip.compress(rows(20, 1000 * n), mtime=0) for n in range(1, 30)]
    put(mill, "a.jsonl", plain)
    put(mill, "b.jsonl.gz", b"".join(members))
    mill.make(step())
    for id_, stored in (("70", plain), ("21013", b"".join(members))):
        (found,) = trace_document(mill.store, "cut", id_, Shelves(SHELVES, {}))
        raw = found.raw
        assert raw is not None
        assert raw.range is not None
        assert raw.part is not None
        assert raw.path.endswith(("/a.jsonl", "/b.jsonl.gz"))
        assert raw.sha256 == hashlib.sha256(stored[slice(*raw.part)]).hexdigest()
        unpacked = stored if raw.begins is None else gzip.decompress(stored[raw.begins :])
        assert json.loads(unpacked[slice(*raw.range)])["id"] == id_


def test_parts_that_do_not_meet_are_not_published(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    put(mill, "a.jsonl", rows(100))
    real = lines.PartLines.pieces

    def lossy(self: Any) -> Any:
        pieces = list(real(self))
        raw = self._raw
        if raw.edges[0] and raw.edges[0].unit == 4000:
            raw.edges = (raw.edges[0]._replace(plain=raw.edges[0].plain + 1), raw.edges[1])
        yield from pieces

    monkeypatch.setattr(lines.PartLines, "pieces", lossy)
    with pytest.raises(
        DataError, match=r"parts_meet: a.jsonl: the part from byte 4,000 begins at byte 4,000 and \d+ un"
    ):
        mill.make(step())


def test_each_gap_and_overlap_is_seen(mill: Mill) -> None:
    put(mill, "a.jsonl", rows(100))
    mill.make(step())
    where = mill.documents(source="cut")
    table = [shard for shard in mill.table(where).values() if "part" in shard.extra]
    for number in range(len(table)):
        assert not check_parts_meet(mill.store, where, table[:number] + table[number + 1 :]).passed

    def moved(number: int, place: int, by: int) -> list[Shard]:
        part = json.loads(json.dumps(table[number].extra["part"]))
        part[place][1] += by
        other = Shard(
            **{name: getattr(table[number], name) for name in Shard.__struct_fields__} | {"extra": {"part": part}}
        )
        return [*table[:number], other, *table[number + 1 :]]

    for number in range(len(table)):
        for place in (3, 4):
            for by in (-1, 1):
                assert not check_parts_meet(mill.store, where, moved(number, place, by)).passed


def test_a_converter_that_reads_no_parts_is_refused_when_it_is_declared_or_when_it_ends() -> None:
    words = (
        r"^source 'x': shards=Split\(...\), but its converter cannot read parts .*; use shards=OneToOne\(\), or a read"
    )
    with pytest.raises(RecipeError, match=words):
        Source(name="x", convert=lambda raw: [], shards=Split())  # noqa: ARG005 - reads nothing
    with pytest.raises(RecipeError, match=r"ids of row numbers \(id_key=None\) need whole objects"):
        Source(name="x", convert=JsonLines(source="x", id_key=None), shards=Split())
    raw = RawObject(Mill, "a", "a@0000000000004", 9, part=part_of_nine())  # type: ignore[arg-type]  # not read
    with pytest.raises(
        RecipeError, match=r"^a@0000000000004: the converter did not say where the records of this part"
    ):
        reported_part_edges(raw)


def part_of_nine() -> Any:
    return Split(bytes=4).parts(9)[1]


def test_another_size_of_parts_is_another_recipe_and_one_to_one_knows_no_parts(mill: Mill) -> None:
    assert step().recipe.digest != step(shards=Split(bytes=5000)).recipe.digest
    put(mill, "a.jsonl", rows(100))
    mill.make(step(shards=OneToOne(), draft=True))
    assert [recorded_part_edges(shard, "") for shard in mill.table(mill.documents(source="cut")).values()] == [None]
    assert "parts_meet" not in step(shards=OneToOne()).checks("")


def bzipped(streams: int) -> bytes:
    """Lines in streams of several blocks each; level 1 has blocks of 100 kB."""
    data = rows(9000)
    size = len(data) // streams + 1
    return b"".join(bz2.compress(data[at : at + size], 1) for at in range(0, len(data), size))


@pytest.mark.parametrize(("streams", "part"), [(1, 60_000), (1, 100_000), (3, 60_000), (3, 160_000), (9, 30_000)])
def test_the_blocks_of_all_parts_have_the_checksum_of_their_bz2_stream(mill: Mill, streams: int, part: int) -> None:
    data = bzipped(streams)
    put(mill, "a.jsonl.bz2", data)
    mill.make(step(shards=Split(part)))
    table = list(mill.table(mill.documents(source="cut")).values())
    edges = [edges for edges in (recorded_part_edges(row, "") for row in table) if edges is not None]
    assert len(edges) > 1
    assert any(each.sums for each in edges)
    assert check_parts_meet(mill.store, mill.documents(source="cut"), table).passed


@pytest.mark.slow
@pytest.mark.parametrize(("streams", "part"), [(1, 60_000), (3, 160_000), (3, 60_000)])
def test_a_bz2_stream_with_a_wrong_checksum_is_not_published(mill: Mill, streams: int, part: int) -> None:
    """Each block is sound. Only the end of a stream tells that the blocks are not those that were written."""
    data = bytearray(bzipped(streams))
    data[-3] ^= 0x10
    put(mill, "a.jsonl.bz2", bytes(data))
    with pytest.raises(
        DataError, match=r"a\.jsonl\.bz2: the checksum of the bz2 stream that ends behind byte [\d,]+ is"
    ):
        mill.make(step(shards=Split(part)))
