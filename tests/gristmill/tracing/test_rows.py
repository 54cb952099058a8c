import gzip

import pytest
from testkit import SNAPSHOT, Mill
from tracelake import line, where
from wholelake import reseal_shard

from gristmill.errors import Misaligned, StoreError
from gristmill.lake.address import place
from gristmill.tracing.rows import find_partition


def test_a_shard_that_was_replaced_behind_its_ledger_is_an_error_and_no_answer(mill: Mill) -> None:
    path = place("sources/pages/v0/documents", SNAPSHOT).shard("a")
    rows = mill.lines(path)
    turned = gzip.compress(b"\n".join([*rows[1:], rows[0], b""]), mtime=0)
    reseal_shard(mill, place("sources/pages/v0/documents", SNAPSHOT), "a", bytes=len(turned))
    mill.store.put(path, turned)
    with pytest.raises(
        StoreError, match="row 8 is not the row that the shard's index names: the shard is being rebuilt"
    ):
        where(mill, 8)
    mill.store.put(path, b"short")
    with pytest.raises(StoreError, match="it was replaced meanwhile"):
        where(mill, 8)


def test_attribute_rows_of_another_document_are_an_error(mill: Mill) -> None:
    here = place("sources/pages/v0/attributes/words-1", SNAPSHOT)
    shard = mill.table(here)["a"]
    rows = mill.lines(here.shard("a"))
    rows[7], rows[8] = rows[8], rows[7]
    data = gzip.compress(b"\n".join([*rows, b""]), mtime=0)
    mill.store.put(here.shard("a"), data)
    reseal_shard(mill, here, "a", bytes=len(data), members=((0, 0),))
    assert shard.rows == 30
    with pytest.raises(Misaligned, match=r"row 8: id 'doc-7', but .* has 'doc-8'"):
        where(mill, 8)


def test_a_set_beside_another_state_of_its_documents_is_not_read(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", gzip.compress(b"\n".join([line(n) for n in range(29, -1, -1)]), mtime=0))
    mill.convert()
    found = where(mill, 8)
    assert found.documents[0].row == 21
    assert {each.why for each in found.attributes if "/v0/" in each.asset} == {
        "made from another version of this shard: it is due to be rebuilt"
    }
    assert found.documents[1].row == 4
    assert found.documents[1].why == found.attributes[0].why
    assert found.mixes[0].why == ""  # it was made from v1 as that is


def test_what_is_read_for_one_row_serves_the_next_until_another_thing_is_read(mill: Mill) -> None:
    partition = find_partition(mill.store, place("sources/pages/v0/documents", SNAPSHOT))
    assert partition is not None
    reads: list[str] = []

    def once(key: str) -> str:
        return partition.read_once("shard", key, lambda: reads.append(key) or f"rows of {key}")  # type: ignore[func-returns-value]

    assert [once(key) for key in "aab"] == ["rows of a", "rows of a", "rows of b"]
    assert partition.read_once("other", "a", lambda: 1) == 1
    assert once("b") == "rows of b"
    assert once("a") == "rows of a"
    assert reads == ["a", "b", "a"]
