import hashlib

import pytest

from gristmill.errors import StoreError
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.hashing import HashedUpload, sha256_of
from gristmill.lake.store.protocol import Entry


def test_an_object_of_many_pieces_is_hashed_whole(lake: FolderStore) -> None:
    data = bytes(range(256)) * 40_000
    lake.put("a", data)
    assert sha256_of(lake, "a") == hashlib.sha256(data).hexdigest()


def test_an_object_that_is_not_there_is_an_error(lake: FolderStore) -> None:
    with pytest.raises(StoreError, match="a"):
        sha256_of(lake, "a")


def test_the_sha256_of_an_upload_is_told_once_it_is_there_and_never_of_one_aborted(lake: FolderStore) -> None:
    told: list[tuple[str, Entry]] = []

    def done(sha256: str, entry: Entry) -> None:
        told.append((sha256, entry))

    kept, dropped = HashedUpload(lake.upload("a"), done), HashedUpload(lake.upload("b"), done)
    for upload in (kept, dropped):
        upload.write(b"one ")
        upload.write(b"two")
    assert told == []
    dropped.abort()
    kept.close()
    assert told == [(hashlib.sha256(b"one two").hexdigest(), lake.head("a"))]
    assert [entry.path for entry in lake.list("")] == ["a"]
