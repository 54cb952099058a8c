"""Tar archives as streams: every kind of entry, and every kind of damage."""

import contextlib
import io
import random
import tarfile
from typing import Any

import pytest

from gristmill.errors import DataError
from gristmill.readers.tar_archive import tar_members
from gristmill.readers.zip_archive import Member, MemberRules

LONG = "folder/" * 40 + "é.txt"


def packed(*entries: tuple[str, bytes, dict[str, Any]], kind: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind) as archive:
        for name, data, options in entries:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for option, value in options.items():
                setattr(info, option, value)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def read(data: bytes) -> list[Member]:
    return list(tar_members(io.BytesIO(data), "x.tar", MemberRules(lambda _: True, 1 << 20, None)))


def reasons(data: bytes) -> dict[str, str]:
    return {member.name: member.refused for member in read(data)}


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_and_bytes_are_those_that_went_in(kind: int) -> None:
    middle = "folder/" * 20 + "a.txt"  # fits into the two fields of ustar
    names = [middle] if kind == tarfile.USTAR_FORMAT else [middle, LONG]
    data = packed(*((name, name.encode() * 9, {}) for name in names), ("./b/c", b"c", {}), kind=kind)
    assert [(each.name, each.raw) for each in read(data)] == [
        *((name, name.encode() * 9) for name in names),
        ("b/c", b"c"),
    ]


def test_links_devices_and_fifos_are_refused_and_folders_are_passed_over() -> None:
    data = packed(
        ("folder", b"", {"type": tarfile.DIRTYPE}),
        ("hard", b"", {"type": tarfile.LNKTYPE, "linkname": "file"}),
        ("soft", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd" * 30}),
        ("device", b"", {"type": tarfile.CHRTYPE}),
        ("disk", b"", {"type": tarfile.BLKTYPE}),
        ("pipe", b"", {"type": tarfile.FIFOTYPE}),
        ("odd", b"data", {"type": b"V"}),
        ("sparse", b"data", {"pax_headers": {"GNU.sparse.major": "1"}}),
        ("file", b"kept", {}),
        kind=tarfile.PAX_FORMAT,
    )
    assert reasons(data) == {
        "hard": "link",
        "soft": "link",
        "device": "no regular file",
        "disk": "no regular file",
        "pipe": "no regular file",
        "odd": "unknown kind of entry",
        "sparse": "sparse file",
        "file": "",
    }


def test_an_old_sparse_file_with_further_blocks_of_its_map_is_refused_and_passed_over() -> None:
    entry = bytearray(packed(("sparse", b"d" * 600, {"type": tarfile.GNUTYPE_SPARSE}), ("file", b"kept", {})))
    entry[482] = 1
    entry[148:156] = b"        "
    entry[148:156] = b"%06o\0 " % sum(entry[:512])
    more = bytearray(512)
    more[504] = 1
    data = bytes(entry[:512]) + bytes(more) + bytes(512) + bytes(entry[512:])
    assert reasons(data) == {"sparse": "sparse file", "file": ""}


@pytest.mark.parametrize("name", ["/etc/passwd", "a/../../b", "a\\b", "a\tb", "a\udcffb", ""])
def test_names_that_lead_astray_are_refused(name: str) -> None:
    (member,) = read(packed((name, b"x", {}), kind=tarfile.GNU_FORMAT))
    assert (member.raw, member.refused) == (b"", "unsafe entry name")


def test_the_second_entry_of_a_name_is_refused() -> None:
    assert [each.refused for each in read(packed(("a", b"1", {}), ("./a", b"2", {})))] == ["", "entry name twice"]


def test_an_archive_cut_off_anywhere_is_an_error_that_names_the_place() -> None:
    data = packed(("a.txt", b"a" * 700, {}), (LONG, b"b", {}))
    end = data.rstrip(b"\0")
    for length in range(0, len(end) + 512 - len(end) % 512, 100):
        with pytest.raises(DataError, match=rf"x\.tar: truncated: it ends at byte {length} \(unpacked\), in "):
            read(data[:length])
    with pytest.raises(DataError, match=r"in entry 'a\.txt'"):
        read(data[:600])


def test_a_flipped_bit_in_a_header_is_an_error_and_never_the_end() -> None:
    data = packed(("a", b"1", {}), ("b", b"2", {}))
    for place in (3, 1024 + 3):
        broken = bytearray(data)
        broken[place] ^= 1
        with pytest.raises(DataError, match=rf"not a valid tar archive: the header at byte {place - 3}: bad checksum"):
            read(bytes(broken))


def test_two_archives_joined_are_an_error_not_the_first_of_them() -> None:
    data = packed(("a", b"1", {}))
    with pytest.raises(DataError, match="more follows behind the end of the archive"):
        read(data + data)


def test_headers_that_lie_are_errors() -> None:
    pax = packed(("a", b"1", {"pax_headers": {"comment": "hello"}}))
    assert b"17 comment=hello\n" in pax
    for old, new, why in (
        (b"17 comment=", b"99 comment=", "malformed, at byte 0"),
        (b"17 comment=", b"x7 comment=", "malformed, at byte 0"),
        (b"17 comment=hello", b"17 size=-1234567", "an entry of -1234567 bytes"),
        (b"17 comment=hello", b"17 size=123abcde", "size or mtime is no number"),
    ):
        with pytest.raises(DataError, match=why):
            read(pax.replace(old, new))
    with pytest.raises(DataError, match="a PAX header or long name of 2000001 bytes"):
        read(packed(("a" * 2_000_000, b"1", {}), kind=tarfile.GNU_FORMAT)[:5000])


def test_random_damage_gives_members_or_an_error_and_nothing_else() -> None:
    data = packed(("a.txt", b"a" * 700, {}), (LONG, b"b", {}), ("c", b"", {"type": tarfile.SYMTYPE}))
    dice = random.Random(7)
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        with contextlib.suppress(DataError):
            assert all(isinstance(each, Member) for each in read(bytes(broken)))
