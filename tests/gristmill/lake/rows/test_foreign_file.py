import gzip
import hashlib
from collections.abc import Iterator

import pytest
import zstandard

from gristmill.errors import DataError
from gristmill.lake.rows import foreign_file
from gristmill.lake.rows.foreign_file import ForeignFile

ROWS = [f'{{"id":"{number}"}}\n'.encode() for number in range(9)]


def pieces(data: bytes) -> Iterator[bytes]:
    yield from (data[start : start + 7] for start in range(0, len(data), 7))


@pytest.mark.parametrize("ending", [".jsonl", ".json.gz", ".jsonl.zst"])
@pytest.mark.parametrize("ended", [True, False])
def test_a_file_is_counted_and_hashed_as_it_is(ending: str, *, ended: bool) -> None:
    plain = b"".join(ROWS) if ended else b"".join(ROWS)[:-1]
    packed = {".jsonl": plain, ".json.gz": gzip.compress(plain, mtime=0), ".jsonl.zst": zstandard.compress(plain)}
    data = packed[ending]
    file = ForeignFile(pieces(data), f"x{ending}")
    assert b"".join(file.blocks(20)) == b"".join(ROWS)
    assert (file.rows, file.length, file.bytes, file.members) == (9, len(plain), len(data), [(0, 0)])
    assert file.sha256 == hashlib.sha256(data).hexdigest()


def test_members_that_begin_with_a_row_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_file, "STEP", 1)
    parts = [b"".join(ROWS[:4]), b"".join(ROWS[4:6]), ROWS[6][:3], ROWS[6][3:] + ROWS[7] + ROWS[8]]
    packed = [gzip.compress(part, mtime=0) for part in parts]
    begins = [sum(map(len, packed[:number])) for number in range(4)]
    file = ForeignFile(pieces(b"".join(packed) + bytes(9)), "x.gz")
    assert b"".join(file.blocks()) == b"".join(ROWS)
    assert file.members == [(0, 0), (begins[1], 4), (begins[2], 6)]  # the fourth begins inside of a row
    assert file.bytes == sum(map(len, packed)) + 9


def test_a_truncated_file_is_an_error() -> None:
    file = ForeignFile(pieces(gzip.compress(b"".join(ROWS), mtime=0)[:-5]), "x.gz")
    with pytest.raises(DataError, match=r"x\.gz: the file ends in the middle"):
        list(file.blocks())
