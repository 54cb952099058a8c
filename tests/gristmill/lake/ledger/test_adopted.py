from pathlib import Path

import pytest
from testkit import Mill

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.ledger.adopted import read_root, root_path, shard_file, write_root
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.adopted import Root

PLACE = place("sources/dolma/v0/documents", "all")
SHARD = Shard("a", 1, 4, 4, "", "", "", "", (), extra={"at": "documents/a.json.gz"})


def test_a_shard_is_in_the_lake_or_at_its_root(tmp_path: Path) -> None:
    store = Mill(tmp_path).store
    own = Shard("a", 1, 4, 4, "", "", "", "", ())
    assert shard_file(store, PLACE, own) == (store, "sources/dolma/v0/documents/all/a.jsonl.gz")
    with pytest.raises(DataError, match=r"root\.json: there is no such object, so the file documents/a\.json\.gz is"):
        shard_file(store, PLACE, SHARD)
    write_root(store, PLACE, Root("/data/dolma"))
    assert shard_file(store, PLACE, SHARD)[1] == "/data/dolma/documents/a.json.gz"


def test_a_root_is_written_only_when_it_is_another(tmp_path: Path) -> None:
    store = Mill(tmp_path).store
    write_root(store, PLACE, None)
    assert read_root(store, PLACE) is None
    write_root(store, PLACE, Root("/data/dolma"))
    before = store.head(root_path(PLACE))
    write_root(store, PLACE, Root("/data/dolma"))
    assert store.head(root_path(PLACE)) == before
    write_root(store, PLACE, Root("s3://b/dolma", {"region": "x"}, "THEIRS"))
    assert read_root(store, PLACE) == Root("s3://b/dolma", {"region": "x"}, "THEIRS")


def test_a_root_that_is_not_valid_is_an_error(tmp_path: Path) -> None:
    store = Mill(tmp_path).store
    store.put(root_path(PLACE), b"{}")
    with pytest.raises(DataError, match=r"root\.json: not the address of a root"):
        read_root(store, PLACE)
