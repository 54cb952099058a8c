"""Cuts in packed objects: what has no cut keeps its bytes, and what has one stays one unit."""

import bz2
import gzip
import lzma
import random
import struct
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
import zstandard

from gristmill.lake.rows.shard_file import unpacked_whole
from gristmill.lake.rows.unpacking import unpack_gzip
from gristmill.takedowns.erasing.cut_units import Cuts, Range, bytes_outside, find_cuts, remove_cut_ranges, widen_cuts

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": zstandard.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def spans(lines: list[bytes], end: bytes) -> list[Range]:
    """[start, end) of each line in their bytes."""
    found, at = [], 0
    for line in lines:
        found.append((at, at + len(line)))
        at += len(line) + len(end)
    return found


def found(packed: bytes, path: str, records: Iterable[Range], step: int = 1 << 20) -> tuple[bytes, Cuts]:
    """The object without the records, and what was cut."""
    pieces = [packed[at : at + step] for at in range(0, len(packed), step)]
    cuts = find_cuts(pieces, path, len(packed), records)
    return b"".join(remove_cut_ranges(pieces, path, cuts)), cuts


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_what_is_left_of_random_lines_are_the_other_lines(end: bytes) -> None:
    draw = random.Random(3)
    for _ in range(200):
        lines = [bytes([97 + number % 26]) * draw.randint(0, 4) for number in range(draw.randint(1, 9))]
        gone = {number for number in range(len(lines)) if draw.random() < 0.4}
        last = end if draw.random() < 0.5 else b""
        data = end.join(lines) + last
        places = spans(lines, end)
        pieces = [data[at : at + 3] for at in range(0, len(data), 3)]
        cuts = widen_cuts(pieces, {places[number] for number in gone})
        kept = [line for number, line in enumerate(lines) if number not in gone]
        ends = [line + end for line in kept]
        if kept and len(lines) - 1 not in gone and not last:
            ends[-1] = kept[-1]
        assert b"".join(bytes_outside(pieces, cuts)) == b"".join(ends), (lines, gone)


@pytest.mark.parametrize("packing", ["", *PACK])
def test_a_byte_order_mark_stays_when_the_first_line_goes(packing: str) -> None:
    mark, path = b"\xef\xbb\xbf", f"a.jsonl{packing}"
    packed = PACK.get(packing, bytes)(mark + b"a0\na1\n")
    made, cuts = found(packed, path, [(3, 5)], 2)
    assert (unpacked_whole(made, path) if packing else made) == mark + b"a1\n"
    assert cuts.left == 6
    assert found(packed, path, [(3, 5), (6, 8)])[1].left == 0


@pytest.mark.parametrize("packing", PACK)
def test_units_without_a_cut_keep_their_bytes(packing: str) -> None:
    pack, path = PACK[packing], f"a.jsonl{packing}"
    old = [pack(lines) for lines in (b"a0\na1\n", b"b0\nb1\n", b"c0\n", b"d0\n")]
    made, cuts = found(b"".join(old), path, [(6, 8), (12, 14)])  # b0 and c0
    changed = made.removeprefix(old[0]).removesuffix(old[3])
    assert (len(made) - len(changed), unpacked_whole(changed, path)) == (len(old[0]) + len(old[3]), b"b1\n")
    assert [each.plain for each in cuts.units] == [(6, 12), (12, 15)]
    assert cuts.left == len(b"a0\na1\nb1\nd0\n")


@pytest.mark.parametrize("packing", PACK)
def test_a_record_that_spans_units_is_cut_from_each(packing: str) -> None:
    pack, path = PACK[packing], f"a.jsonl{packing}"
    old = [pack(piece) for piece in (b"a0\n", b"a1\nlo", b"ng", b" line\nb0\n", b"b1\n")]
    made, _ = found(b"".join(old), path, [(6, 15)])  # "long line"
    assert made.startswith(old[0] + pack(b"a1\n")[:3])
    assert made.endswith(old[4])
    assert unpacked_whole(made, path) == b"a0\na1\nb0\nb1\n"


@pytest.mark.parametrize("packing", PACK)
def test_random_cuts_in_random_units(packing: str) -> None:
    pack, path, draw = PACK[packing], f"a.jsonl{packing}", random.Random(5)
    for _ in range(60):
        lines = [b"%d" % draw.randrange(10 ** draw.randint(1, 5)) for _ in range(draw.randint(2, 12))]
        data = b"".join(line + b"\n" for line in lines)
        edges = [0, *sorted(draw.randrange(len(data) + 1) for _ in range(draw.randint(0, 8))), len(data)]
        units = list(pairwise(edges))  # some are empty
        gone = [each for each in spans(lines, b"\n") if draw.random() < 0.3]
        packed = b"".join(pack(data[start:end]) for start, end in units)
        made, cuts = found(packed, path, gone, draw.choice([1, 2, 7, 64, 1000]))
        left = b"".join(bytes_outside([data], widen_cuts([data], gone)))
        assert cuts.left == len(left)
        assert (unpacked_whole(made, path) if left else b"") == left
        kept = [pack(data[s:e]) for s, e in units if s < e and not any(a < e and b + 1 > s for a, b in gone)]
        at = 0
        for each in kept:
            at = made.index(each, at) + len(each)


def test_a_file_that_is_one_gzip_member_stays_one() -> None:
    lines = [b"%d %d" % (number, number**9) for number in range(100_000)]
    data = b"".join(line + b"\n" for line in lines)
    made, _ = found(gzip.compress(data, 1, mtime=0), "a.jsonl.gz", [spans(lines, b"\n")[50_000]])
    begins: list[int] = []
    assert b"".join(unpack_gzip([made], "", begins)) == data.replace(lines[50_000] + b"\n", b"")
    assert begins == [0]


def test_a_frame_that_changes_has_the_size_of_its_text_and_a_checksum() -> None:
    made, _ = found(zstandard.compress(b"a\nb\n"), "a.jsonl.zst", [(0, 1)])
    assert zstandard.ZstdDecompressor().decompress(made) == b"b\n"  # of a frame without its size: an error
    assert zstandard.get_frame_parameters(made).has_checksum


def test_skippable_frames_go_as_they_may_tell_places_that_change() -> None:
    """Those of pzstd tell the size of the frame behind them, the last one of the seekable format those of all."""
    old = [zstandard.compress(lines) for lines in (b"a\nb\n", b"c\n", b"d\n")]
    skipped = [struct.pack("<III", 0x184D2A50, 4, len(each)) for each in old]
    table = struct.pack("<II5s", 0x184D2A5E, 5, b"\0" * 5)
    packed = b"".join(a + b for a, b in zip(skipped, old, strict=True)) + table
    for step in (1, 3, 1000):
        made, _ = found(packed, "a.jsonl.zst", [(0, 1)], step)
        assert made.endswith(old[1] + old[2])
        assert zstandard.ZstdDecompressor().decompress(made.removesuffix(old[1] + old[2])) == b"b\n"


def test_padding_behind_the_last_member_stays() -> None:
    old = [gzip.compress(lines, mtime=0) for lines in (b"a\n", b"b\n")]
    assert found(b"".join(old) + b"\0\0\0", "a.jsonl.gz", [(0, 1)], 1)[0] == old[1] + b"\0\0\0"


@pytest.mark.parametrize("packing", ["", *PACK])
def test_records_that_overlap_are_cut_once(packing: str) -> None:
    pack, path = PACK.get(packing, bytes), f"a.jsonl{packing}"
    made, cuts = found(pack(b"abcdef\nb\n"), path, [(0, 6), (2, 4)])
    assert (unpacked_whole(made, path), cuts.ranges, cuts.left) == (b"b\n", [(0, 7)], 2)
