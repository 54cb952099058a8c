import hashlib

from gristmill.lake.store.folder import FolderStore
from gristmill.raw_data.raw_path import find_raw_path

RAW = "sources/pages/raw"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_of_two_objects_of_one_name_the_bytes_tell_which_was_read(lake: FolderStore) -> None:
    lake.put(f"{RAW}/all/x.jsonl", b"in the folder")
    assert find_raw_path(lake, RAW, "all", "x.jsonl", "") == f"{RAW}/all/x.jsonl"
    lake.put(f"{RAW}/x.jsonl", b"beside the folder")
    assert find_raw_path(lake, RAW, "all", "x.jsonl", digest(b"beside the folder")) == f"{RAW}/x.jsonl"
    assert find_raw_path(lake, RAW, "all", "x.jsonl", digest(b"in the folder")) == f"{RAW}/all/x.jsonl"
    assert find_raw_path(lake, RAW, "all", "all/x.jsonl", digest(b"in the folder")) == f"{RAW}/all/x.jsonl"
    assert find_raw_path(lake, RAW, "all", "x.jsonl", digest(b"as it was")) == f"{RAW}/all/x.jsonl"
    assert find_raw_path(lake, RAW, "all", "y.jsonl", "") is None
