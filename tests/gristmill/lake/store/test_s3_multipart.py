import time
from pathlib import Path
from typing import Any

import boto3
import pytest
from seaweed import BUCKET, Seaweed

from gristmill.errors import Conflict
from gristmill.lake.store.s3 import BucketStore
from gristmill.lake.store.s3_multipart import open_client

PART = bytes(5 << 20)


@pytest.fixture
def remote(seaweed: Seaweed, tmp_path: Path) -> BucketStore:
    """A lake on a server that keeps the conditions of a completion."""
    return seaweed.store(tmp_path.name)


@pytest.mark.slow
def test_parts_are_put_together_in_the_order_in_which_they_were_sent(remote: BucketStore) -> None:
    parts = remote.open_parts("a", None)
    for number in range(7):  # more than are sent at the same time
        parts.send(bytes([number]) * len(PART))
    parts.send(b"last")
    etag = parts.complete_upload()
    found = remote.head("a")
    assert found is not None
    assert (found.size, found.etag) == (7 * len(PART) + 4, etag)
    assert [remote.read_range("a", n * len(PART), n * len(PART) + 1)[0] for n in range(7)] == list(range(7))
    assert remote.read_range("a", 7 * len(PART), found.size) == b"last"


@pytest.mark.slow
def test_a_completion_over_another_object_than_at_the_begin_is_a_conflict(remote: BucketStore) -> None:
    new = remote.open_parts("a", None)
    new.send(PART)
    remote.put("a", b"theirs")
    with pytest.raises(Conflict, match="a: another run wrote it meanwhile"):
        new.complete_upload()
    assert remote.read("a") == b"theirs"
    before = remote.head("a")
    assert before is not None
    over = remote.open_parts("a", before.etag)
    over.send(PART)
    remote.put("a", b"theirs again")
    with pytest.raises(Conflict):
        over.complete_upload()
    assert remote.read("a") == b"theirs again"
    for parts in (new, over):
        parts.abort()


@pytest.mark.slow
def test_an_aborted_upload_leaves_no_part_in_the_bucket(remote: BucketStore, seaweed: Seaweed) -> None:
    client: Any = boto3.Session().client("s3", endpoint_url=seaweed.endpoint)
    prefix = remote.url.removeprefix(f"s3://{BUCKET}/")
    parts = remote.open_parts("a", None)
    parts.send(PART)
    assert len(client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix).get("Uploads", [])) == 1
    parts.abort()
    assert client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix).get("Uploads", []) == []


@pytest.mark.slow
def test_unfinished_uploads_below_the_lake_are_listed_with_their_begin_and_aborted(
    remote: BucketStore, seaweed: Seaweed
) -> None:
    began = time.time()
    neighbour = BucketStore(f"{remote.url}-too", seaweed.options)
    open_ = [remote.open_parts(path, None) for path in ("a/b", "a/b", "c")]
    theirs = neighbour.open_parts("a/b", None)
    for parts in (*open_, theirs):
        parts.send(PART)
    found = remote.unfinished()
    assert sorted(upload.path for upload in found) == ["a/b", "a/b", "c"]
    assert len({upload.id for upload in found}) == 3
    assert all(began - 5 <= upload.began <= time.time() + 5 for upload in found)
    for upload in found:
        remote.abort(upload)
        remote.abort(upload)  # it has ended: no error
    assert remote.unfinished() == []
    assert [upload.path for upload in neighbour.unfinished()] == ["a/b"]
    for parts in (*open_, theirs):
        parts.abort()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "style"),
    [
        ({}, "path"),
        ({"virtual_hosted_style_request": "True"}, "virtual"),
        ({"virtual_hosted_style_request": ""}, "path"),
    ],
)
def test_the_options_of_a_store_reach_the_client_of_parts(given: dict[str, str], style: str) -> None:
    client = open_client({"endpoint": "http://127.0.0.1:9", "region": "eu-north-1", **given})
    assert client.meta.endpoint_url == "http://127.0.0.1:9"
    assert client.meta.region_name == "eu-north-1"
    assert client.meta.config.s3["addressing_style"] == style
    assert client.meta.config.retries["total_max_attempts"] == 1
