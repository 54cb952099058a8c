"""Reading from a bucket: the same rows as from a folder."""

import pytest
from seaweed import REGION, Seaweed
from testkit import SHELVES, Mill, make_documents

from gristmill.api import open_lake
from gristmill.errors import StoreError
from gristmill.lake.store.s3 import BucketStore


@pytest.mark.slow
def test_documents_labels_and_samples_of_a_bucket_are_read(near: BucketStore, seaweed: Seaweed) -> None:
    options = {"endpoint": seaweed.endpoint, "region": REGION}
    mill = Mill(None, near.url, options)  # type: ignore[arg-type]  # it has no folder
    mill.raw("a.jsonl.gz", make_documents(30))
    mill.convert()
    mill.tag("words-1")
    lake = open_lake(near.url, options, shelves=SHELVES)
    rows = list(lake.documents("pages/v0", columns=["id", "text", "words-1__count"]))
    assert [row["words-1__count"] for row in rows] == [len(row["text"].split()) for row in rows]
    assert len(rows) == 30
    drawn = lake.documents("pages/v0", columns=["id"]).sample(4)
    assert drawn.table() == drawn.table()
    assert [each.rows for each in lake.assets()] == [30, 30]
    mill.store.delete([mill.documents().shard("a")])
    with pytest.raises(StoreError, match=r"documents/2024/a\.jsonl\.gz"):
        list(lake.documents("pages/v0"))
