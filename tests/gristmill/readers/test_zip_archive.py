import io
import struct
import warnings
import zipfile
import zlib

import pytest
from peak_memory import run_with_peak

from gristmill.errors import DataError
from gristmill.readers import zip_archive
from gristmill.readers.zip_archive import Member, is_unsafe_path, members


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
    assert found == [Member("bomb.txt", b"", "entry too large", 1_000_000), Member("small.txt", b"small")]


def test_entries_beyond_what_all_together_may_hold_are_refused() -> None:
    archive = zipped([(name, bytes(4)) for name in "abc"])
    found = list(members(archive, name="x.whl", accept=everything, total_limit=10))
    assert [member.refused for member in found] == ["", "", "archive too large"]


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
    found = list(members(buffer.getvalue(), name="x.whl", accept=everything))
    assert found == [Member("a", data), Member("empty", b""), Member("b", data)]
    broken = buffer.getvalue().replace(zlib.crc32(data).to_bytes(4, "little"), b"abcd")
    with pytest.raises(DataError, match=r"x\.whl: not a complete zip archive"):
        list(members(broken, name="x.whl", accept=everything))


LYING = """
import io, sys, zipfile
from gristmill.errors import DataError
from gristmill.readers import zip_archive
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "name", ["", "/a", "a/../b", "..", "a\\b", "a\nb", "a//b", "a/./b", "a/", "a\x85b", "a\u2028b", "a" * 1001]
)
def test_names_that_lead_astray_are_unsafe(name: str) -> None:
    assert is_unsafe_path(name)
    assert not is_unsafe_path("a/b..c/d.py")


def forged(entries: int, declared: int | None = None) -> bytes:
    """A directory of entries without files, and an end that claims one entry; `declared`: the size that it claims."""
    head = b"PK\x01\x02" + bytes(24) + (8).to_bytes(2, "little") + bytes(16)
    directory = b"".join(head + f"{number:08}".encode() for number in range(entries))
    size = len(directory) if declared is None else declared
    return directory + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, size, 0, 0)


def test_entries_beyond_the_limit_are_refused_whatever_number_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_name: str) -> bool:
        return False

    monkeypatch.setattr(zip_archive, "ENTRIES_LIMIT", 1000)
    with pytest.raises(DataError, match=r"x\.zip: not a complete zip archive"):  # the entries are forged
        list(members(forged(1000), name="x.zip", accept=none))
    monkeypatch.setattr(zipfile, "ZipInfo", None)  # no object is made of any entry
    with pytest.raises(
        DataError, match=r"^x\.zip: the directory of the archive has 1,001 entries, but may .* 1,000 en"
    ):
        list(members(forged(1001), name="x.zip", accept=none))


def test_a_directory_beyond_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "DIRECTORY_LIMIT", 100_000)
    with pytest.raises(
        DataError, match=r"x\.zip: the directory of the archive has 108,000 bytes, but may have 100,000"
    ):
        list(members(forged(2000), name="x.zip", accept=everything))
    with pytest.raises(DataError, match=r"x\.zip: the directory .* has 4,000,000,000 bytes|not a complete zip archive"):
        list(members(forged(10, 4_000_000_000), name="x.zip", accept=everything))


def test_entries_within_a_stored_file_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive in an archive: only the directory is limited, not what the files hold."""
    monkeypatch.setattr(zip_archive, "ENTRIES_LIMIT", 2)
    inner, buffer = zipped([(str(number), b"") for number in range(50)]) + bytes(100_000), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inner.zip", inner)
    assert [m.raw for m in members(buffer.getvalue(), name="x.zip", accept=everything)] == [inner]


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_data_that_goes_on_behind_the_declared_size_is_damage(kind: int) -> None:
    """The checksum is that of the first 20 bytes."""
    data, buffer = b"A" * 20 + b"B" * 2000, io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        archive.writestr("a.txt", data)
    lying = buffer.getvalue().replace(
        zlib.crc32(data).to_bytes(4, "little"), zlib.crc32(data[:20]).to_bytes(4, "little")
    )
    lying = lying.replace(len(data).to_bytes(4, "little"), (20).to_bytes(4, "little"))
    with pytest.raises(DataError, match=r"x\.zip: not a complete zip archive"):
        list(members(lying, name="x.zip", accept=everything))


def test_a_folder_with_data_is_refused() -> None:
    found = list(members(zipped([("docs/", b"secret"), ("more/", b"")]), name="x", accept=everything))
    assert found == [Member("docs/", b"", "folder with data", 6)]


def test_names_are_utf_8_and_whole() -> None:
    archive = zipped([("./caf__.txt", b"x"), ("other_.txt", b"y")])
    plain = archive.replace(b"caf__", "caf\xe9".encode())
    assert [m.name for m in members(plain, name="x", accept=everything)] == ["caf\xe9.txt", "other_.txt"]
    for byte, shown in ((b"\xe9", "other\\xe9.txt"), (b"\0", "other\0.txt")):
        _, refused = members(archive.replace(b"other_", b"other" + byte), name="x", accept=everything)
        assert refused == Member(shown, b"", "unsafe entry name", 1)
