import numpy as np
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from gristmill.lake.identity import (
    IdDigest,
    canonical_bytes,
    digest_of,
    dump_hashes,
    hashes_missing_from,
    hashes_shared_by,
    load_hashes,
    sorted_pair_hashes,
)

PAIRS = [("wiki", f"page-{n}") for n in range(1000)]


def test_a_pair_is_a_compact_array_whose_parts_cannot_run_together() -> None:
    assert canonical_bytes(("wiki", "é")) == '["wiki","é"]'.encode()
    assert canonical_bytes(("a", 'b","c')) != canonical_bytes(('a","b', "c"))


def test_the_digest_is_over_lines_whatever_batches_they_come_in() -> None:
    whole, parts = IdDigest(), IdDigest()
    whole.update(PAIRS)
    for start in range(0, 1000, 7):
        parts.update(PAIRS[start : start + 7])
    parts.update([])
    assert whole.hexdigest() == parts.hexdigest()
    assert whole.hexdigest() == xxhash.xxh3_128_hexdigest(b"".join(canonical_bytes(p) + b"\n" for p in PAIRS))
    assert (whole.rows, whole.index()) == (1000, parts.index())


def test_the_digest_knows_order() -> None:
    there, back = IdDigest(), IdDigest()
    there.update(PAIRS)
    back.update(PAIRS[::-1])
    assert there.hexdigest() != back.hexdigest()
    assert there.index()[:16_000] == back.index()[:16_000]
    assert there.index() != back.index()


def test_an_index_is_sorted_and_comes_back() -> None:
    digest = IdDigest()
    digest.update(PAIRS)
    index = digest.index()
    assert len(index) == 20_000
    hashes = index[:16_000]
    keys = [hashes[i : i + 16] for i in range(0, 16_000, 16)]
    assert keys == sorted(xxhash.xxh3_128_digest(canonical_bytes(p)) for p in PAIRS)
    assert dump_hashes(load_hashes(hashes)) == hashes
    assert np.array_equal(sorted_pair_hashes(PAIRS), load_hashes(hashes))


def test_behind_the_hashes_of_an_index_stand_the_numbers_of_their_rows() -> None:
    digest = IdDigest()
    digest.update(PAIRS)
    index = digest.index()
    rows = [int.from_bytes(index[i : i + 4], "big") for i in range(16_000, 20_000, 4)]
    assert [xxhash.xxh3_128_digest(canonical_bytes(PAIRS[row])) for row in rows] == [
        index[i : i + 16] for i in range(0, 16_000, 16)
    ]


def test_an_empty_index_is_empty() -> None:
    assert IdDigest().index() == b""
    assert load_hashes(b"").shape == (0, 2)


@given(st.lists(st.integers(0, 20), max_size=30), st.lists(st.integers(0, 20), max_size=30))
def test_sets_of_hashes_behave_as_sets(left: list[int], right: list[int]) -> None:
    def of(numbers: list[int]) -> set[tuple[int, ...]]:
        return {tuple(row) for row in sorted_pair_hashes([("s", str(n)) for n in numbers]).tolist()}

    here, there = (sorted_pair_hashes([("s", str(n)) for n in numbers]) for numbers in (left, right))
    assert {tuple(row) for row in hashes_shared_by(here, there).tolist()} == of(left) & of(right)
    assert {tuple(row) for row in hashes_missing_from(here, there).tolist()} == of(left) - of(right)


def test_a_digest_does_not_know_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": [1, 2]}) == digest_of({"b": [1, 2], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})


def test_the_index_of_more_rows_tells_no_row_apart() -> None:
    digest, fewer = IdDigest(), IdDigest()
    digest.update(PAIRS)
    fewer.update(PAIRS[1:])
    assert fewer.first_other(digest.index(), 1000) == 0
    assert fewer.first_other(digest.index(), 999) is None
