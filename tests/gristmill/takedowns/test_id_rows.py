"""The rows of documents by id indexes: few by small reads, many by whole indexes, both against the rows themselves."""

import hashlib

import pytest
from msgspec.structs import replace

from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.address import place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.folder import FolderStore
from gristmill.takedowns.id_rows import rows_by_shard
from gristmill.takedowns.wanted import Wanted

HERE = place("sources/s/v0/documents", "2024")
ROWS = 2000


@pytest.fixture
def shard(lake: FolderStore) -> Shard:
    writer = DocumentWriter(lake, OneAssetSpec(place=HERE, token="", recipe=""), "a")
    lines = [b'{"id":"%d","text":"","source":"s"}\n' % number for number in range(ROWS)]
    writer.write(b"".join(lines), [("s", str(number)) for number in range(ROWS)])
    return writer.close().row


@pytest.mark.parametrize("count", [1, 10, 11, 300], ids=["one", "few", "many", "very many"])
@pytest.mark.parametrize("proven", [False, True])
def test_each_document_has_its_row(lake: FolderStore, shard: Shard, count: int, *, proven: bool) -> None:
    numbers = [*range(0, ROWS, ROWS // count)]
    wanted = Wanted({("s", str(number)): "" for number in [*numbers, -1, ROWS]})
    [found] = rows_by_shard(lake, HERE, [shard], wanted, proven=proven)
    assert found.rows == {("s", str(number)): number for number in numbers}
    assert not found.why


@pytest.mark.parametrize("proven", [False, True])
def test_a_missing_index_is_told(lake: FolderStore, shard: Shard, *, proven: bool) -> None:
    lake.delete([HERE.index("a")])
    [found] = rows_by_shard(lake, HERE, [shard], Wanted({("s", "1"): ""}), proven=proven)
    assert HERE.index("a") in found.why


@pytest.mark.parametrize("proven", [False, True])
def test_an_index_with_other_bytes_is_refused(lake: FolderStore, shard: Shard, *, proven: bool) -> None:
    index = bytearray(lake.read(HERE.index("a")))
    index[-1] ^= 1
    lake.put(HERE.index("a"), bytes(index))
    [found] = rows_by_shard(lake, HERE, [shard], Wanted({("s", "1"): ""}), proven=proven)
    assert "another sha256" in found.why


def test_an_index_without_row_numbers_is_confirmed_on_the_rows(lake: FolderStore, shard: Shard) -> None:
    hashes = lake.read(HERE.index("a"))[: 16 * ROWS]
    lake.put(HERE.index("a"), hashes)
    older = replace(shard, index=hashlib.sha256(hashes).hexdigest())
    [found] = rows_by_shard(lake, HERE, [older], Wanted({("s", "7"): "", ("t", "7"): ""}), proven=False)
    assert found.rows == {("s", "7"): 7}
