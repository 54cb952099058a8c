from typing import Any

import pytest

from gristmill.errors import StoreError
from gristmill.lake.bucket import BucketStore


@pytest.fixture
def client(endpoint: str) -> Any:
    boto3 = pytest.importorskip("boto3")
    return boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")


def test_folders_that_a_console_made_are_no_objects(bucket: BucketStore, client: Any) -> None:
    name, _, prefix = bucket.url.removeprefix("s3://").partition("/")
    for key in ("raw/", "raw/2024/", "raw/2024/sub/"):
        client.put_object(Bucket=name, Key=f"{prefix}/{key}", Body=b"")
    bucket.put("raw/2024/empty", b"")
    bucket.put("raw/2024/full", b"1")
    assert sorted(entry.path for entry in bucket.list("raw/")) == ["raw/2024/empty", "raw/2024/full"]


def test_a_name_that_the_client_cannot_hold_is_an_error_and_not_left_out(bucket: BucketStore, client: Any) -> None:
    name, _, prefix = bucket.url.removeprefix("s3://").partition("/")
    client.put_object(Bucket=name, Key=f"{prefix}/raw//a", Body=b"1")
    with pytest.raises(StoreError, match="raw//a"):
        list(bucket.list("raw/"))


def test_two_lakes_in_one_bucket_do_not_see_each_other(bucket: BucketStore, endpoint: str) -> None:
    other = BucketStore(f"{bucket.url}-other", {"endpoint": endpoint, "region": "us-east-1"})
    bucket.put("a", b"1")
    other.put("b", b"2")
    assert [entry.path for entry in bucket.list("")] == ["a"]
    assert [entry.path for entry in other.list("")] == ["b"]


def test_a_bucket_that_is_not_there_is_a_store_error(endpoint: str) -> None:
    nowhere = BucketStore("s3://no-such-bucket/lake", {"endpoint": endpoint, "region": "us-east-1"})
    for verb in (
        lambda: list(nowhere.list("a/")),
        lambda: nowhere.put("a", b""),
        lambda: nowhere.put_if("a", b"", None),
        lambda: nowhere.read("a"),
    ):
        with pytest.raises(StoreError):
            verb()


def test_a_lake_at_the_top_of_a_bucket_works_like_any(endpoint: str, client: Any) -> None:
    client.create_bucket(Bucket="whole-bucket")
    store = BucketStore("s3://whole-bucket", {"endpoint": endpoint, "region": "us-east-1"})
    store.put("a/b", b"1")
    assert [entry.path for entry in store.list("")] == ["a/b"]
    assert [entry.path for entry in store.list("a/")] == ["a/b"]
