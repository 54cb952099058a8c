import hashlib

from gristmill.lake.rows.raw_parts import RawPart, cut_into_parts, object_name_and_offset, part_name, sha256_of_part
from gristmill.lake.store.folder import FolderStore


def test_parts_are_the_object_and_their_names_lead_back() -> None:
    for size, most in ((1, 1), (10, 3), (9, 3), (5, 100)):
        parts = cut_into_parts(size, most)
        assert [byte for part in parts for byte in range(*part)] == list(range(size))
        assert [object_name_and_offset(part_name("en/a@b.jsonl", part.start)) for part in parts] == [
            ("en/a@b.jsonl", part.start) for part in parts
        ]
    assert object_name_and_offset("a@123") == ("a@123", None)


def test_a_part_is_hashed_without_the_rest(tmp_path: object) -> None:
    store = FolderStore(str(tmp_path))
    store.put("a", bytes(range(200)) * 20_000)
    part = RawPart(1_500_001, 3_000_002)
    assert sha256_of_part(store, "a", part) == hashlib.sha256(store.read("a")[part.start : part.end]).hexdigest()
