"""WARC files in parts: every record once, or an error."""

import gzip
import random

import pytest
from partkit import flattened, read_parts, read_whole
from warcfile import packed, page

from gristmill.errors import DataError
from gristmill.readers.web.pages import WarcPages
from gristmill.readers.web.part_members import gzip_members
from gristmill.recipes.raw_object import LeftOut, Refused

PAGES = [page(n) for n in range(24)]
READ = WarcPages(source="web")


def rows(made: list[object]) -> list[object]:
    """Without the places, which count from the part."""
    return [row._replace(where="", row=None, offset=None) if isinstance(row, Refused) else row for row in made]


@pytest.mark.parametrize("piece", [700, 1 << 20])
def test_parts_of_a_warc_have_its_records(piece: int) -> None:
    data = packed(*PAGES) + bytes(40)
    whole = rows(read_whole(READ, "a.warc.gz", data))
    for size in (len(data) // 5, len(data) // 30, len(data) - 1, 3):
        assert rows(flattened(read_parts(READ, "a.warc.gz", data, size, piece) if size > 3 else [whole])) == whole


def test_a_file_that_is_packed_whole_is_the_first_part() -> None:
    data = gzip.compress(b"".join(PAGES), mtime=0)
    first, *others = read_parts(READ, "a.warc.gz", data, len(data) // 4)
    assert len(first) == len(PAGES)
    assert not any(others)


def test_records_that_lie_in_two_members_cannot_be_cut() -> None:
    text = b"".join(PAGES)
    data = packed(*(text[at : at + 500] for at in range(0, len(text), 500)))
    with pytest.raises(
        DataError, match=r"; or, if the file is sound, its records are not members .*: give its source shards=OneToOne"
    ):
        read_parts(READ, "a.warc.gz", data, len(data) // 3)


def test_a_damaged_record_is_refused_once_and_its_neighbours_are_kept() -> None:
    data = bytearray(packed(*PAGES))
    draw = random.Random(1)
    for _ in range(10):
        wrong = bytearray(data)
        place = draw.randrange(len(data))
        wrong[place : place + 40] = bytes(40)
        whole = read_whole(READ, "a.warc.gz", bytes(wrong))
        assert any(isinstance(row, Refused) for row in whole)
        try:
            made = flattened(read_parts(READ, "a.warc.gz", bytes(wrong), len(data) // 4))
        except (DataError, AssertionError):
            continue  # damage at a border: nothing is published
        assert [row for row in made if not isinstance(row, Refused | LeftOut)] == [
            row for row in whole if not isinstance(row, Refused | LeftOut)
        ]


def test_a_gzip_file_inside_of_a_stored_one_is_no_place_to_begin() -> None:
    inner = b"".join(gzip.compress(each, mtime=0) for each in PAGES[:8])
    data = gzip.compress(b"WARC/1.0\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner + b"\r\n\r\n", 0, mtime=0)
    assert inner[:1000] in data
    with pytest.raises((DataError, AssertionError)):
        read_parts(READ, "a.warc.gz", data + packed(*PAGES), len(data) // 3)


def test_only_gzip_is_cut() -> None:
    assert gzip_members("a.warc") == ""
