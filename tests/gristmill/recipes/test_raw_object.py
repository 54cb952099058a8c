import pytest
from testkit import Mill

from gristmill.errors import DataError
from gristmill.recipes.raw_object import Limits, RawObject, TooLong


@pytest.mark.parametrize("pieces", [0, 1, 2, 99])
def test_a_raw_objects_digest_is_of_all_its_bytes_however_many_were_read(mill: Mill, pieces: int) -> None:
    import hashlib

    data = bytes(range(256)) * 12_000
    mill.store.put("a", data)
    raw = RawObject(mill.store, "a", "a", len(data))
    if pieces:
        chunks = raw.chunks()
        for _ in zip(range(pieces), chunks, strict=False):
            pass
    assert raw.sha256() == hashlib.sha256(data).hexdigest()


def test_an_object_of_one_row_has_the_length_of_a_row_at_most(mill: Mill) -> None:
    mill.store.put("a", b"x" * 1001)
    raw = RawObject(mill.store, "a", "a", 1001, Limits(row=1000))
    with pytest.raises(TooLong, match="a: 1001 bytes as one row, and a row has at most 1000"):
        raw.read()
    assert len(raw.read(raw.size)) == 1001  # an archive: its reader knows the rows in it


@pytest.mark.parametrize(
    ("size", "rows", "words"),
    [
        (1 << 28, 0, ""),  # so much passes, however small the object is
        ((1 << 28) + 2000, 0, ""),
        ((1 << 28) + 2001, 0, "unpack_limit of more than 2000"),
        (0, 1 << 20, ""),  # a row counts as 256 bytes
        (0, (1 << 20) + 8, "unpack_limit of more than 2000"),
    ],
)
def test_an_object_may_not_unpack_to_far_more_than_its_size(mill: Mill, size: int, rows: int, words: str) -> None:
    mill.store.put("a.gz", b"1")
    raw = RawObject(mill.store, "a.gz", "a.gz", 1, Limits(unpack=2000))
    assert raw.read() == b"1"
    if words:
        with pytest.raises(DataError, match=rf"^a\.gz: its first 1 bytes unpack to .* {words}"):
            raw.check_unpacked(size, rows)
    else:
        raw.check_unpacked(size, rows)
