import msgspec
import pytest
from testkit import Mill, Stopping

from gristmill.execution.in_flight import items_to_grind, paths_in_flight
from gristmill.execution.runner import Inline
from gristmill.execution.step import grind, plan
from gristmill.execution.work import Item
from gristmill.lake.ledger.receipts import leave_receipt, read_receipts


def test_the_objects_of_a_killed_run_are_those_of_its_receipts_and_of_its_plan(mill: Mill) -> None:
    mill.raw_shards(3)
    here = mill.documents()
    assert paths_in_flight(mill.store, here) == set()
    with pytest.raises(KeyboardInterrupt):
        mill.convert(engine=Stopping(1))
    named = paths_in_flight(mill.store, here)
    assert named >= {path(name) for name in "abc" for path in (here.shard, here.index, here.quarantine_path)}
    assert len(list(mill.store.list(here.folder))) == 1  # and two are only planned
    mill.convert()
    assert paths_in_flight(mill.store, here) == set()


def test_files_that_are_no_receipts_and_no_plans_name_nothing(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    here = mill.documents()
    for name in ("junk", "x.json", ".plan-x.gz", ".claim"):
        mill.store.put(f"{here.receipts_folder}{name}", b"x")
    assert paths_in_flight(mill.store, here) == set()


def test_a_shard_is_ground_unless_this_run_has_left_a_receipt_of_it_that_can_be_read(mill: Mill) -> None:
    mill.raw_shards(3)
    here, planned = mill.documents(), plan(mill.conversion(), mill.lake, "run")
    grind(planned, Inline(), mill.said.append)
    receipts = {receipt.row.name: receipt for receipt in read_receipts(mill.store, here)}
    items = [Item(name, 1, msgspec.Raw()) for name in "abc"]

    def left(run: str) -> list[str]:
        return [item.name for item in items_to_grind(mill.store, [here], run, items)]

    assert (left("run"), left("another")) == ([], ["a", "b", "c"])
    leave_receipt(mill.store, here, "another", receipts["a"])
    mill.store.put(here.receipt_path("b"), b"torn")
    assert (left("run"), left("another")) == (["a", "b"], ["b", "c"])
