import time
from pathlib import Path
from typing import Any

import boto3
import pytest
from seaweed import KEY, Seaweed

from gristmill.errors import RecipeError, StoreError
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.lake.store.s3 import BucketStore


@pytest.fixture(params=["moto", "seaweed"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[BucketStore, Any]:
    """A lake in a bucket of each server, and another client of that server."""
    if request.param == "seaweed":
        server: Seaweed = request.getfixturevalue("seaweed")
        return server.store(tmp_path.name), boto3.Session().client("s3", endpoint_url=server.endpoint)
    return request.getfixturevalue("bucket"), request.getfixturevalue("client")


@pytest.fixture
def client(endpoint: str) -> Any:
    return boto3.Session().client("s3", endpoint_url=endpoint, region_name="us-east-1")


def put_raw(client: Any, store: Store, key: str, body: bytes = b"") -> None:
    """As other tools put objects: under any key."""
    name, _, prefix = store.url.removeprefix("s3://").partition("/")
    client.put_object(Bucket=name, Key=f"{prefix}/{key}", Body=body)


def test_folders_that_a_console_made_are_no_objects(served: tuple[BucketStore, Any]) -> None:
    store, client = served
    for key in ("raw/", "raw/2024/", "raw/2024/sub/"):
        put_raw(client, store, key)
    store.put("raw/2024/empty", b"")
    store.put("raw/2024/full", b"1")
    assert sorted(entry.path for entry in store.list("raw/")) == ["raw/2024/empty", "raw/2024/full"]


def test_an_object_may_have_the_name_of_a_folder(served: tuple[BucketStore, Any]) -> None:
    store, _ = served
    for path in ("raw/a", "raw/a/b", "raw/a.b"):
        store.put(path, path.encode())
    assert sorted(entry.path for entry in store.list("raw/")) == ["raw/a", "raw/a.b", "raw/a/b"]
    assert [entry.path for entry in store.list("raw/a/")] == ["raw/a/b"]
    assert store.read("raw/a") == b"raw/a"
    store.delete(["raw/a"])
    assert sorted(entry.path for entry in store.list("raw/")) == ["raw/a.b", "raw/a/b"]


def test_a_name_that_the_client_cannot_hold_is_an_error_and_not_left_out(bucket: BucketStore, client: Any) -> None:
    put_raw(client, bucket, "raw//a", b"1")
    with pytest.raises(StoreError, match="raw//a"):
        list(bucket.list("raw/"))


def test_two_lakes_in_one_bucket_do_not_see_each_other(bucket: BucketStore, endpoint: str) -> None:
    other = BucketStore(f"{bucket.url}-other", {"endpoint": endpoint, "region": "us-east-1"})
    bucket.put("a", b"1")
    other.put("b", b"2")
    assert [entry.path for entry in bucket.list("")] == ["a"]
    assert [entry.path for entry in other.list("")] == ["b"]


@pytest.mark.slow
def test_a_bucket_that_is_not_there_is_an_error_that_says_the_mend(endpoint: str) -> None:
    nowhere = BucketStore("s3://no-such-bucket/lake", {"endpoint": endpoint, "region": "us-east-1"})
    start = time.monotonic()
    for verb in (
        lambda: list(nowhere.list("a/")),
        lambda: nowhere.put("a", b""),
        lambda: nowhere.put_if("a", b"", None),
        lambda: nowhere.read("a"),
        lambda: nowhere.read_tagged("a"),
        lambda: nowhere.read_range("a", 0, 1),
        lambda: list(nowhere.stream("a")),
        lambda: nowhere.delete(["a"]),
        lambda: nowhere.upload("a").write(bytes(9_000_000)),
    ):
        with pytest.raises(StoreError, match="there is no such bucket: create it, or correct the lake's address"):
            verb()
    assert time.monotonic() - start < 60  # what is tried again is given up after 90


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_wrong_credentials_are_an_error_at_once_that_says_the_mend(
    seaweed: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "something-else")
    store = seaweed.store(tmp_path.name)
    start = time.monotonic()
    for verb in (
        lambda: list(store.list("a/")),
        lambda: store.head("a"),
        lambda: store.put("a", b""),
        lambda: store.put_if("a", b"", None),
        lambda: store.read("a"),
        lambda: store.read_range("a", 0, 1),
        lambda: list(store.stream("a")),
        lambda: store.delete(["a"]),
        lambda: store.open_parts("a", None),
    ):
        with pytest.raises(StoreError, match="the bucket refused our credentials") as told:
            verb()
        assert KEY not in str(told.value)
        assert "something-else" not in str(told.value)
    assert time.monotonic() - start < 60  # what is tried again is given up after 90


def test_a_lake_at_the_top_of_a_bucket_works_like_any(endpoint: str, client: Any) -> None:
    client.create_bucket(Bucket="whole-bucket")
    store = BucketStore("s3://whole-bucket", {"endpoint": endpoint, "region": "us-east-1"})
    store.put("a/b", b"1")
    assert [entry.path for entry in store.list("")] == ["a/b"]
    assert [entry.path for entry in store.list("a/")] == ["a/b"]


@pytest.mark.parametrize("name", ["secret_access_key", "AWS_ACCESS_KEY_ID", "token", "aws_session_token"])
def test_a_credential_is_no_option(name: str) -> None:
    with pytest.raises(RecipeError, match=f"option {name}: credentials are taken from the environment alone") as told:
        open_store("s3://corpus/lake", {name: "hush"})
    assert "hush" not in str(told.value)
