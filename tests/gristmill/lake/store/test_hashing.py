import hashlib
from pathlib import Path

import pytest

from gristmill.errors import StoreError
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.hashing import HashedUpload, Uploads, hash_object
from gristmill.lake.store.protocol import Entry


def test_an_object_of_many_pieces_is_hashed_whole(lake: FolderStore) -> None:
    data = bytes(range(256)) * 40_000
    lake.put("a", data)
    assert hash_object(lake, "a") == hashlib.sha256(data).hexdigest()


def test_an_object_that_is_not_there_is_an_error(lake: FolderStore) -> None:
    with pytest.raises(StoreError, match="a"):
        hash_object(lake, "a")


def test_the_sha256_of_an_upload_is_told_once_it_is_there_and_never_of_one_aborted(lake: FolderStore) -> None:
    told: list[tuple[str, Entry]] = []

    def done(sha256: str, entry: Entry) -> None:
        told.append((sha256, entry))

    kept, dropped = HashedUpload(lake, "a", done), HashedUpload(lake, "b", done)
    for upload in (kept, dropped):
        upload.write(b"one ")
        upload.write(b"two")
    assert told == []
    dropped.abort()
    kept.close()
    assert told == [(hashlib.sha256(b"one two").hexdigest(), lake.head("a"))]
    assert [entry.path for entry in lake.list("")] == ["a"]


def test_what_is_published_is_recorded_and_what_is_left_open_is_aborted(lake: FolderStore) -> None:
    with Uploads(lake) as uploads:
        whole, cut = uploads.open("part/whole"), uploads.open("part/cut")
        for upload in (whole, cut):
            upload.write(b"one")
        whole.close()
    entry = lake.head("part/whole")
    assert entry is not None
    assert uploads.objects == {"part/whole": (hashlib.sha256(b"one").hexdigest(), 3)}
    assert uploads.versions == {"part/whole": entry.version}
    assert uploads.sha256("part/") == {"whole": hashlib.sha256(b"one").hexdigest()}
    assert [each.path for each in lake.list("")] == ["part/whole"]
    assert list(Path(lake.url, ".incoming").iterdir()) == []
