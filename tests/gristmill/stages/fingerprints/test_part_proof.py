"""A row of a dedupe recipe's tables that was forged and sealed again: the files of its part tell.

`tests/attack/test_forged_rows.py` walks over more recipes, and makes again what no file tells.
"""

import pytest
from dedupelake import put, resolved
from forgedrows import forged_rows
from testkit import Mill
from wholelake import reseal, table

from gristmill.lake.address import Place, place
from gristmill.verification.audit import audit_ledger

PARTS = [
    *(place(f"dedupe/texts-1/{kind}/pages", "a") for kind in ("fingerprints", "runs", "marks")),
    place("dedupe/texts-1/verdicts", "r00001"),
    place("dedupe/near-1/clusters", "r00001"),
    place("dedupe/near-1/marks/pages", "a"),
]
ONLY_MADE_AGAIN = [
    "counts with more",
    *(f"counts.{each}" for each in ("apart", "candidates", "compared", "similar", "touched")),
]
"""Counters that no file of a part gives."""


def found(mill: Mill, where: Place) -> bool:
    return bool(audit_ledger(mill.store, where.ledger, mill.said.append, first_only=True))


@pytest.mark.slow
def test_a_file_of_a_part_that_is_lost_is_named(mill: Mill) -> None:
    put(mill, "a", "x", "one two three", "one two three")
    resolved(mill, "texts-1")
    for where in PARTS[:4]:
        path = min(table(mill, where)[0].objects or ())
        data = mill.store.read(path)
        mill.store.delete([path])
        told = [str(each) for each in audit_ledger(mill.store, where.ledger, mill.said.append)]
        mill.store.put(path, data)
        assert [line for line in told if line.startswith(f"{path}: there is no such object, but the ledger names it")]


@pytest.mark.slow
def test_each_value_of_a_row_but_some_counters_follows_from_the_files_of_its_part(mill: Mill) -> None:
    put(mill, "a", "x", "one two three", "one two three", "another text")
    resolved(mill, "texts-1", "near-1")
    unseen: list[str] = []
    for where in PARTS:
        assert not found(mill, where)
        good = table(mill, where)
        for what, forged in forged_rows(good[0]):
            reseal(mill, where, [forged, *good[1:]])
            unseen += [] if found(mill, where) else [what]
        reseal(mill, where, good)
    assert set(unseen) <= set(ONLY_MADE_AGAIN)
