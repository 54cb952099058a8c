import pytest
from testkit import Mill

from gristmill.recipes.raw_object import RawObject


@pytest.mark.parametrize("pieces", [0, 1, 2, 99])
def test_a_raw_objects_digest_is_of_all_its_bytes_however_many_were_read(mill: Mill, pieces: int) -> None:
    import hashlib

    data = bytes(range(256)) * 12_000
    mill.store.put("a", data)
    raw = RawObject(mill.store, "a", "a", len(data))
    if pieces:
        chunks = raw.chunks()
        for _ in zip(range(pieces), chunks, strict=False):
            pass
    assert raw.sha256() == hashlib.sha256(data).hexdigest()
