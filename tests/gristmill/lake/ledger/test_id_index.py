"""The id index: where a pair stands, with and without row numbers behind the hashes."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.identity import HASH_BYTES, IdDigest
from gristmill.lake.ledger.id_index import IdIndex, find_hash_position, hash_pair
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.folder import FolderStore

HERE = place("sources/pages/v0/documents", "2024")
PAIRS = [("pages", f"doc-{n}") for n in range(3000)]


def index_of(pairs: list[tuple[str, str]]) -> bytes:
    digest = IdDigest()
    digest.update(pairs)
    return digest.index()


def shard(rows: int) -> Shard:
    return Shard(
        name="a", rows=rows, bytes=0, length=0, sha256="", content="", ids="", recipe="", inputs=(), index="known"
    )


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(str(tmp_path))


def found(store: FolderStore, pair: tuple[str, str], rows: int = len(PAIRS)) -> int | None:
    index = IdIndex(store, HERE, shard(rows))
    at = index.find_position(hash_pair(pair))
    return None if at is None else index.row_at(at)


def test_every_pair_is_found_in_its_row_and_no_other(store: FolderStore) -> None:
    store.put(HERE.index("a"), index_of(PAIRS))
    assert [found(store, pair) for pair in PAIRS] == list(range(3000))
    assert found(store, ("pages", "doc-3000")) is None
    assert found(store, ("other", "doc-0")) is None


def test_in_an_index_of_a_million_one_small_range_is_read() -> None:
    hashes = np.sort(np.random.default_rng(3).integers(0, 2**64, 1_000_000, np.uint64))
    index = np.stack([hashes, hashes], axis=1).astype(">u8").tobytes()
    read: list[int] = []

    def ranged(start: int, end: int) -> bytes:
        read.append(end - start)
        return index[start:end]

    for number in range(0, 1_000_000, 9973):
        at = number * HASH_BYTES
        assert find_hash_position(ranged, 1_000_000, index[at : at + HASH_BYTES]) == number
    assert max(read) < 70_000
    assert len(read) == 101  # one a search


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=300, unique=True), st.binary(min_size=16, max_size=16))
def test_hashes_that_are_spread_as_no_hashes_are_found_too(hashes: list[bytes], other: bytes) -> None:
    """Hypothesis likes zeros and ones: nothing lies where it is looked for first."""
    index = b"".join(sorted(hashes))

    def ranged(start: int, end: int) -> bytes:
        return index[start:end]

    assert [find_hash_position(ranged, len(hashes), each) for each in sorted(hashes)] == list(range(len(hashes)))
    assert (find_hash_position(ranged, len(hashes), other) is None) == (other not in hashes)


def test_crowded_hashes_take_more_than_one_read_and_are_found() -> None:
    crowded = [(1 << 120 | number).to_bytes(16, "big") for number in range(10_000)]
    index = b"".join(crowded)
    reads: list[int] = []

    def ranged(start: int, end: int) -> bytes:
        reads.append(start)
        return index[start:end]

    assert find_hash_position(ranged, 10_000, crowded[9_999]) == 9_999
    assert len(reads) > 1


def test_bytes_that_look_like_the_hash_across_two_others_are_not_it() -> None:
    first, second = bytes(8) + b"12345678", b"abcdefgh" + bytes(8)
    index = first + second
    across = b"12345678abcdefgh"
    assert find_hash_position(lambda start, end: index[start:end], 2, across) is None


def test_an_index_of_hashes_alone_tells_that_it_has_no_rows(store: FolderStore) -> None:
    store.put(HERE.index("a"), index_of(PAIRS)[: 16 * len(PAIRS)])
    index = IdIndex(store, HERE, shard(len(PAIRS)))
    at = index.find_position(hash_pair(PAIRS[5]))
    assert at is not None
    assert index.row_at(at) is None
    assert index.raw_spans() == b""


def test_an_index_with_a_part_of_its_row_numbers_is_refused(store: FolderStore) -> None:
    store.put(HERE.index("a"), index_of(PAIRS)[:-1])
    with pytest.raises(DataError, match=r"not have a number for each of 3000 rows"):
        found(store, PAIRS[5])


def test_what_stands_behind_the_row_numbers_is_given_as_it_is(store: FolderStore) -> None:
    store.put(HERE.index("a"), index_of(PAIRS) + b"raw_spans")
    assert IdIndex(store, HERE, shard(len(PAIRS))).raw_spans() == b"raw_spans"
    assert found(store, PAIRS[7]) == 7


def test_nothing_is_found_in_the_index_of_an_empty_shard(store: FolderStore) -> None:
    assert found(store, PAIRS[0], rows=0) is None
