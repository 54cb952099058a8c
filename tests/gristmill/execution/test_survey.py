from testkit import Mill, make_documents

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
