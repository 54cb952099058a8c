import pytest
from steered import before

from gristmill.errors import DataError
from gristmill.lake.ledger.lake_id import LAKE_FILE, LakeId, is_new, make_lake_id, read_lake_id
from gristmill.lake.store.folder import FolderStore


def test_the_first_who_asks_puts_the_nameplate_and_all_others_read_it(lake: FolderStore) -> None:
    assert read_lake_id(lake) is None
    first = make_lake_id(lake)
    assert make_lake_id(FolderStore(lake.url)) == first == read_lake_id(lake)
    assert [entry.path for entry in lake.list("")] == [LAKE_FILE]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"{}", b'{"id":""}', b'{"id":"mine"}', b'{"id":"' + b"A" * 32 + b'"}', b'{"id":"\xff"}'],
)
def test_what_is_no_nameplate_is_an_error_and_is_never_replaced(lake: FolderStore, data: bytes) -> None:
    lake.put(LAKE_FILE, data)
    with pytest.raises(DataError, match=r"^lake\.json: .*32 hexadecimal digits"):
        make_lake_id(lake)
    assert lake.read(LAKE_FILE) == data


def test_a_lake_is_new_until_a_partition_is_finished(lake: FolderStore) -> None:
    lake.put("sources/wiki/raw/2024/a.jsonl", b"")
    lake.put("sources/wiki/v0/ledgers/documents/2024.receipts/a.json", b"{}")
    assert is_new(lake)
    lake.put("sources/wiki/v0/ledgers/documents/2024.json", b"{}")
    assert not is_new(lake)


def test_of_two_processes_that_make_an_id_at_once_both_have_the_first(lake: FolderStore) -> None:
    other = FolderStore(lake.url)
    first: list[LakeId] = []
    for call in ("put", "put_if"):
        before(lake, call, LAKE_FILE, lambda: first.append(make_lake_id(other)))
    assert [make_lake_id(lake)] == first
    assert read_lake_id(lake) == first[0]
