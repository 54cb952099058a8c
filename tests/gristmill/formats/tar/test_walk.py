"""The walk against Python's `tarfile`, whose offsets the real tool takes, and against damage that `tarfile` passes."""

import gzip
import io
import tarfile

import pytest
from energonsets import joined

from gristmill.errors import DataError
from gristmill.formats.tar.keys import split_name
from gristmill.formats.tar.walk import TarWalk

LONG = "f" * 60 + "/" + "a" * 60
KINDS = {
    tarfile.SYMTYPE: "link",
    tarfile.LNKTYPE: "link",
    tarfile.DIRTYPE: "folder",
    tarfile.FIFOTYPE: "device or FIFO",
    tarfile.CHRTYPE: "device or FIFO",
}


def member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, **values: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    for key, value in values.items():
        setattr(info, key, value)
    return info


def packed(members: list[tarfile.TarInfo], style: int = tarfile.PAX_FORMAT, **options: object) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=style, **options) as tar:  # type: ignore[call-overload]
        for info in members:
            tar.addfile(info, io.BytesIO(bytes(range(256)) * (info.size // 256 + 1)))
    return file.getvalue()


def walk(data: bytes, name: str = "a.tar") -> TarWalk:
    return TarWalk(lambda offset, length: data[offset : offset + length], len(data), name)


def rows(data: bytes) -> tuple[list[tuple[str, int]], list[tuple[int, str, int, int]], int]:
    """Keys and starts of samples, rows of parts, and the end."""
    walked = walk(data)
    batches = list(walked)
    found = joined(batches)
    assert walked.samples == len(found.keys)
    assert walked.parts == len(found.part_names)
    assert found.starts[-1] == walked.end
    return list(zip(found.keys, found.starts.tolist(), strict=False)), list(found.part_rows()), walked.end


def rows_of_tarfile(data: bytes) -> tuple[list[tuple[str, int]], list[tuple[int, str, int, int]], int]:
    """The same, as the real tool takes it from `tarfile`."""
    samples: list[tuple[str, int]] = []
    parts = []
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for info in tar:
            pair = split_name(info.name) if info.isreg() else None
            if pair is None:
                continue
            if not samples or samples[-1][0] != pair[0]:
                samples.append((pair[0], info.offset))
            parts.append((len(samples) - 1, pair[1], info.offset_data, info.size))
        return samples, parts, tar.offset


@pytest.mark.parametrize("style", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_offsets_are_those_of_tarfile(style: int) -> None:
    members = [
        member("folder", tarfile.DIRTYPE),
        member("folder/a.txt", size=1),
        member("folder/a.json", size=512),
        member("folder/link.txt", tarfile.SYMTYPE, linkname="a.txt"),
        member("README", size=5),
        member(f"{LONG}.txt", size=700),
        member(f"{LONG}.seg.png", size=0),
        member("b.TXT", size=3),
        member("__meta__/a.json", size=3),
        member("./c.json", size=3),
        member("pipe.txt", tarfile.FIFOTYPE),
        member("d.", size=9),
    ]
    data = packed(members, style)
    assert rows(data) == rows_of_tarfile(data)
    walked = walk(data)
    assert [key for batch in walked for key in batch.keys] == ["folder/a", LONG, "b", "./c", "d"]
    assert dict(walked.ignored) == {"folder": 1, "link": 1, "device or FIFO": 1, "no key in its name": 2}


def test_pax_headers_of_each_member_belong_to_it() -> None:
    timed = [member(f"{number:04}.{part}", size=9, mtime=1.5) for number in range(50) for part in ("txt", "json")]
    data = packed([*timed, member("ä.txt", size=3), member("z.bin", size=3, uname="ü")])
    assert rows(data) == rows_of_tarfile(data)


def test_a_global_header_belongs_to_no_sample() -> None:
    data = packed([member("a.txt", size=3)], pax_headers={"comment": "made by us"})
    assert rows(data) == rows_of_tarfile(data)
    assert rows(data)[0] == [("a", 1024)]


def test_many_windows_give_the_same_as_one() -> None:
    members = [member(f"{number // 3:05}.{number % 3}.txt", size=number * 37 % 9000) for number in range(900)]
    members.insert(450, member(f"{LONG}.bin", size=3 << 20))
    data = packed(members)
    assert rows(data) == rows_of_tarfile(data)
    assert len(list(walk(data))) > 3


def test_a_size_that_is_not_octal_is_read() -> None:
    data = bytearray(packed([member("a.txt", size=600), member("b.txt", size=1)], tarfile.GNU_FORMAT))
    data[124:136] = b"\x80" + (600).to_bytes(11, "big")
    mend_sum(data, 0)
    assert rows(bytes(data)) == rows_of_tarfile(bytes(data))


def mend_sum(data: bytearray, place: int) -> None:
    data[place + 148 : place + 156] = b" " * 8
    data[place + 148 : place + 156] = b"%06o\0 " % sum(data[place : place + 512])


def test_sums_of_signed_bytes_and_names_up_to_the_zero_are_taken() -> None:
    data = bytearray(packed([member("ä.txt", size=3), member("b.txt", size=1)], tarfile.GNU_FORMAT))
    data[520:530] = data[520:530]
    data[0:100] = b"b.txt\0rest".ljust(100, b"\0")
    data[329] = 200
    signed = sum(byte - 256 if byte > 127 else byte for byte in [*data[:148], *b" " * 8, *data[156:512]])
    data[148:156] = b"%06o\0 " % signed
    assert rows(bytes(data))[0] == [("b", 0)]


PLAIN = packed([member(f"{number}.txt", size=700) for number in range(4)])
"""Four members of 512 + 1024 bytes each; the archive ends at byte 6144 and is filled up to 10240."""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (PLAIN[:6144], "truncated: it ends at byte 6144 without the two blocks of zeros"),
        (PLAIN[:6656], "one block of zeros at byte 6144"),
        (PLAIN[:5700], "truncated: it ends at byte 5700, in the content of the member whose header is at byte 4608"),
        (PLAIN[:4700], "truncated: it ends at byte 4700, in the header at byte 4608"),
        (b"", "truncated: it ends at byte 0"),
        (bytes(PLAIN[:1536]) + b"\xff" * 512 + PLAIN[2048:], "the header at byte 1536: its"),
        (bytes(PLAIN[:1536]) + bytes(512) + PLAIN[2048:], "more follows behind the end of the archive (byte 1536)"),
        (PLAIN + PLAIN, "more follows behind the end of the archive (byte 6144), at byte 10240"),
        (PLAIN[:-1] + b"x", "at byte 10239"),
        (gzip.compress(PLAIN, mtime=0), "packed with gzip"),
        (b"BZh91AY", "packed with bzip2"),
        (b"not a tar" * 200, "the header at byte 0: its"),
    ],
)
def test_damage_is_named_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(walk(data, "shards/7.tar"))
    assert message in str(caught.value)
    assert str(caught.value).startswith("shards/7.tar: ")


@pytest.mark.parametrize("place", [0, 100, 130, 150, 156, 257, 300, 345, 511])
def test_one_changed_byte_in_a_header_is_found(place: int) -> None:
    data = bytearray(PLAIN)
    data[1536 + place] ^= 0x55
    with pytest.raises(DataError, match="byte 1536"):
        list(walk(bytes(data)))


def test_a_damaged_header_is_named_before_what_follows_from_it() -> None:
    data = bytearray(PLAIN)
    data[124:135] = b"00000000000"  # the walk goes astray into the content
    with pytest.raises(DataError, match="the header at byte 0: its checksum"):
        list(walk(bytes(data)))


def test_every_cut_is_found() -> None:
    for size in range(0, 6144 + 1024, 64):
        with pytest.raises(DataError, match="truncated"):
            list(walk(PLAIN[:size]))
    assert len(rows(PLAIN[: 6144 + 1024])[0]) == 4


def sparse(name: str) -> bytes:
    data = bytearray(packed([member(name, size=512), member("z.txt", size=1)], tarfile.GNU_FORMAT))
    data[156:157] = b"S"
    data[386:410] = b"%011o\0%011o\0" % (0, 512)
    data[483:495] = b"%011o\0" % 4096
    mend_sum(data, 0)
    return bytes(data)


def test_a_sparse_part_is_refused_and_one_without_a_key_is_counted() -> None:
    with pytest.raises(DataError, match=r"'a.txt' \(header at byte 0\) is a sparse file"):
        list(walk(sparse("a.txt")))
    walked = walk(sparse("README"))
    assert [batch.keys for batch in walked] == [["z"]]
    assert walked.ignored == {"sparse file": 1}


def test_names_that_are_not_utf8_are_refused() -> None:
    data = bytearray(PLAIN)
    data[1536] = 0xFF
    mend_sum(data, 1536)
    with pytest.raises(DataError, match="byte 1536 has a name that is not UTF-8"):
        list(walk(bytes(data)))


def extended(records: bytes, kind: bytes = b"x") -> bytes:
    header = bytearray(packed([member("pax", size=len(records))], tarfile.USTAR_FORMAT)[:512])
    header[156:157] = kind
    mend_sum(header, 0)
    return bytes(header) + records + bytes(-len(records) % 512)


@pytest.mark.parametrize(
    ("records", "kind", "message"),
    [
        (b"99 path=a.txt\n", b"x", "malformed, at byte 0"),
        (bytes(20), b"x", "zeros in place of a record, at byte 0"),
        (b"14 path=a.txt\n\0\0x", b"x", "zeros in place of a record, at byte 14"),
        (b"12 path=a.tx\n", b"x", "malformed"),
        (b"10 size=x\n", b"x", "its size is b'x'"),
        (b"14 path=a.txt\n", b"g", "gives all members the same path"),
    ],
)
def test_extended_headers_that_are_not_valid_are_refused(records: bytes, kind: bytes, message: str) -> None:
    with pytest.raises(DataError, match="header at byte 0") as caught:
        list(walk(extended(records, kind) + PLAIN))
    assert message in str(caught.value)


def test_an_extended_header_without_a_member_is_refused() -> None:
    with pytest.raises(DataError, match="describes a member that does not follow"):
        list(walk(extended(b"14 path=a.txt\n") + bytes(1024)))


def test_sizes_of_a_pax_header_count() -> None:
    data = extended(b"12 size=700\n") + PLAIN
    assert rows(data)[1][0] == (0, "txt", 1536, 700)
    assert rows(data) == rows_of_tarfile(data)


def test_a_tar_without_samples_gives_none() -> None:
    for members in ([], [member("README", size=3)]):
        walked = walk(packed(members))
        assert list(walked) == []
        assert walked.samples == 0


def test_contents_are_not_read() -> None:
    data = packed([member(f"{number}.bin", size=4 << 20) for number in range(12)])
    read: list[int] = []

    def reader(offset: int, length: int) -> bytes:
        read.append(length)
        return data[offset : offset + length]

    assert len(list(TarWalk(reader, len(data), "a.tar"))) == 12 or sum(read) < len(data) // 5
    assert sum(read) < len(data) // 5


def test_a_reader_that_fails_is_not_taken_for_an_end() -> None:
    def broken(*_: int) -> bytes:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        list(TarWalk(broken, 10240, "a.tar"))
