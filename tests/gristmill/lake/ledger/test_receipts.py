import pytest
from counted import journey
from testkit import Mill, Stopping


@pytest.mark.parametrize("data", [None, b"", b'{"about":', b"[]"])
def test_a_note_that_is_torn_or_missing_costs_no_attribute(mill: Mill, data: bytes | None) -> None:
    mill.raw_shards(2)
    journey(mill)
    path = mill.attributes("words-1").run
    if data is None:
        mill.store.delete([path])
    else:
        mill.store.put(path, data)
    before = mill.tree()
    mill.tag("words-1")
    assert mill.ground == []
    assert mill.tree() == before


def test_a_torn_receipt_is_passed_over_and_its_shard_ground(mill: Mill) -> None:
    mill.raw_shards(3)
    with pytest.raises(KeyboardInterrupt):
        mill.convert(engine=Stopping(2))
    receipts = [mill.documents().receipt_path(name) for name in "abc"]
    receipts = [path for path in receipts if mill.store.head(path)]
    assert len(receipts) == 2
    mill.store.put(receipts[0], mill.store.read(receipts[0])[:100])
    mill.convert()
    assert mill.ground == ["a", receipts[0][-6]]
    mill.verify(mill.documents())
