"""Small objects of a bucket that are fetched before they are asked for."""

import threading
from collections.abc import Iterator

import pytest
from testkit import Mill

from gristmill.errors import StoreError
from gristmill.lake.store.protocol import ObjectVersion
from gristmill.lake.store.read_ahead import AT_ONCE, SMALL, ReadAhead, open_read_ahead
from gristmill.lake.store.s3 import BucketStore


def versions(store: BucketStore) -> list[tuple[str, ObjectVersion]]:
    return [(entry.path, entry.version) for entry in store.list("")]


@pytest.mark.slow
def test_objects_of_a_bucket_come_as_they_are_in_any_order_large_ones_and_empty_ones_too(bucket: BucketStore) -> None:
    data = {f"{number:02d}": bytes([number]) * number for number in range(40)} | {"big": b"x" * (SMALL + 1)}
    for path, each in data.items():
        bucket.put(path, each)
    asked = versions(bucket)
    for order in (asked, list(reversed(asked)), asked[::2]):
        with open_read_ahead(bucket, asked) as streams:
            assert isinstance(streams, ReadAhead)
            assert {path: b"".join(streams.stream(path, version)) for path, version in order} == {
                path: data[path] for path, _ in order
            }


def test_no_more_is_fetched_than_so_many_and_nobody_waits_for_one_answer_after_the_other(bucket: BucketStore) -> None:
    for number in range(3 * AT_ONCE):
        bucket.put(f"{number:02d}", b"x")
    asked = versions(bucket)
    together = threading.Barrier(AT_ONCE, timeout=20)  # broken unless so many requests are under way at once
    under_way: list[str] = []

    class Counting(BucketStore):
        def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
            under_way.append(path)
            if len(under_way) <= AT_ONCE:
                together.wait()
            return super().stream(path, version, start)

    store = Counting(bucket.url, bucket._options)  # noqa: SLF001 - the same bucket
    with open_read_ahead(store, asked) as streams:
        first = streams.stream(*asked[0])
        assert list(first) == [b"x"]
    assert AT_ONCE <= len(under_way) <= AT_ONCE + 1


def test_an_object_that_is_replaced_or_gone_is_an_error_when_it_is_asked_for(bucket: BucketStore) -> None:
    for path in ("a", "b", "c"):
        bucket.put(path, b"as listed")
    asked = versions(bucket)
    bucket.put("b", b"not as it")
    bucket.delete(["c"])
    with open_read_ahead(bucket, asked) as streams:
        assert list(streams.stream(*asked[0])) == [b"as listed"]
        with pytest.raises(StoreError, match=r"^b: it was replaced while it was read; try again"):
            list(streams.stream(*asked[1]))
        with pytest.raises(StoreError, match=r"^c: no such object"):
            list(streams.stream(*asked[2]))


def test_objects_of_a_folder_are_read_when_they_are_asked_for(mill: Mill) -> None:
    mill.store.put("a", b"1")
    mill.store.put("b", b"2")
    with open_read_ahead(mill.store, [(entry.path, entry.version) for entry in mill.store.list("")]) as streams:
        assert streams is mill.store
