"""Samples by hash: the same rows each time, as a plain computation draws them."""

import gzip
from collections import Counter
from typing import Any

import pytest
import xxhash
from testkit import Mill, make_documents
from wholelake import DOCUMENTS, table

from gristmill.api import open_lake
from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.identity import canonical_bytes
from gristmill.reading.document_rows import DocumentRows
from gristmill.reading.opened_lake import OpenedLake
from gristmill.recipes.rules import score

PLACE = ["snapshot", "shard", "row", "id"]


def places(rows: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows]


def drawn(rows: DocumentRows, n: int, seed: int = 0) -> list[tuple[Any, ...]]:
    """The rows whose hashes follow the beginning of their snapshot's draw most closely, in the lake's order."""

    def distance(place: tuple[Any, ...]) -> int:
        begin = xxhash.xxh3_128_intdigest(f"sources/pages/v0/documents/{place[0]}".encode(), seed)
        return (xxhash.xxh3_128_intdigest(canonical_bytes(("pages", place[3]))) - begin) % 2**128

    everything = places(rows)
    return sorted(sorted(everything, key=distance)[:n])


@pytest.mark.parametrize(("n", "seed"), [(0, 0), (1, 0), (7, 0), (7, 1), (49, 5), (50, 0), (80, 0)])
def test_a_sample_is_drawn_by_hash(opened: OpenedLake, n: int, seed: int) -> None:
    rows = opened.documents("pages/v0", columns=PLACE)
    sample = rows.sample(n, seed)
    assert places(sample) == places(sample) == drawn(rows, n, seed)
    assert len(sample) == min(n, 50)


def test_another_seed_draws_others_and_snapshots_of_equal_ids_have_draws_of_their_own(opened: OpenedLake) -> None:
    rows = opened.documents("pages/v0", columns=PLACE)
    assert places(rows.sample(10, 1)) != places(rows.sample(10, 2))
    twice = Counter(row["id"] for row in rows.sample(20))
    assert max(twice.values()) <= 2
    assert sum(number == 2 for number in twice.values()) < 5


def test_a_large_index_is_searched_and_not_read(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(5000))
    mill.convert()
    rows = open_lake(str(mill.root), {}).documents("pages/v0", columns=PLACE)
    for seed in range(4):
        assert places(rows.sample(25, seed)) == drawn(rows, 25, seed)


def test_rows_of_a_sample_have_their_labels(opened: OpenedLake) -> None:
    count = score("words-1__count", "words")
    for row in opened.documents("pages/v0", columns=["id", count]).sample(9):
        assert row["words"] == int(row["id"][4:]) % 5 + 1
    mixed = list(opened.mix("even", columns=["id", count]).sample(5))
    assert len(mixed) == 5
    assert all(row["words"] == int(row["id"][4:]) % 5 + 1 for row in mixed)


def test_an_index_of_the_first_version_has_hashes_only_and_rows_are_read(read_mill: Mill, own: OpenedLake) -> None:
    rows = own.documents("pages/v0", columns=PLACE, snapshots=["2024"])
    before = places(rows.sample(6))
    for shard in table(read_mill, DOCUMENTS):
        path = DOCUMENTS.index(shard.name)
        read_mill.store.put(path, read_mill.store.read(path)[: 16 * shard.rows])
    assert places(rows.sample(6)) == before


def test_a_lost_index_and_another_row_than_its_index_names_are_told(read_mill: Mill, own: OpenedLake) -> None:
    rows = own.documents("pages/v0", columns=PLACE, snapshots=["2024"], shards=["b"])
    sample = rows.sample(2)
    path = DOCUMENTS.index("b")
    read_mill.store.delete([path])
    with pytest.raises(DataError, match=f"{path} is missing; make its shard again"):
        rows.sample(2)
    rows_of_b = gzip.decompress(read_mill.store.read(DOCUMENTS.shard("b"))).splitlines(keepends=True)
    # One row again and again: shorter than the shard, however well the time in its rows packs.
    packed = gzip.compress(rows_of_b[0] * len(rows_of_b), mtime=0)
    read_mill.store.put(DOCUMENTS.shard("b"), packed.ljust(table(read_mill, DOCUMENTS)[1].bytes, b"\0"))
    with pytest.raises(StoreError, match="is not the row that the shard's index names"):
        list(sample)


def test_a_negative_sample_is_refused(opened: OpenedLake) -> None:
    with pytest.raises(RecipeError, match=r"n of sample\(\) is -1; give a number of rows"):
        opened.documents("pages/v1").sample(-1)
