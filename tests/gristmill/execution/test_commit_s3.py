"""The journey of a lake in a bucket: the same steps, the same ledgers as in a folder."""

from pathlib import Path

import pytest
from testkit import Mill, Stopping, make_documents

from gristmill.engines.local import LocalPool
from gristmill.errors import StoreError
from gristmill.lake.store.s3 import BucketStore


@pytest.fixture
def remote(bucket: BucketStore, endpoint: str, tmp_path: Path) -> Mill:
    return Mill(tmp_path, bucket.url, {"endpoint": endpoint, "region": "us-east-1"})


def journey(mill: Mill) -> list[list[str]]:
    ground: list[list[str]] = []
    mill.convert()
    ground.append(mill.ground)
    mill.tag("words-1", "characters-1")
    ground.append(mill.ground)
    mill.revise()
    ground.append(mill.ground)
    return ground


@pytest.mark.slow
def test_a_bucket_holds_what_a_folder_holds(remote: Mill, mill: Mill) -> None:
    for each in (remote, mill):
        each.raw_shards(3)
        assert journey(each) == [["a", "b", "c"]] * 3
    assert remote.tree() == mill.tree()


@pytest.mark.slow
def test_a_second_run_over_a_bucket_grinds_nothing_and_a_change_its_own_shard(remote: Mill) -> None:
    remote.raw_shards(3)
    journey(remote)
    before = remote.stamps()
    assert journey(remote) == [[]] * 3
    assert remote.stamps() == before
    remote.raw("b.jsonl.gz", make_documents(7, start=100))
    assert journey(remote) == [["b"]] * 3
    remote.store.delete(["sources/pages/raw/2024/c.jsonl.gz"])
    assert journey(remote) == [[]] * 3
    assert sorted(remote.table(remote.documents("v1"))) == ["a", "b"]
    remote.verify(remote.documents(), remote.documents("v1"), remote.attributes("words-1"))


@pytest.mark.slow
def test_a_run_over_a_bucket_that_was_broken_off_goes_on(remote: Mill) -> None:
    remote.raw_shards(4)
    with pytest.raises(KeyboardInterrupt):
        remote.convert(engine=Stopping(3))
    remote.convert()
    assert len(remote.ground) == 1


@pytest.mark.slow
def test_workers_of_their_own_reach_the_bucket(remote: Mill) -> None:
    remote.raw_shards(3)
    pool = LocalPool(2, small=0)
    try:
        assert remote.convert(engine=pool).totals["rows"] == 30
    finally:
        pool.close()
    remote.verify(remote.documents())


def test_a_bucket_that_is_gone_is_a_store_error(endpoint: str, tmp_path: Path) -> None:
    nowhere = Mill(tmp_path, "s3://no-such-bucket/lake", {"endpoint": endpoint, "region": "us-east-1"})
    with pytest.raises(StoreError, match="no such bucket: create it"):
        nowhere.convert()
