"""Feeds: rows of a set in step with their documents, and what breaks the step."""

import json

import pytest
from testkit import Mill
from wholelake import DOCUMENTS, REVISED, WORDS, table

from gristmill.errors import MalformedRow, Misaligned, StoreError
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import ShardFile
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.reading.document_arrays import RowLines
from gristmill.reading.feeds import (
    AlignedFeed,
    ForwardFeed,
    PickedFeed,
    pair_of_row,
    read_picked_lines,
    read_shard_lines,
)


def pairs(*numbers: int) -> list[Pair]:
    return [("pages", f"doc-{number:05d}") for number in numbers]


def lines_of(*numbers: int) -> RowLines:
    return RowLines("documents.jsonl.gz", numbers, [b"{}"] * len(numbers))


def words(mill: Mill) -> tuple[str, Shard]:
    return WORDS.shard("a"), table(mill, WORDS)[0]


def test_all_rows_of_a_shard_are_given_and_some_by_their_numbers(read_mill: Mill) -> None:
    path, shard = DOCUMENTS.shard("a"), table(read_mill, DOCUMENTS)[0]
    [whole] = read_shard_lines(ShardFile(read_mill.store, path, shard), verified=True)
    assert (len(whole.lines), list(whole.numbers)) == (20, list(range(20)))
    [some] = read_picked_lines(ShardFile(read_mill.store, path, shard), [3, 17])
    assert (some.lines, some.numbers) == ([whole.lines[3], whole.lines[17]], [3, 17])


def test_rows_of_two_members_are_read_from_both(read_mill: Mill) -> None:
    writer = ShardWriter(read_mill.store, "long.jsonl.gz")
    writer.write(b"".join(b'{"n":%d,"text":"%s"}\n' % (n, b"x" * 400_000) for n in range(6)))
    written = writer.close()
    shard = Shard.from_written("long", written, ids="", recipe="", inputs=())
    assert [first for _, first in shard.members] == [0, 3]
    found = list(read_picked_lines(ShardFile(read_mill.store, "long.jsonl.gz", shard), [1, 2, 5]))
    assert [(each.numbers, [json.loads(line)["n"] for line in each.lines]) for each in found] == [
        ([1, 2], [1, 2]),
        ([5], [5]),
    ]


def test_a_shard_with_other_rows_than_its_ledger_is_told(read_mill: Mill) -> None:
    shard = table(read_mill, DOCUMENTS)[0]
    with pytest.raises(StoreError, match=r"b\.jsonl\.gz: not the object that its ledger names"):
        list(read_shard_lines(ShardFile(read_mill.store, DOCUMENTS.shard("b"), shard), verified=True))
    with pytest.raises(StoreError, match=r"a\.jsonl\.gz: 8 rows, but its ledger has 20"):
        list(read_shard_lines(ShardFile(read_mill.store, REVISED.shard("a"), shard), verified=False))
    with pytest.raises(StoreError, match="has no row 12: the shard is being rebuilt"):
        list(read_picked_lines(ShardFile(read_mill.store, REVISED.shard("a"), table(read_mill, REVISED)[0]), [12]))


def test_a_set_is_taken_in_steps_and_its_ids_are_compared(read_mill: Mill) -> None:
    path, shard = words(read_mill)
    feed = AlignedFeed(ShardFile(read_mill.store, path, shard), verified=True)
    _, rows = feed.labels_of(pairs(0, 1), lines_of(0, 1))
    assert [row["id"] for row in rows] == ["doc-00000", "doc-00001"]
    with pytest.raises(
        Misaligned, match=r"row 2: id 'doc-00002' \(source 'pages'\), but documents.jsonl.gz has 'doc-00003'"
    ):
        feed.labels_of(pairs(3), lines_of(2))
    with pytest.raises(Misaligned, match="has a row 3"):
        feed.finish("documents.jsonl.gz")
    with pytest.raises(Misaligned, match="row 5: id 'doc-00005'"):
        PickedFeed(ShardFile(read_mill.store, path, shard)).labels_of(pairs(6), lines_of(5))
    held, _ = PickedFeed(ShardFile(read_mill.store, path, shard)).labels_of(pairs(5, 19), lines_of(5, 19))
    assert list(held.numbers) == [5, 19]


def test_a_set_follows_a_mix_forward_only(read_mill: Mill) -> None:
    path, shard = words(read_mill)
    feed = ForwardFeed(ShardFile(read_mill.store, path, shard), verified=True)
    held, rows = feed.labels_of(pairs(2, 5), lines_of(0, 1))
    assert (list(held.numbers), [row["id"] for row in rows]) == ([2, 5], ["doc-00002", "doc-00005"])
    with pytest.raises(Misaligned, match=r"documents\.jsonl\.gz: row 2: id 'doc-00004' .* has no row in .*words-1"):
        feed.labels_of(pairs(4), lines_of(2))


def test_the_rest_of_a_set_is_read_so_that_its_sha256_is_compared(read_mill: Mill) -> None:
    path, _ = words(read_mill)
    feed = ForwardFeed(ShardFile(read_mill.store, path, table(read_mill, WORDS)[1]), verified=True)
    with pytest.raises(StoreError, match="not the object that its ledger names"):
        feed.finish("documents.jsonl.gz")


def test_a_row_without_an_id_is_named() -> None:
    assert pair_of_row({"id": "a"}, "x.gz", 0, "pages") == ("pages", "a")
    with pytest.raises(MalformedRow, match=r'x\.gz: row 4: no string "id"'):
        pair_of_row({"id": 1.5, "source": "pages"}, "x.gz", 4)
    assert pair_of_row({"id": 1}, "x.gz", 0, "pages") == ("pages", "1")
