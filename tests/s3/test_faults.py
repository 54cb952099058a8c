"""What passes is tried again, and the bytes are right; what does not pass is an error in time that says the mend."""

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from proxy import FAULTS, FaultyProxy
from seaweed import BUCKET, KEY, REGION, SECRET, Seaweed
from testkit import Mill
from wholelake import CACHE

from gristmill.errors import Conflict, StoreError
from gristmill.lake.store import s3 as bucket
from gristmill.lake.store import s3_multipart as multipart
from gristmill.lake.store import s3_retry as bucket_trouble
from gristmill.lake.store import s3_upload
from gristmill.lake.store.protocol import Store
from gristmill.lake.store.s3 import BucketStore
from gristmill.maintenance.gc import find_unnamed_parts, remove_unnamed_part

pytestmark = pytest.mark.slow

BIG = random.Random(1).randbytes(9_000_001)
OTHER = random.Random(2).randbytes(9_000_001)
SOME, PARTS = BIG[:1_100_001], OTHER[:5_300_001]
"""Two requests for each, where small_requests is used: a read of SOME, an upload of PARTS."""


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other after 0.01 s instead of 0.1. How long stores are patient stays the same."""
    monkeypatch.setattr(bucket_trouble, "FIRST_PAUSE", 0.01)


@pytest.fixture
def small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request reads 1 MiB and writes 5, the least that S3 takes for a part, instead of 8: less is sent."""
    monkeypatch.setattr(bucket, "STEP", 1 << 20)
    monkeypatch.setattr(s3_upload, "SMALL", 5 << 20)


def upload(store: Store, path: str, data: bytes) -> str:
    """Writes it as a shard is written; its etag."""
    writer = store.upload(path)
    for start in range(0, len(data), 1 << 20):
        writer.write(data[start : start + (1 << 20)])
    return writer.close().etag


def swapped(store: BucketStore) -> bytes:
    before = store.head("small")
    assert before is not None
    entry = store.put_if("small", b"swapped", before.etag)
    assert entry == store.head("small")
    return store.read("small")


def created(store: BucketStore) -> bytes:
    store.put_if("new", b"created", None)
    return store.read("new")


def uploaded(store: BucketStore) -> bytes:
    etag = upload(store, "made", PARTS)
    found = store.head("made")
    assert found is not None
    assert found.etag == etag
    return store.read("made")


def deleted(store: BucketStore) -> bytes:
    store.delete(["small", "no/such"])
    return b" ".join(entry.path.encode() for entry in store.list(""))


def put(store: BucketStore) -> bytes:
    store.put("small", b"put")
    return store.read("small")


REQUESTS: dict[str, tuple[Callable[[BucketStore], bytes], bytes, str, str]] = {
    "read": (lambda store: store.read("large"), SOME, "GET", "large"),
    "stream": (lambda store: b"".join(store.stream("large")), SOME, "GET", "large"),
    "range": (lambda store: store.read_range("large", 5, 1_090_000), SOME[5:1_090_000], "GET", "large"),
    "list": (lambda store: b" ".join(e.path.encode() for e in store.list("")), b"large small", "GET", "list-type"),
    "head": (lambda store: str(store.head("large")).encode()[:18], b"Entry(path='large'", "HEAD", "large"),
    "put": (put, b"put", "PUT", "small"),
    "swap": (swapped, b"swapped", "PUT", "small"),
    "create": (created, b"created", "PUT", "new"),
    "delete": (deleted, b"large", "POST", "delete"),
    "begin parts": (uploaded, PARTS, "POST", "uploads"),
    "send a part": (uploaded, PARTS, "PUT", "partNumber=2"),
    "complete parts": (uploaded, PARTS, "POST", "uploadId"),
}


@pytest.mark.usefixtures("small_requests")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_changes_no_byte_of_any_request(
    near: BucketStore, far: BucketStore, proxy: FaultyProxy, fault: str
) -> None:
    upload(near, "large", SOME)
    proxy.delay = 0.2
    for name, (ask, expected, method, words) in REQUESTS.items():
        near.put("small", b"small")
        before = proxy.spoiled()
        proxy.spoil(fault, method=method, holds=words)
        assert ask(far) == expected, name
        assert proxy.spoiled() == before + 1, name
        near.delete(["new", "made"])


PATIENCE, TIMEOUT = 0.3, 0.5


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, stores that are opened give up after 0.3 s instead of 90, a request after 0.5 s."""

    def call() -> None:
        for module in (bucket, bucket_trouble):
            monkeypatch.setattr(module, "PATIENCE", PATIENCE)
        for module in (bucket, bucket_trouble, multipart):
            monkeypatch.setattr(module, "TIMEOUT", TIMEOUT)

    return call


@pytest.mark.usefixtures("small_requests")
@pytest.mark.parametrize("fault", ["503", *(pytest.param(f, marks=pytest.mark.slow) for f in ("slow", "reset", "cut"))])
def test_a_fault_that_lasts_is_an_error_in_time(
    hurry: Callable[[], None], near: BucketStore, proxy: FaultyProxy, fault: str
) -> None:
    near.put("small", b"small")
    upload(near, "large", SOME)
    hurry()
    far = BucketStore(near.url, {"endpoint": proxy.endpoint, "region": REGION})
    proxy.delay = 60
    for name, (ask, expected, method, words) in REQUESTS.items():
        near.delete(["new", "made"])
        proxy.spoil(fault, 1000, method=method, holds=words)
        start = time.monotonic()
        if fault == "cut" and method in {"PUT", "POST"}:  # done, though no whole answer came: looked at, and found so
            with suppress(StoreError):
                assert ask(far) == expected, name
        else:
            words_of_error = r"(small|large|new|made|): the bucket did not .* then run again"
            with pytest.raises(StoreError, match=words_of_error) as told:
                ask(far)
            assert not isinstance(told.value, Conflict), name
        assert time.monotonic() - start < 60, name  # without hurry() it would be 90
        proxy.forgive()
    assert near.read("large") == SOME


@pytest.mark.usefixtures("small_requests")
def test_a_reader_may_be_slower_than_any_request(
    hurry: Callable[[], None], near: BucketStore, proxy: FaultyProxy
) -> None:
    upload(near, "large", BIG)
    hurry()
    far = BucketStore(near.url, {"endpoint": proxy.endpoint, "region": REGION})
    found: list[bytes] = []
    start = time.monotonic()
    for number, piece in enumerate(far.stream("large")):
        found.append(piece)
        time.sleep(0.2)
        if number == 4:
            proxy.spoil("cut", method="GET", holds="large")
    assert time.monotonic() - start > 2 * (PATIENCE + TIMEOUT)
    assert proxy.seen["GET", "cut"] == 1
    assert b"".join(found) == BIG


def test_what_is_replaced_while_it_is_read_is_an_error_and_not_a_mixture(near: BucketStore) -> None:
    upload(near, "large", 3 * BIG)
    stream = near.stream("large")
    next(stream)
    upload(near, "large", 3 * OTHER)
    with pytest.raises(StoreError, match="large: it was replaced while it was read; try again"):
        list(stream)


def test_a_swap_whose_answer_was_lost_is_a_conflict_if_another_wrote_since(
    near: BucketStore, far: BucketStore, proxy: FaultyProxy
) -> None:
    etag = near.put("head", b"before").etag
    proxy.delay = 1.0
    proxy.spoil("lost", method="PUT")
    proxy.spoil("slow", method="PUT")
    with ThreadPoolExecutor(1) as pool:
        ours = pool.submit(far.put_if, "head", b"ours", etag)
        while not proxy.seen["PUT", "slow"]:
            time.sleep(0.01)
        assert near.read("head") == b"ours"
        near.put("head", b"theirs")
        with pytest.raises(Conflict, match="head: another run wrote it meanwhile"):
            ours.result()
    assert near.read("head") == b"theirs"


def uploads(seaweed: Seaweed, prefix: str) -> int:
    """Multipart uploads that were neither completed nor aborted."""
    client: Any = boto3.Session().client("s3", endpoint_url=seaweed.endpoint)
    found = client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
    return sum(each["Key"].startswith(prefix) for each in found)


@pytest.mark.parametrize("size", [10, 9_000_001])
@pytest.mark.parametrize("before", [None, b"before"])
def test_a_writer_that_was_overtaken_changes_nothing(
    near: BucketStore, seaweed: Seaweed, tmp_path: Path, size: int, before: bytes | None
) -> None:
    if before is not None:
        near.put("shard", before)
    late = near.upload("shard")
    late.write(OTHER[:size])
    winner = near.upload("shard")
    winner.write(BIG[:size])
    entry = winner.close()
    with pytest.raises(Conflict, match="shard: another run wrote it meanwhile"):
        late.close()
    late.abort()
    assert near.head("shard") == entry
    assert near.read("shard") == BIG[:size]
    assert uploads(seaweed, tmp_path.name) == 0


def test_a_completion_whose_answer_was_lost_is_a_conflict_if_another_wrote_since(
    near: BucketStore, far: BucketStore, proxy: FaultyProxy
) -> None:
    proxy.delay = 1.0
    proxy.spoil("lost", method="POST", holds="uploadId")
    proxy.spoil("slow", method="POST", holds="uploadId")
    done = threading.Event()

    def overtake() -> None:
        while not proxy.seen["POST", "slow"]:
            time.sleep(0.01)
        near.put("shard", b"theirs")
        done.set()

    thread = threading.Thread(target=overtake)
    thread.start()
    with pytest.raises(Conflict, match="shard: another run wrote it meanwhile"):
        upload(far, "shard", BIG)
    thread.join()
    assert done.is_set()
    assert near.read("shard") == b"theirs"


def test_an_aborted_upload_leaves_no_parts_behind(near: BucketStore, seaweed: Seaweed, tmp_path: Path) -> None:
    writer = near.upload("shard")
    writer.write(BIG)
    assert uploads(seaweed, tmp_path.name) == 1
    writer.abort()
    assert uploads(seaweed, tmp_path.name) == 0
    assert list(near.list("")) == []


def test_a_server_that_dies_and_comes_back_is_waited_for(near: BucketStore, seaweed: Seaweed) -> None:
    upload(near, "large", BIG)
    seaweed.kill()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(near.read, "large")
        time.sleep(0.2)
        assert not reading.done()
        seaweed.start()
        assert reading.result() == BIG
    near.put("small", b"put")
    assert near.read("small") == b"put"


@pytest.mark.usefixtures("small_requests")
def test_a_refusal_is_told_at_once_and_says_no_key(far: BucketStore, near: BucketStore, proxy: FaultyProxy) -> None:
    near.put("small", b"small")
    upload(near, "large", SOME)
    for name, (ask, _, method, words) in REQUESTS.items():
        near.delete(["new", "made"])
        proxy.spoil("403", 1000, method=method, holds=words)
        start = time.monotonic()
        with pytest.raises(StoreError, match=r"the bucket refused our credentials .* AWS_SECRET_ACCESS_KEY") as told:
            ask(far)
        assert time.monotonic() - start < 60, name  # what is tried again is given up after 90
        proxy.forgive()
        error: BaseException | None = told.value
        assert error is not None
        assert error.__cause__ is None, name
        assert error.__suppress_context__, name
        assert KEY not in str(error), name
        assert SECRET not in str(error), name


def test_a_journey_through_bad_weather_ends_with_the_same_bytes(
    mill: Mill, tmp_path: Path, far: BucketStore, proxy: FaultyProxy
) -> None:
    remote = Mill(tmp_path, far.url, {"endpoint": proxy.endpoint, "region": REGION})
    remote.raw_shards(6)
    mill.raw_shards(6)
    proxy.rates = dict.fromkeys(("500", "503", "reset", "lost", "denied", "cut"), 0.03)
    for each in (remote, mill):
        each.convert()
        each.tag("words-1", "characters-1")
        each.revise()
    proxy.rates = {}
    assert proxy.spoiled() > 20
    assert remote.tree() == mill.tree()


def test_a_deletion_whose_answer_is_lost_spares_what_others_wrote_meanwhile(
    near: BucketStore, far: BucketStore, proxy: FaultyProxy
) -> None:
    def others_write() -> bool:
        if near.head("small") is not None:  # nothing was asked of the server yet
            return True
        near.put("small", b"new")  # the server has done what it was asked
        return False

    near.put("small", b"old")
    proxy.spoil("lost", method="POST", holds="delete")
    with pytest.raises(Conflict, match=r"^small: others began to use it while it was removed"):
        far.delete(["small"], others_write)
    assert near.read("small") == b"new"
    proxy.spoil("lost", method="POST", holds="delete")
    far.delete(["small"], lambda: True)
    assert near.head("small") is None


def test_gc_keeps_a_part_that_a_run_makes_again_while_an_answer_is_lost(
    near: BucketStore, far: BucketStore, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = f"{CACHE.asset}/train/{CACHE.snapshot}/part-00001-0123456789abcdef/"
    near.put(f"{folder}shard_ledger.json", b"old")
    (garbage,) = find_unnamed_parts(far, lambda _: None)
    read = far.read_tagged

    def meanwhile(path: str) -> tuple[bytes, str] | None:
        if path == CACHE.claim_path and near.head(f"{folder}shard_ledger.json") is None:  # before it is sent again
            near.put(CACHE.claim_path, b'{"token":"another"}')
            near.put(f"{folder}shard_ledger.json", b"new")
        return read(path)

    monkeypatch.setattr(far, "read_tagged", meanwhile)
    proxy.spoil("lost", method="POST", holds="delete")
    with pytest.raises(Conflict, match=r"others began to use it while it was removed"):
        remove_unnamed_part(far, garbage)
    assert near.read(f"{folder}shard_ledger.json") == b"new"
