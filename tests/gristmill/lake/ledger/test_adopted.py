from pathlib import Path

import pytest
from testkit import Mill

from gristmill.errors import DataError, StoreError
from gristmill.lake.address import place
from gristmill.lake.identity import PairDigest
from gristmill.lake.ledger.adopted import ShardFile, open_shard, read_root, root_path, write_root
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import IdPair
from gristmill.lake.store.adopted import Root

PLACE = place("sources/dolma/v0/documents", "all")
SHARD = Shard("a", 1, 4, 4, "", "", "", "", (), extra={"at": "documents/a.json.gz"})


def test_a_shard_is_in_the_lake_or_at_its_root(tmp_path: Path) -> None:
    store = Mill(tmp_path).store
    own = Shard("a", 1, 4, 4, "", "", "", "", ())
    assert open_shard(store, PLACE, own) == ShardFile(store, "sources/dolma/v0/documents/all/a.jsonl.gz", own)
    with pytest.raises(DataError, match=r"root\.json: there is no such object, so the file documents/a\.json\.gz is"):
        open_shard(store, PLACE, SHARD)
    write_root(store, PLACE, Root("/data/dolma"))
    assert open_shard(store, PLACE, SHARD).path == "/data/dolma/documents/a.json.gz"


def test_a_root_is_written_only_when_it_is_another(tmp_path: Path) -> None:
    store = Mill(tmp_path).store
    write_root(store, PLACE, None)
    assert read_root(store, PLACE) is None
    write_root(store, PLACE, Root("/data/dolma"))
    before = store.head(root_path(PLACE))
    write_root(store, PLACE, Root("/data/dolma"))
    assert store.head(root_path(PLACE)) == before
    write_root(store, PLACE, Root("s3://b/dolma", {"region": "x"}, "THEIRS"))
    assert read_root(store, PLACE) == Root("s3://b/dolma", {"region": "x"}, "THEIRS")


def test_a_root_that_is_not_valid_is_an_error(tmp_path: Path) -> None:
    store = Mill(tmp_path).store
    store.put(root_path(PLACE), b"{}")
    with pytest.raises(DataError, match=r"root\.json: not the address of a root"):
        read_root(store, PLACE)


def test_the_rows_and_the_ids_of_a_shard_are_those_of_its_ledger(tmp_path: Path) -> None:
    found, other = PairDigest(), PairDigest()
    found.update([("s", "1"), ("s", "2")])
    other.update([("s", "2"), ("s", "1")])

    def file_of(rows: int, ids: str) -> ShardFile:
        return ShardFile(Mill(tmp_path).store, "a.jsonl.gz", Shard("a", rows, 4, 4, "", "", ids, "", ()))

    file_of(2, found.hexdigest()).check_ids(found)
    with pytest.raises(DataError, match=r"^a\.jsonl\.gz: 3 documents in its ledger, but 2 were read; make them again"):
        file_of(3, found.hexdigest()).check_ids(found)
    with pytest.raises(DataError, match=r"^a\.jsonl\.gz: its 2 documents have other ids, or another order, than"):
        file_of(2, other.hexdigest()).check_ids(found)


def test_a_reader_compares_the_sha256_unless_it_says_otherwise(tmp_path: Path) -> None:
    store = Mill(tmp_path).store
    store.put("a.jsonl", b'{"id":"1","source":"s"}\n{"id":"2","source":"s"}\n')
    file = ShardFile(store, "a.jsonl", Shard("a", 2, 50, 50, "0" * 64, "", "", "", (), members=((0, 0),)))
    assert file.rows_around(1) == (0, [b'{"id":"1","source":"s"}', b'{"id":"2","source":"s"}'])
    assert file.rows_around(2) == (2, [])
    assert [row.id for _, rows in file.rows(IdPair, verified=False) for row in rows] == ["1", "2"]
    feed = file.open_row_feed(verified=False)
    feed.next_rows(2, "b")
    feed.finish("b")
    for read in (
        lambda: list(file.blocks()),
        lambda: list(file.rows(IdPair)),
        lambda: file.open_row_feed().next_rows(3, "b"),
    ):
        with pytest.raises(StoreError, match=r"a\.jsonl: not the object that its ledger names"):
            read()
