"""A file of keys: its bytes, and what is refused in place of one."""

import json
from pathlib import Path

import numpy as np
import pytest

from gristmill.dolma.dedupe.saved_keys import SavedKeys
from gristmill.dolma.dedupe.seen import SeenHashes
from gristmill.errors import DataError, GristmillError


def seen(*pairs: tuple[int, int]) -> SeenHashes:
    found = SeenHashes()
    for pair in pairs:
        found.add(np.array([pair], np.uint64))
    return found


@pytest.fixture
def saved(tmp_path: Path) -> SavedKeys:
    keys = SavedKeys(str(tmp_path / "keys"), {})
    keys.save(seen((3, 1), (1, 2**64 - 1), (3, 0)), "of documents", "of inputs", None)
    return keys


def digest(saved: SavedKeys) -> str:
    header = saved.header()
    assert header is not None
    return header.sha256


def test_keys_are_written_in_their_order_whatever_order_they_came_in(saved: SavedKeys, tmp_path: Path) -> None:
    line, _, keys = (tmp_path / "keys").read_bytes().partition(b"\n")
    halves = (1, 2**64 - 1, 3, 0, 3, 1)
    assert keys == b"".join(half.to_bytes(8, "big") for half in halves)
    header = json.loads(line)
    assert (header["version"], header["keys"], header["documents"]) == (1, 3, "of documents")
    first = (tmp_path / "keys").read_bytes()
    saved.save(seen((1, 2**64 - 1), (3, 0), (3, 1)), "of documents", "of inputs", saved.etag())
    assert (tmp_path / "keys").read_bytes() == first
    assert {path.name for path in tmp_path.iterdir()} == {"keys", ".dolma-keys"}


def test_a_set_that_is_read_has_its_keys_and_no_others(saved: SavedKeys) -> None:
    found = saved.load(digest(saved))
    asked = np.array([[3, 0], [3, 2], [1, 2**64 - 1], [0, 0]], np.uint64)
    assert found.contains(asked).tolist() == [True, False, True, False]
    assert len(found) == 3


def test_a_set_may_be_empty(tmp_path: Path) -> None:
    keys = SavedKeys(str(tmp_path / "keys"), {})
    assert keys.header() is None
    keys.save(seen(), "d", "i", None)
    assert len(keys.load(digest(keys))) == 0


def test_a_large_set_is_the_same_after_it_is_read(tmp_path: Path) -> None:
    """More than a piece of the store, so that pieces end within keys."""
    keys = SavedKeys(str(tmp_path / "keys"), {})
    some = np.arange(200_000, dtype=np.uint64).reshape(-1, 2) * np.uint64(2**45 + 1)
    large = SeenHashes()
    large.add(some[::-1])
    keys.save(large, "d", "i", None)
    assert keys.load(digest(keys)).sorted_hashes().tolist() == some.tolist()


BLOOM = bytes.fromhex("17f1f08101000000") + b"\n" * 99


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (BLOOM, "keys is a Bloom filter that Dolma's toolkit wrote"),
        (BLOOM[:4], "keys is a Bloom filter that Dolma's toolkit wrote"),
        (b"", "keys is not a file of keys that this command wrote"),
        (b"mine\n", "keys is not a file of keys that this command wrote"),
        (b"keys of gristmill dolma dedupe" + b" " * 5000, "keys is not a file of keys that this command wrote"),
        (b"keys of gristmill dolma dedupe\n", "keys is no JSON|the header of a file of keys"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "keys").write_bytes(data)
    with pytest.raises(GristmillError, match=words):
        SavedKeys(str(tmp_path / "keys"), {}).header()


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b'"version":1', b'"version":2', "a newer version of gristmill wrote it"),
        (b'"keys":3', b'"keys":9', "it has [0-9]+ bytes, which is not what its header says"),
        (b'"keys":3', b'"keys":9999999999999', "it has [0-9]+ bytes, which is not what its header says"),
        (b'"keys":3', b'"keys":-3', "it has [0-9]+ bytes, which is not what its header says"),
        (b"\x00" * 7 + b"\x03", b"\x00" * 7 + b"\x02", "its keys are not those that its header names"),
    ],
)
def test_damage_is_found(tmp_path: Path, old: bytes, new: bytes, words: str) -> None:
    path, keys = tmp_path / "keys", SavedKeys(str(tmp_path / "keys"), {})
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(DataError, match=words):
        keys.load(digest(keys))


def test_keys_out_of_order_are_refused_though_their_digest_fits(tmp_path: Path) -> None:
    keys = SavedKeys(str(tmp_path / "keys"), {})
    unsorted = SeenHashes.from_ascending(np.array([[2, 0], [1, 0]], np.uint64))
    keys.save(unsorted, "d", "i", None)
    with pytest.raises(DataError, match="its keys are not those"):
        keys.load(digest(keys))


def test_a_file_that_is_replaced_after_the_plan_is_told(saved: SavedKeys) -> None:
    before = digest(saved)
    saved.save(seen((9, 9)), "of documents", "of inputs", saved.etag())
    with pytest.raises(DataError, match="it was replaced since this run began; run again"):
        saved.load(before)
