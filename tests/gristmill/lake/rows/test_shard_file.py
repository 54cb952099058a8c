import gzip
import hashlib
import random
import subprocess
import zlib
from collections.abc import Iterator
from itertools import pairwise

import pytest
import xxhash
import zstandard
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from peak_memory import run_with_peak

from gristmill.errors import DataError, StoreError
from gristmill.lake.rows.shard_file import (
    MEMBER,
    ShardWriter,
    Written,
    find_gzip_member,
    gzip_bytes,
    member_rows,
    read_blocks,
    split_rows,
    unpack_pieces,
)
from gristmill.lake.store.folder import FolderStore


def write(store: FolderStore, path: str, *chunks: bytes) -> Written:
    writer = ShardWriter(store, path)
    for chunk in chunks:
        writer.write(chunk)
    return writer.close()


def read(store: FolderStore, path: str, sha256: str | None = None) -> bytes:
    return b"".join(read_blocks(store, path, sha256))


def prose(size: int, seed: int = 0) -> bytes:
    """About `size` bytes of rows of 20 to 200 letters."""
    dice = random.Random(seed)
    rows: list[bytes] = []
    total = 0
    while total < size:
        row = bytes(dice.choices(b"abcdefgh ", k=dice.randrange(20, 200))) + b"\n"
        rows.append(row)
        total += len(row)
    return b"".join(rows)


def test_rows_come_back_as_they_went(lake: FolderStore) -> None:
    written = write(lake, "a.jsonl.gz", b'{"a":1}\n{"b":2}\n', b'{"c":3}\n')
    assert read(lake, "a.jsonl.gz") == b'{"a":1}\n{"b":2}\n{"c":3}\n'
    assert (written.rows, written.length, written.members) == (3, 24, [(0, 0)])


@pytest.mark.slow
def test_any_gzip_reader_reads_a_shard_of_many_members(lake: FolderStore) -> None:
    data = prose(3_500_000)
    written = write(lake, "a.gz", data)
    packed = lake.read("a.gz")
    assert gzip.decompress(packed) == data
    assert subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout == data
    assert len(written.members) == 4


def test_what_is_said_of_a_shard_is_so(lake: FolderStore) -> None:
    data = prose(2_500_000)
    written = write(lake, "a.gz", data)
    packed = lake.read("a.gz")
    assert written.bytes == len(packed)
    assert written.length == len(data)
    assert written.rows == data.count(b"\n")
    assert written.sha256 == hashlib.sha256(packed).hexdigest()
    assert written.content == xxhash.xxh3_128_hexdigest(data)
    entry = lake.head("a.gz")
    assert entry is not None
    assert (entry.size, entry.version) == (written.bytes, written.version)


def test_members_are_cut_at_the_first_row_end_after_one_mebibyte(lake: FolderStore) -> None:
    row = b"x" * 99_999 + b"\n"
    written = write(lake, "a.gz", row * 25)
    assert [first for _, first in written.members] == [0, 11, 22]
    packed = lake.read("a.gz")
    for offset, _ in written.members:
        assert packed[offset : offset + 2] == b"\x1f\x8b"
        member = zlib.decompressobj(wbits=31).decompress(packed[offset:])
        assert member.endswith(b"\n")
    assert len(zlib.decompressobj(wbits=31).decompress(packed)) == 1_100_000 >= MEMBER


@pytest.mark.slow
@settings(max_examples=draws(5))
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 2_300_000), max_size=12))
def test_the_bytes_do_not_depend_on_how_the_rows_were_handed_over(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[int]
) -> None:
    store = FolderStore(str(tmp_path_factory.mktemp("lake")))
    data = prose(2_300_000, seed % 3)
    ends = sorted({data.rfind(b"\n", 0, cut) + 1 for cut in cuts} | {0, len(data)})
    whole = write(store, "whole.gz", data)
    pieces = write(store, "pieces.gz", *(data[a:b] for a, b in pairwise(ends)))
    assert store.read("whole.gz") == store.read("pieces.gz")
    assert whole.members == pieces.members


def test_the_same_rows_are_the_same_bytes_at_any_time(lake: FolderStore) -> None:
    data = prose(100_000)
    assert write(lake, "a.gz", data).sha256 == write(lake, "b.gz", data).sha256
    assert lake.read("a.gz")[4:8] == bytes(4)


@pytest.mark.slow
def test_any_row_is_read_through_its_member_alone(lake: FolderStore) -> None:
    data = prose(3_500_000)
    rows = split_rows(data)
    written = write(lake, "a.gz", data)
    for row in (0, 1, len(rows) // 2, *(first for _, first in written.members), len(rows) - 1):
        start, end, first = find_gzip_member(written.members, written.bytes, row)
        assert 0 <= start < end <= written.bytes
        assert member_rows(lake, "a.gz", written.members, written.bytes, row)[row - first] == rows[row]


@pytest.mark.slow
def test_a_member_of_a_shard_that_was_replaced_is_a_store_error(lake: FolderStore) -> None:
    written = write(lake, "a.gz", prose(3_500_000))
    write(lake, "a.gz", prose(3_500_000, seed=1))
    with pytest.raises(StoreError, match=r"a\.gz"):
        member_rows(lake, "a.gz", written.members, written.bytes, written.members[2][1])


@pytest.mark.slow
def test_a_row_of_100_megabytes_passes(lake: FolderStore) -> None:
    row = b'{"text":"' + b"a long line " * 8_738_133 + b'"}\n'
    written = write(lake, "a.gz", b"{}\n", row, b"{}\n")
    assert (written.rows, len(row)) == (3, 104_857_608)
    assert read(lake, "a.gz") == b"{}\n" + row + b"{}\n"


def test_an_empty_shard_is_one_empty_member(lake: FolderStore) -> None:
    written = write(lake, "a.gz")
    assert (written.rows, written.members) == (0, [(0, 0)])
    assert list(read_blocks(lake, "a.gz", written.sha256)) == []
    assert gzip.decompress(lake.read("a.gz")) == b""


def test_an_aborted_shard_is_not_there(lake: FolderStore) -> None:
    writer = ShardWriter(lake, "a.gz")
    writer.write(prose(2_000_000))
    writer.abort()
    assert list(lake.list("")) == []


def test_a_last_row_without_line_feed_is_a_row(lake: FolderStore) -> None:
    lake.put("a.jsonl.gz", gzip.compress(b"one\ntwo", mtime=0))
    assert read(lake, "a.jsonl.gz") == b"one\ntwo\n"


def test_many_members_of_others_and_zero_padding_are_read(lake: FolderStore) -> None:
    parts = [gzip.compress(b"%d\n" % n, mtime=0) for n in range(300)]
    lake.put("a.gz", b"".join(parts) + bytes(2_000_000))
    lake.put("b.gz", parts[0] + bytes(512) + parts[1])
    assert read(lake, "a.gz") == b"".join(b"%d\n" % n for n in range(300))
    assert read(lake, "b.gz") == b"0\n1\n"


def test_gzip_in_pieces_of_any_size_is_the_same() -> None:
    data = prose(20_000)
    packed = (
        gzip.compress(data[:9_000], mtime=0)
        + gzip.compress(b"", mtime=0)
        + gzip.compress(data[9_000:], mtime=0)
        + bytes(7)
    )
    for size in (1, 2, 7, 1000, len(packed)):
        pieces = (packed[i : i + size] for i in range(0, len(packed), size))
        assert b"".join(unpack_pieces(pieces, "a.gz")) == data


def test_zstd_of_many_frames_is_read(lake: FolderStore) -> None:
    frames = [zstandard.ZstdCompressor().compress(b"%d\n" % n) for n in range(300)]
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    lake.put("a.jsonl.zst", b"".join(frames))
    lake.put("b.jsonl.zst", skippable + frames[0] + skippable + frames[1])
    assert read(lake, "a.jsonl.zst") == b"".join(b"%d\n" % n for n in range(300))
    assert read(lake, "b.jsonl.zst") == b"0\n1\n"


def test_plain_files_are_read_as_they_are(lake: FolderStore) -> None:
    lake.put("a.jsonl", b"one\ntwo\n")
    assert read(lake, "a.jsonl") == b"one\ntwo\n"


PACKED = {"a.gz": gzip.compress(prose(50_000), mtime=0), "a.zst": zstandard.ZstdCompressor().compress(prose(50_000))}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("left", [0, 1, 5, 9, 15, 0.3, 0.7, -9, -8, -4, -1])
def test_a_truncated_file_is_an_error_that_names_it(lake: FolderStore, name: str, left: float) -> None:
    packed = PACKED[name]
    end = int(left * len(packed)) if isinstance(left, float) else left
    lake.put(name, packed[:end])
    with pytest.raises(DataError, match=f"{name}: .*(truncated|not valid)"):
        read(lake, name)


def test_a_file_that_is_truncated_in_its_second_member_is_an_error(lake: FolderStore) -> None:
    packed = gzip.compress(prose(1000), mtime=0)
    for left in (1, 3, 12, 100, len(packed) - 1):
        lake.put("a.gz", packed + packed[:left])
        with pytest.raises(DataError, match=r"a\.gz: .*truncated"):
            read(lake, "a.gz")


@pytest.mark.parametrize("data", [b"not packed at all\n", b"\x1f\x8bno", b"\x00\x00\x00", bytes(100)])
@pytest.mark.parametrize("name", ["a.gz", "a.zst"])
def test_a_file_that_is_not_what_its_name_says_is_an_error(lake: FolderStore, name: str, data: bytes) -> None:
    lake.put(name, data)
    with pytest.raises(DataError, match=name):
        read(lake, name)


def test_garbage_behind_a_gzip_file_is_an_error(lake: FolderStore) -> None:
    lake.put("a.gz", gzip.compress(b"one\n", mtime=0) + b"garbage")
    with pytest.raises(DataError, match=r"a\.gz"):
        read(lake, "a.gz")


@pytest.mark.parametrize("name", ["a.gz", "a.zst"])
def test_a_flipped_bit_never_gives_other_text(lake: FolderStore, name: str) -> None:
    data = prose(5_000)
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    packed = gzip_bytes(data) if name == "a.gz" else compressor.compress(data)
    found: list[str] = []
    for place in range(10 if name == "a.gz" else 0, len(packed), 37):
        broken = bytearray(packed)
        broken[place] ^= 1 << place % 8
        lake.put(name, bytes(broken))
        try:
            assert read(lake, name) == data
        except DataError as error:
            found.append(str(error))
    assert len(found) > 10
    assert all(message.startswith(f"{name}: ") for message in found)


def test_another_object_than_the_ledger_names_is_a_store_error(lake: FolderStore) -> None:
    written = write(lake, "a.gz", b"one\n")
    assert read(lake, "a.gz", written.sha256) == b"one\n"
    write(lake, "a.gz", b"two\n")
    with pytest.raises(StoreError, match=r"a\.gz: not the object that its ledger names"):
        read(lake, "a.gz", written.sha256)


COPY = """
import sys
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.rows.shard_file import ShardWriter, read_blocks
store = FolderStore(sys.argv[1])
before = peak()
writer = ShardWriter(store, "b.jsonl.gz")
length = 0
for block in read_blocks(store, sys.argv[2]):
    length += len(block)
    writer.write(block)
writer.close()
print(length, peak() - before)
"""


def repeated(times: int) -> Iterator[bytes]:
    for _ in range(times):
        yield (b"a" * 999 + b"\n") * 1000


@pytest.mark.parametrize("name", [pytest.param("a.jsonl.gz", marks=pytest.mark.slow), "a.jsonl.zst"])
def test_a_huge_text_in_a_small_file_is_copied_in_little_memory(lake: FolderStore, name: str) -> None:
    if name.endswith(".gz"):
        packer = zlib.compressobj(wbits=31)
        lake.put(name, b"".join(packer.compress(piece) for piece in repeated(300)) + packer.flush())
    else:
        frame = zstandard.ZstdCompressor().compressobj()
        lake.put(name, b"".join(frame.compress(piece) for piece in repeated(300)) + frame.flush())
    length, more = run_with_peak(COPY, lake.url, name).split()
    assert int(length) == 300_000_000
    assert int(more) < 250  # MiB: four kilobytes of zstd may be fifty megabytes of text
    copied = lake.head("b.jsonl.gz")
    assert copied is not None
    assert copied.size < 3_000_000


FORGED = """
import sys
import gristmill.lake.rows.row_blocks as row_blocks
from gristmill.errors import DataError
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.ledger.files import read_table
from gristmill.lake.rows.batches import RowFeed, read_rows
from gristmill.lake.rows.blocklists.blocklist import read_blocklist
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.shard_file import member_rows, read_blocks
from gristmill.lake.store.folder import FolderStore
store = FolderStore(sys.argv[1])
shard, size = "a.jsonl.gz", store.head("a.jsonl.gz").size
for read in (
    lambda: list(read_blocks(store, shard)),
    lambda: list(read_rows(store, shard, None, Document)),
    lambda: RowFeed(store, shard, None).next_rows(1, "b"),
    lambda: member_rows(store, shard, [(0, 0)], size, 0),
    lambda: read_table(store, place(documents_asset("pages", "v0"), "2024")),
    lambda: read_blocklist(store, "takedowns"),
):
    try:
        read()
    except Exception as error:
        print(type(error).__name__, error)
print(peak())
"""


@pytest.mark.slow
def test_forged_rows_of_ten_gigabytes_in_a_lake_fail_in_bounded_memory(lake: FolderStore) -> None:
    """The bound is a gigabyte for a row; while blocks are joined, twice that."""
    forged = gzip.compress(b"x" * (64 << 20), 1, mtime=0) * 160
    lake.put("a.jsonl.gz", forged)
    lake.put("sources/pages/v0/ledgers/documents/2024.shards.jsonl.gz", forged)
    lake.put("blocklists/takedowns.jsonl", b"x" * ((1 << 30) + (8 << 20)))
    *errors, most = run_with_peak(FORGED, lake.url).splitlines()
    assert len(errors) == 6
    assert all(error.startswith(("DataError", "StoreError")) for error in errors)
    assert all("1073741824" in error for error in errors if "no gzip member" not in error)
    assert int(most) < 3000  # MiB
