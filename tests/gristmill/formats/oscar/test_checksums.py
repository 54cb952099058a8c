import hashlib
import subprocess
from pathlib import Path

import pytest

from gristmill.errors import DataError
from gristmill.formats.oscar.checksums import ALGORITHMS, Checksum, checksum_name, read_checksums, write_checksums

DIGEST = hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("between", ["  ", " ", " *"])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_every_form_of_a_line_is_read(between: str, end: str) -> None:
    assert read_checksums(f"{DIGEST.upper()}{between}./a b.gz{end}".encode(), "x") == [
        Checksum("a b.gz", DIGEST, "sha256")
    ]


def test_the_algorithm_is_told_by_the_length_of_the_hash() -> None:
    for digits, algorithm in ALGORITHMS.items():
        assert hashlib.new(algorithm, usedforsecurity=False).digest_size * 2 == digits
        assert read_checksums(b"0" * digits + b"  a\n", "x")[0].algorithm == algorithm


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\n\nabc  a\n", "x line 3: 'abc  a' is no checksum"),
        (f"{DIGEST}\n".encode(), "line 1"),
        (f"{DIGEST}  a\n{'0' * 64}  a\n".encode(), "line 2: a has two sha256 hashes"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
    ],
)
def test_what_is_no_checksum_is_an_error_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_checksums(data, "x")


def test_a_name_may_repeat_with_the_same_hash_or_with_another_algorithm() -> None:
    data = f"{DIGEST}  a\n{DIGEST}  a\n{'0' * 96}  a\n".encode()
    assert [entry.algorithm for entry in read_checksums(data, "x")] == ["sha256", "sha384"]


def test_what_we_write_is_accepted_by_coreutils_and_read_again(tmp_path: Path) -> None:
    names = ["en_part_10.jsonl.gz", "en_part_9.jsonl.gz", "odd\\name\nwith a break"]
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    entries = [(name, hashlib.sha256(name.encode()).hexdigest()) for name in names]
    written = write_checksums(entries)
    (tmp_path / checksum_name("en")).write_bytes(written)
    subprocess.run(["sha256sum", "--strict", "-c", "en_sha256.txt"], cwd=tmp_path, check=True, capture_output=True)
    found = read_checksums(written, "x")
    assert [(entry.name, entry.digest) for entry in found] == [entries[1], entries[0], entries[2]]


def test_nothing_is_written_of_an_unknown_algorithm_or_for_no_language() -> None:
    with pytest.raises(DataError, match="of 3 digits"):
        write_checksums([("a", "abc")])
    with pytest.raises(DataError, match="not a language label"):
        checksum_name("../en")
