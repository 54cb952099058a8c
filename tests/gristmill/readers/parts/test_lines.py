"""The lines of parts are the lines of the object, however it is packed and cut."""

import bz2
import gzip
import json
import random
from collections.abc import Iterator

import pytest
import zstandard
from partkit import Held, flattened, read_parts, read_whole

from gristmill.errors import DataError
from gristmill.lake.rows.raw_parts import Edge, RawPart
from gristmill.readers.jsonl import raw_lines
from gristmill.readers.parts.lines import PartLines
from gristmill.recipes.raw_object import RawObject


def lines_of(raw: RawObject) -> Iterator[bytes]:
    return (line for _, line in raw_lines(raw))


def text(rows: int, seed: int) -> bytes:
    """Lines of very different lengths, many empty, the last one sometimes without its line feed."""
    draw = random.Random(seed)
    made = b"".join(b"x" * draw.choice([0, 1, 40, 3000]) + b"%d\n" % draw.getrandbits(200) for _ in range(rows))
    return made.removesuffix(b"\n") if seed % 2 else made + b"\n" * (seed % 3)


def members(data: bytes, seed: int) -> list[bytes]:
    """The text cut anywhere, also within lines, with empty pieces among them."""
    draw = random.Random(seed)
    cuts = sorted(draw.randrange(len(data)) for _ in range(12))
    return [data[a:b] for a, b in zip([0, *cuts, cuts[-1]], [*cuts, cuts[-1], len(data)], strict=True)]


def packed(kind: str, data: bytes, seed: int) -> bytes:
    pieces = members(data, seed)
    if kind == ".gz":
        return b"".join(gzip.compress(each, seed % 10, mtime=0) for each in pieces) + bytes(seed % 2 * 100)
    if kind == ".zst":
        return b"".join(map(zstandard.ZstdCompressor(write_checksum=True).compress, pieces))
    if kind == ".bz2":
        return bz2.compress(data, 1) if seed % 2 else b"".join(map(bz2.compress, pieces))
    return data


@pytest.mark.parametrize("kind", ["", ".gz", ".zst", ".bz2"])
def test_parts_have_the_lines_of_the_object_in_any_packing_cut_anywhere(kind: str) -> None:
    for seed in range(12):
        data = packed(kind, text(40, seed), seed)
        name = f"a.jsonl{kind}"
        whole = read_whole(lines_of, name, data)
        for size in (len(data) // 40 + 1, len(data) // 3, len(data) - 1, 2 * len(data)):
            piece = 11 if size == len(data) // 3 else 1 << 20
            assert flattened(read_parts(lines_of, name, data, size, piece)) == whole


def test_blocks_of_one_bz2_stream_are_parts_although_they_begin_within_bytes_and_lines() -> None:
    draw = random.Random(7)
    data = b"".join(b'{"n": %d}\n' % draw.getrandbits(400) for _ in range(4000))
    packed = bz2.compress(data, 1)  # blocks of 100 kB
    made = read_parts(lines_of, "a.jsonl.bz2", packed, len(packed) // 3 + 1)
    assert all(made)
    assert flattened(made) == data.splitlines()


def test_a_gzip_of_one_member_is_the_first_part_and_the_others_are_empty() -> None:
    data = gzip.compress(b"".join(b"%d\n" % random.Random(n).getrandbits(300) for n in range(500)), mtime=0)
    first, *others = read_parts(lines_of, "a.jsonl.gz", data, len(data) // 4)
    assert len(first) == 500
    assert not any(others)


def test_the_spans_of_a_plain_object_count_its_bytes_and_those_of_a_packed_one_from_the_first_unit() -> None:
    data = b"first\nsecond\nthird\n"
    raw = RawObject(Held(data), "a.txt", "a.txt@7", len(data), part=RawPart(7, 14))
    assert [data[raw.raw_span.start : raw.raw_span.end] for _ in raw_lines(raw) if raw.raw_span] == [b"third"]
    pieces = [gzip.compress(each, mtime=0) for each in (b"first\nsec", b"ond\nthird\n")]
    part = RawPart(len(pieces[0]), len(b"".join(pieces)))
    packed = RawObject(Held(b"".join(pieces)), "a.gz", "a.gz@1", part.end, part=part)
    assert [packed.raw_span for _ in raw_lines(packed)] == [(4, 9, "")]
    assert packed.edges == (Edge(part.start, 4), Edge(part.end))


def test_a_part_reads_its_range_and_little_more() -> None:
    data = b"".join(b"%099d\n" % n for n in range(10_000))
    held = Held(data, 1000)
    raw = RawObject(held, "a.txt", "a.txt@", len(data), part=RawPart(500_000, 600_000))
    assert [line for _, line in raw_lines(raw)][:2] == [b"%099d" % 5001, b"%099d" % 5002]
    raw.sha256()
    assert held.given <= 102_000


def test_a_byte_order_mark_is_one_at_the_begin_of_the_object_alone() -> None:
    data = "\ufeff{}\n".encode() * 2
    assert flattened(read_parts(lines_of, "a.jsonl", data, 4)) == [b"{}", "\ufeff{}".encode()]


@pytest.mark.parametrize("kind", [".gz", ".zst", ".bz2"])
def test_damage_and_truncation_are_errors_of_the_part_that_has_them(kind: str) -> None:
    pieces = [json.dumps({"n": random.Random(n).randbytes(3000).hex()}).encode() + b"\n" for n in range(6)]
    pack = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor(write_checksum=True).compress, ".bz2": bz2.compress}
    data = b"".join(map(pack[kind], pieces))
    size = len(data) // 3 + 1
    broken = bytearray(data)
    broken[len(data) // 2 + 1000] ^= 0x40
    for wrong in (bytes(broken), data[:-3]):
        with pytest.raises(DataError, match=rf"^a.jsonl{kind}: "):
            read_parts(lines_of, f"a.jsonl{kind}", wrong, size)


def test_lines_longer_than_parts_belong_to_the_part_in_which_they_begin() -> None:
    data = b"a\n" + b"b" * 50 + b"\nc\n"
    raw = RawObject(Held(data), "a.txt", "a.txt@10", len(data), part=RawPart(10, 20))
    assert list(PartLines(raw, RawPart(10, 20)).pieces()) == []
    assert raw.edges == (Edge(10, 43), Edge(20, 33))
    assert read_parts(lines_of, "a.txt", data, 10) == [[b"a", b"b" * 50], [], [], [], [], [b"c"]]
