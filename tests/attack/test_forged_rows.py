"""A row of a dedupe recipe's tables that was forged and sealed again: its part, or making it again, tells."""

from collections.abc import Iterator

import pytest
from dedupelake import SHELVES, known, resolved
from forgedrows import forged_rows
from testkit import Mill
from wholelake import reseal, table

from gristmill.derivation.partitions import Derivation
from gristmill.execution.step import Step
from gristmill.lake.address import Place, place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.stages.dedupe.resolution import read_dedupe_order, steps_of_resolution
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, seal_row
from gristmill.stages.fingerprints.step import FingerprintStep
from gristmill.verification.audit import audit_ledger

ONLY_MADE_AGAIN = {"apart", "candidates", "compared", "not confirmed", "similar", "touched", "with more"}
"""Counters that no file of a part gives."""


def pages(mill: Mill) -> None:
    """Two snapshots; the first text occurs in three shards."""
    for snapshot, name, *texts in (
        ("a", "x", "one two three", "one two three", "another text"),
        ("a", "y", "one two three", "red"),
        ("b", "x", "one two three", "six", "six"),
    ):
        rows = [
            {"id": f"{name}{number}", "text": text, "source": "pages", "metadata": {"host": text[:3]}}
            for number, text in enumerate(texts)
        ]
        mill.raw(f"{name}.jsonl.gz", rows, snapshot=snapshot)


def steps(mill: Mill, name: str) -> Iterator[tuple[Step, Place]]:
    """The steps of a recipe but its labels, and a partition of each."""
    recipe = known().dedupes[name]
    every = [FingerprintStep(recipe, "pages", snapshot, SHELVES) for snapshot in ("a", "b")]
    for step in (*every, *steps_of_resolution(recipe, read_dedupe_order(mill.store, name)[0], SHELVES)):
        yield from ((step, place(asset, step.snapshot)) for asset in step.makes)


def audited(mill: Mill, where: Place) -> list[str]:
    return [str(each) for each in audit_ledger(mill.store, where.ledger, mill.said.append, first_only=True)]


def made_again(mill: Mill, step: Step) -> list[str]:
    return [str(each) for each in Derivation(mill.lake, step, ShardSample(1), mill.said.append).derivation_findings()]


def lies(row: Shard, table: str) -> Iterator[tuple[str, Shard]]:
    """Forged rows; and facts whose digest was made again too."""
    for what, forged in forged_rows(row):
        yield what, forged
        if "facts" in what:
            yield f"{what}, sealed", seal_row(forged, BinaryPartRecord.decode_from_row(forged, table))


@pytest.mark.parametrize("name", ["texts-1", "near-1", "confirmed-1", "hosts-1"])
def test_whatever_a_row_says_follows_from_its_part_or_from_what_it_was_made_from(mill: Mill, name: str) -> None:
    pages(mill)
    resolved(mill, name)
    unseen, late, planted = [], set(), 0
    for step, where in steps(mill, name):
        assert audited(mill, where) == []
        good = table(mill, where)
        row = good[0]
        for what, forged in lies(row, where.table):
            reseal(mill, where, [forged, *good[1:]])
            planted += 1
            if not audited(mill, where):
                late.add(what.rpartition(".")[2].removeprefix("counts "))
                unseen += [] if made_again(mill, step) else [f"{where.asset}: {what}"]
        reseal(mill, where, good)
    assert unseen == []
    assert planted > 100
    assert {each for each in late if "facts" not in each and "sealed" not in each} <= ONLY_MADE_AGAIN
