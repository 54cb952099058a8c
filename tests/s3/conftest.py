from collections.abc import Iterator
from pathlib import Path

import pytest
from proxy import FaultyProxy
from seaweed import REGION, Seaweed

from gristmill.lake.store.s3 import BucketStore


@pytest.fixture
def near(seaweed: Seaweed, tmp_path: Path) -> BucketStore:
    """A lake in the bucket, reached without a proxy."""
    return seaweed.store(tmp_path.name)


@pytest.fixture
def proxy(seaweed: Seaweed) -> Iterator[FaultyProxy]:
    """Stands before the S3 server, and lets all pass until it is told otherwise."""
    proxy = FaultyProxy(seaweed.endpoint, seed=20_211_208)
    yield proxy
    proxy.close()


@pytest.fixture
def far(near: BucketStore, proxy: FaultyProxy) -> BucketStore:
    """The same lake behind the proxy."""
    return BucketStore(near.url, {"endpoint": proxy.endpoint, "region": REGION})
