from testkit import Mill, make_documents

from gristmill.execution.runner import Inline
from gristmill.execution.step import grind, plan
from gristmill.execution.survey import survey


def test_the_dry_run_says_what_would_be_done_and_does_nothing(mill: Mill) -> None:
    mill.raw_shards(3)
    (found,) = survey(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing, found.gone) == (False, 0, ("a", "b", "c"), ())
    assert [path for path in mill.tree() if "/raw/" not in path] == []
    mill.convert()
    mill.raw("b.jsonl.gz", make_documents(1, start=100))
    (found,) = survey(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing, found.gone) == (False, 2, ("b",), ())
    mill.convert()
    assert survey(mill.conversion(), mill.store)[0].finished


def test_a_partition_whose_shards_are_all_ground_is_not_finished_before_its_ledger(mill: Mill) -> None:
    mill.raw_shards(2)
    grind(plan(mill.conversion(), mill.lake, "killed before it published"), Inline(), mill.said.append)
    (found,) = survey(mill.conversion(), mill.store)
    assert (found.finished, found.kept, found.missing) == (False, 2, ())
    assert found.why == ("never made; 2 shards have their receipts from an interrupted run",)
