import pytest
from testkit import Mill, Stopping

from gristmill.execution.in_flight import in_flight


def test_the_objects_of_a_killed_run_are_those_of_its_receipts_and_of_its_plan(mill: Mill) -> None:
    mill.raw_shards(3)
    here = mill.documents()
    assert in_flight(mill.store, here) == set()
    with pytest.raises(KeyboardInterrupt):
        mill.convert(engine=Stopping(1))
    named = in_flight(mill.store, here)
    assert named >= {path(name) for name in "abc" for path in (here.shard, here.index, here.quarantine)}
    assert len(list(mill.store.list(here.folder))) == 1  # and two are only planned
    mill.convert()
    assert in_flight(mill.store, here) == set()


def test_files_that_are_no_receipts_and_no_plans_name_nothing(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    here = mill.documents()
    for name in ("junk", "x.json", ".plan-x.gz", ".claim"):
        mill.store.put(f"{here.receipts}{name}", b"x")
    assert in_flight(mill.store, here) == set()
