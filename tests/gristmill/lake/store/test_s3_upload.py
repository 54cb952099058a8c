import pytest

from gristmill.lake.store.s3 import BucketStore
from gristmill.lake.store.s3_upload import SMALL


@pytest.mark.parametrize(("more", "parts"), [(-1, 0), (0, 0), (1, 2)])
def test_what_is_larger_than_one_request_goes_in_parts(bucket: BucketStore, more: int, parts: int) -> None:
    upload = bucket.upload("a")
    upload.write(bytes(SMALL - 10))
    upload.write(bytes(10 + more))
    entry = upload.close()
    assert entry.size == SMALL + more
    assert entry == bucket.head("a")
    assert entry.etag.partition("-")[2] == (str(parts) if parts else "")  # S3 writes the count behind the etag


@pytest.mark.slow
def test_one_huge_write_is_cut_into_parts_of_the_same_size(bucket: BucketStore) -> None:
    upload = bucket.upload("a")
    upload.write(bytes(2 * SMALL + 5))
    assert upload.close().etag.endswith("-3")
    assert bucket.read_range("a", 2 * SMALL, 2 * SMALL + 5) == bytes(5)


def test_an_upload_that_is_aborted_is_not_there_whether_parts_were_sent_or_not(bucket: BucketStore) -> None:
    for size in (5, SMALL + 1):
        upload = bucket.upload("a")
        upload.write(bytes(size))
        upload.abort()
        assert bucket.head("a") is None
