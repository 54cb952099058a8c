import hashlib
from pathlib import Path

import pytest

from gristmill.dolma.tagging.packing import PackedUpload
from gristmill.lake.rows.shard_file import unpack_pieces
from gristmill.lake.store.open import open_store


@pytest.mark.parametrize("ending", ["gz", "zst", "bz2", "xz", "jsonl"])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_file_is_packed_as_its_name_says(tmp_path: Path, ending: str, rows: int) -> None:
    store = open_store(str(tmp_path))
    upload = PackedUpload(store, f"a.{ending}")
    for number in range(rows):
        upload.write(b"%d" % number * 600_000)
    assert not (tmp_path / f"a.{ending}").exists()
    version = upload.close()
    data = (tmp_path / f"a.{ending}").read_bytes()
    assert b"".join(unpack_pieces([data], f"a.{ending}")) == b"".join(b"%d" % n * 600_000 + b"\n" for n in range(rows))
    assert (upload.rows, upload.sha256, version.size) == (rows, hashlib.sha256(data).hexdigest(), len(data))


def test_what_is_aborted_does_not_appear(tmp_path: Path) -> None:
    upload = PackedUpload(open_store(str(tmp_path)), "a.gz")
    upload.write(b"{}")
    upload.abort()
    assert not (tmp_path / "a.gz").exists()
