"""Where the units of an object begin."""

import gzip
import os
import random

import pytest
import zstandard
from partkit import Held, flattened, read_parts

from gristmill.lake.rows.raw_parts import RawPart
from gristmill.readers.parts.lines import PartLines
from gristmill.readers.parts.units import cut_by, units
from gristmill.recipes.raw_object import RawObject


def begins(name: str, data: bytes, part: RawPart, piece: int = 1 << 20) -> list[int]:
    raw = RawObject(Held(data, piece), name, name, len(data), part=part)
    return [each for each in units(raw, part) if isinstance(each, int)]


@pytest.mark.parametrize("name", ["a.jsonl.xz", "a.zip", "a.tar.gz", "a.TGZ"])
def test_what_has_no_units_is_not_cut(name: str) -> None:
    assert cut_by(name) == ""


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("piece", [1, 5000, 1 << 20])
def test_a_member_is_found_wherever_the_part_begins(ending: str, piece: int) -> None:
    draw = random.Random(3)
    pack = gzip.compress if ending == ".gz" else zstandard.compress
    members = [pack(draw.randbytes(size)) for size in (0, 10, 900, 0, 3000)]
    starts = [sum(map(len, members[:n])) for n in range(len(members))]
    data = b"".join(members)
    for start in range(1, len(data), 1 if piece > 1 else 97):
        expected = [each for each in starts if each >= start]
        found = begins(f"a{ending}", data, RawPart(start, len(data)), piece)
        assert found == expected, start


def test_bytes_that_only_look_like_a_member_are_none() -> None:
    look = b"\x1f\x8b\x08\x00" + bytes(6)
    data = gzip.compress(
        os.urandom(100) + look + os.urandom(100), 0, mtime=0
    )  # stored: the look is in the packed bytes too
    assert look in data
    assert begins("a.gz", data + data, RawPart(1, 2 * len(data))) == [len(data)]


def test_a_member_behind_the_part_is_not_looked_for() -> None:
    data = b"".join(gzip.compress(os.urandom(100_000), mtime=0) for _ in range(3))
    held = Held(data, 1000)
    raw = RawObject(held, "a.gz", "a.gz", len(data), part=RawPart(10, 20_000))
    assert list(units(raw, RawPart(10, 20_000))) == []
    assert held.given <= 21_000


def test_a_plain_object_has_a_unit_at_each_end_of_the_part() -> None:
    raw = RawObject(Held(b"0123456789", 4), "a", "a", 10, part=RawPart(2, 6))
    assert list(units(raw, RawPart(2, 6))) == [2, b"2345", 6, b"6789"]


@pytest.mark.parametrize("where", ["before", "behind", "seek table"])
def test_parts_meet_where_skippable_frames_are(where: str) -> None:
    """pzstd writes one before each frame; a seekable file ends with one."""
    skip = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
    texts = [b"".join(b"%d %d\n" % (number, row) for row in range(9)) for number in range(5)]
    frames = [zstandard.compress(text) for text in texts]
    form = {"before": b"%b%b", "behind": b"%b%b", "seek table": b"%b%.0b"}[where]
    data = b"".join(form % ((skip, frame) if where == "before" else (frame, skip)) for frame in frames)
    data += b"\x5e\x2a\x4d\x18" + (50).to_bytes(4, "little") + bytes(50) if where == "seek table" else b""
    for size in range(1, len(data) + 1):
        made = read_parts(lambda raw: PartLines(raw, raw.part or RawPart(0, raw.size)).pieces(), "a.zst", data, size)
        assert b"".join(bytes(piece) for piece in flattened(made)) == b"".join(texts), size  # type: ignore[call-overload]
