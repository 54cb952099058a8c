import gzip
import hashlib
import io
import tarfile
import zipfile

import pytest
from testkit import Mill

from gristmill.errors import DataError, RecipeError
from gristmill.recipes.raw_object import IN_MEMORY, Limits, RawObject, TooLong


@pytest.mark.parametrize("pieces", [0, 1, 2, 99])
def test_a_raw_objects_digest_is_of_all_its_bytes_however_many_were_read(mill: Mill, pieces: int) -> None:
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


def raw_object(mill: Mill, name: str, data: bytes) -> RawObject:
    mill.store.put(name, data)
    return RawObject(mill.store, name, name, len(data))


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "first")
        archive.writestr("b.txt", "second")
    return file.getvalue()


def test_a_raw_object_is_a_file_of_lines_whose_digest_is_of_all_bytes(mill: Mill) -> None:
    data = b"".join(b"line %d\n" % number for number in range(400_000))
    raw = raw_object(mill, "a.txt", data)
    with raw.open() as file:
        assert not file.seekable()
        assert file.readline() == b"line 0\n"
        assert sum(1 for _ in zip(range(100), file, strict=False)) == 100
    assert raw.sha256() == hashlib.sha256(data).hexdigest()
    assert raw_object(mill, "b.txt", data).open().read() == data


def test_libraries_that_stream_take_the_file_and_those_that_seek_a_copy(mill: Mill) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = 5
        archive.addfile(member, io.BytesIO(b"first"))
    with raw_object(mill, "a.tgz", packed.getvalue()).open() as file, tarfile.open(fileobj=file, mode="r|*") as archive:
        assert [member.name for member in archive] == ["a.txt"]
    seekable = pytest.raises(RecipeError, match=r"^a\.zip: .*; let it call raw\.open\(seekable=True\)")
    with raw_object(mill, "a.zip", zipped()).open() as file, seekable:
        zipfile.ZipFile(file)
    raw = raw_object(mill, "b.zip", zipped())
    with raw.open(seekable=True) as file, zipfile.ZipFile(file) as archive:
        assert archive.read("b.txt") == b"second"
    assert raw.sha256() == hashlib.sha256(zipped()).hexdigest()


def test_packed_bytes_are_unpacked_on_request_and_the_digest_is_of_the_packed_ones(mill: Mill) -> None:
    packed = gzip.compress(b"a\nb\n", mtime=0)
    for seekable in (False, True):
        raw = raw_object(mill, "a.txt.gz", packed)
        with raw.open(unpack=True, seekable=seekable) as file:
            assert file.readlines() == [b"a\n", b"b\n"]
        assert raw.sha256() == hashlib.sha256(packed).hexdigest()
    with raw_object(mill, "b.txt.gz", packed[:-3]).open(unpack=True) as file, pytest.raises(DataError, match="truncat"):
        file.read()


def test_a_large_copy_lies_in_a_file_and_a_too_large_one_is_refused(mill: Mill) -> None:
    data = b"x" * (IN_MEMORY + 1)
    with raw_object(mill, "a", data).open(seekable=True) as file:
        assert file.fileno() > 0  # in memory, it would have none
        assert file.seek(-1, io.SEEK_END) == IN_MEMORY
    refused = pytest.raises(DataError, match=r"^a: 33,554,433 bytes or more for a seekable file, and at most 1,000 are")
    with refused, raw_object(mill, "a", data).open(seekable=True, most=1000):
        pass
    refused = pytest.raises(DataError, match=r"^b\.gz: .* for a seekable file, and at most 1,000 are allowed")
    packed = raw_object(mill, "b.gz", gzip.compress(b"x" * 1001, mtime=0))
    with refused, packed.open(seekable=True, unpack=True, most=1000):
        pass


def test_a_raw_object_is_read_once(mill: Mill) -> None:
    raw = raw_object(mill, "a", b"1")
    raw.read()
    with pytest.raises(
        RecipeError, match=r"^a: the converter reads it a second time; keep what chunks\(\), read\(\) or"
    ):
        raw.open().read()


def test_counters_of_a_reader_are_added_up(mill: Mill) -> None:
    raw = raw_object(mill, "a", b"")
    for number in range(3):
        raw.count("odd", number)
    raw.count("even")
    assert raw.counts == {"odd": 3, "even": 1}
