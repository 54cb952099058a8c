import io
import warnings
import zipfile
import zlib

import pytest
from peak_memory import run_with_peak

from gristmill.errors import DataError
from gristmill.readers.zip_archive import Member, members, unsafe


def zipped(files: list[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of a second entry of one name, which a test wants
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files:
                archive.writestr(name, data)
    return buffer.getvalue()


def everything(_name: str) -> bool:
    return True


def test_wanted_files_come_in_the_order_of_the_archive() -> None:
    archive = zipped([("b.txt", b"b"), ("folder/", b""), ("a.bin", b"x"), ("a.txt", b"a")])
    found = list(members(archive, name="x.whl", accept=lambda name: name.endswith((".txt", "/"))))
    assert found == [Member("b.txt", b"b"), Member("a.txt", b"a")]


def test_an_entry_above_the_limit_is_refused_without_being_inflated() -> None:
    archive = zipped([("bomb.txt", bytes(1_000_000)), ("small.txt", b"small")])
    found = list(members(archive, name="x.whl", accept=everything, entry_limit=1000))
    assert found == [Member("bomb.txt", b"", "entry too large"), Member("small.txt", b"small")]


def test_entries_beyond_what_all_together_may_hold_are_refused() -> None:
    archive = zipped([(name, bytes(4)) for name in "abc"])
    found = list(members(archive, name="x.whl", accept=everything, total_limit=10))
    assert [member.refused for member in found] == ["", "", "entry too large"]


def test_an_entry_that_lies_about_its_size_is_an_error() -> None:
    archive = zipped([("bomb.txt", bytes(100_000))])
    lying = archive.replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    with pytest.raises(DataError, match=r"x\.whl: not a complete zip archive"):
        list(members(lying, name="x.whl", accept=everything))


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_every_compression_is_read_in_steps(kind: int) -> None:
    data = bytes(range(256)) * 1000
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name in ("a", "empty", "b"):
            archive.writestr(name, b"" if name == "empty" else data)
    found = list(members(b"a prefix" + buffer.getvalue(), name="x.whl", accept=everything))
    assert found == [Member("a", data), Member("empty", b""), Member("b", data)]
    broken = buffer.getvalue().replace(zlib.crc32(data).to_bytes(4, "little"), b"abcd")
    with pytest.raises(DataError, match=r"x\.whl: not a complete zip archive"):
        list(members(broken, name="x.whl", accept=everything))


LYING = """
import io, sys, zipfile
from gristmill.errors import DataError
from gristmill.readers.zip_archive import members
kind = getattr(zipfile, sys.argv[1])
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w", kind) as archive:
    with archive.open("bomb.txt", "w") as file:
        for _ in range(100):
            file.write(bytes(1 << 20))
data = buffer.getvalue().replace((100 << 20).to_bytes(4, "little"), (10).to_bytes(4, "little"))
before = peak()
try:
    list(members(data, name="x.whl", accept=lambda _: True))
except DataError as error:
    print(peak() - before, error)
"""


@pytest.mark.parametrize("kind", ["ZIP_DEFLATED", "ZIP_BZIP2", "ZIP_LZMA"])
def test_100_megabytes_that_are_declared_as_ten_bytes_cost_little_memory(kind: str) -> None:
    more, words = run_with_peak(LYING, kind).split(maxsplit=1)
    assert "x.whl: not a complete zip archive" in words
    assert int(more) < 85  # MiB


def test_a_second_entry_of_one_name_and_unsafe_names_are_refused() -> None:
    archive = zipped([("a", b"1"), ("a", b"2"), ("../a", b"3"), ("/a", b"4")])
    found = list(members(archive, name="x.whl", accept=everything))
    assert [member.refused for member in found] == [
        "",
        "entry name twice",
        "unsafe entry name",
        "unsafe entry name",
    ]


def test_an_encrypted_entry_is_refused() -> None:
    archive = bytearray(zipped([("a", b"1")]))
    directory = archive.index(b"PK\x01\x02")
    archive[directory + 8] |= 1  # the flag of the central directory
    assert [member.refused for member in members(bytes(archive), name="x", accept=everything)] == ["encrypted entry"]


def test_an_archive_cut_off_anywhere_is_an_error_that_names_it() -> None:
    archive = zipped([("a.txt", b"some text"), ("b.txt", b"more text")])
    for length in range(len(archive)):
        with pytest.raises(DataError, match=r"x\.whl: not a complete zip archive"):
            list(members(archive[:length], name="x.whl", accept=everything))


def test_a_flipped_byte_of_text_is_an_error() -> None:
    archive = bytearray(zipped([("a.txt", b"some text")]))
    archive[40] ^= 1
    with pytest.raises(DataError, match="not a complete zip archive"):
        list(members(bytes(archive), name="x.whl", accept=everything))


@pytest.mark.parametrize("name", ["", "/a", "a/../b", "..", "a\\b", "a\nb"])
def test_names_that_lead_astray_are_unsafe(name: str) -> None:
    assert unsafe(name)
    assert not unsafe("a/b..c/d.py")
