import pytest

from gristmill.errors import DataError
from gristmill.lake.ledger.lake_id import NAMEPLATE, is_new, nameplate, read_nameplate
from gristmill.lake.store.folder import FolderStore


def test_the_first_who_asks_puts_the_nameplate_and_all_others_read_it(lake: FolderStore) -> None:
    assert read_nameplate(lake) is None
    first = nameplate(lake)
    assert nameplate(FolderStore(lake.url)) == first == read_nameplate(lake)
    assert [entry.path for entry in lake.list("")] == [NAMEPLATE]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"{}", b'{"id":""}', b'{"id":"mine"}', b'{"id":"' + b"A" * 32 + b'"}', b'{"id":"\xff"}'],
)
def test_what_is_no_nameplate_is_an_error_and_is_never_replaced(lake: FolderStore, data: bytes) -> None:
    lake.put(NAMEPLATE, data)
    with pytest.raises(DataError, match=r"lake\.json: no nameplate of a lake"):
        nameplate(lake)
    assert lake.read(NAMEPLATE) == data


def test_a_lake_is_new_until_a_partition_is_finished(lake: FolderStore) -> None:
    lake.put("sources/wiki/raw/2024/a.jsonl", b"")
    lake.put("sources/wiki/v0/ledgers/documents/2024.receipts/a.json", b"{}")
    assert is_new(lake)
    lake.put("sources/wiki/v0/ledgers/documents/2024.json", b"{}")
    assert not is_new(lake)
