from pathlib import Path

import numpy as np
import pytest

from gristmill.errors import DataError
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME
from gristmill.formats.levanter.checksums import CHECKSUMS, put_checksums, verify_checksums
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.hashing import Uploads, hash_object

FOLDER = "copy/"


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """A store with one whole cache of two rows."""
    store = FolderStore(str(tmp_path))
    uploads = Uploads(store)
    writer = CacheWriter(lambda name: uploads.open(FOLDER + name), {"input_ids": "int32"})
    writer.append_batch({"input_ids": (np.array([1, 2, 3], np.int32), np.array([2, 1], np.int64))})
    writer.close()
    put_checksums(store, FOLDER, uploads.sha256(FOLDER))
    assert {*uploads.objects, FOLDER + CHECKSUMS} == {entry.path for entry in store.list("")}
    return store


def objects(store: FolderStore) -> list[str]:
    return [entry.path for entry in store.list(FOLDER) if not entry.path.endswith(CHECKSUMS)]


def test_a_whole_cache_is_proven_from_its_bytes(store: FolderStore) -> None:
    assert verify_checksums(store, FOLDER)["total_num_rows"] == 2


def test_a_missing_or_changed_object_is_an_error_that_names_it(store: FolderStore) -> None:
    for path in objects(store):
        data = store.read(path)
        store.put(path, data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(DataError, match=f"^{path} .*sums.json"):
            verify_checksums(store, FOLDER)
        store.delete([path])
        with pytest.raises(DataError, match=f"^{path} is missing"):
            verify_checksums(store, FOLDER)
        store.put(path, data)
    verify_checksums(store, FOLDER)


def test_a_cache_without_its_sums_was_not_written_to_its_end(store: FolderStore) -> None:
    store.delete([FOLDER + CHECKSUMS])
    with pytest.raises(DataError, match=r"copy/sums\.json is missing"):
        verify_checksums(store, FOLDER)


def test_a_ledger_that_counts_other_rows_than_the_arrays_is_an_error_even_under_its_own_sum(store: FolderStore) -> None:
    path = FOLDER + LEDGER_NAME
    store.put(path, store.read(path).replace(b'"total_num_rows": 2', b'"total_num_rows": 3'))
    put_checksums(store, FOLDER, {each.removeprefix(FOLDER): hash_object(store, each) for each in objects(store)})
    with pytest.raises(DataError, match="rows"):
        verify_checksums(store, FOLDER)


def test_an_object_that_the_sums_alone_name_is_missing(store: FolderStore) -> None:
    sums = {each.removeprefix(FOLDER): hash_object(store, each) for each in objects(store)}
    put_checksums(store, FOLDER, {**sums, "input_ids/data/c/1": "0" * 64})
    with pytest.raises(DataError, match="copy/input_ids/data/c/1 is missing"):
        verify_checksums(store, FOLDER)


def test_arrays_that_cannot_be_decoded_are_an_error_even_under_their_own_sums(store: FolderStore) -> None:
    path = f"{FOLDER}input_ids/data/c/0"
    store.put(path, b"\xff" * 4 + store.read(path)[4:])
    put_checksums(store, FOLDER, {each.removeprefix(FOLDER): hash_object(store, each) for each in objects(store)})
    with pytest.raises(DataError, match="damaged"):
        verify_checksums(store, FOLDER)
