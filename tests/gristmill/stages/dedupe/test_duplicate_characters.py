"""The characters that a recipe marks: one in several spans counts once, also where a ledger counts more."""

import pytest
from dedupelake import SHELVES, known, labels, put, resolved
from testkit import Mill
from wholelake import reseal_shard, table

from gristmill.derivation.partitions import Derivation
from gristmill.lake.address import attributes_asset, place
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.stages.dedupe.duplicate_characters import duplicate_characters
from gristmill.stages.dedupe.labels.step import DedupeLabelsStep
from gristmill.stages.dedupe.resolution import read_resolution

TWICE = "One. Two. Six. Ten."
"""19 characters. Its sentences 1 to 3 are a run of 14, and its sentences 2 to 4 one more."""
SET = place(attributes_asset("pages", "v0", "sentences-1"), "a")


@pytest.fixture
def repeated(mill: Mill) -> Mill:
    put(mill, "a", "x", TWICE, TWICE, "New. Old. Own.", TWICE)
    resolved(mill, "sentences-1")
    return mill


def counted(mill: Mill) -> list[int | None]:
    found = read_resolution(mill.store, "sentences-1")
    assert found is not None
    return duplicate_characters(mill.store, known().dedupes["sentences-1"], found)


def as_older(mill: Mill) -> None:
    """Counters as version 0.2 wrote them: each span counts with its whole length."""
    [row] = table(mill, SET)
    reseal_shard(mill, SET, row.name, counts={"duplicates": 4, "duplicate characters": 56})


def test_a_character_in_two_spans_counts_once(repeated: Mill) -> None:
    spans = [len(each["duplicate"]) for each in labels(repeated, "sentences-1", "a").values()]
    assert spans == [0, 2, 0, 2]
    [row] = table(repeated, SET)
    assert row.counts == {"duplicates": 4, "duplicate characters": 38, "overlapping characters": 18}
    assert counted(repeated) == [38]


def test_a_set_whose_ledger_counts_overlaps_twice_is_counted_again(repeated: Mill) -> None:
    as_older(repeated)
    assert counted(repeated) == [38]


def test_such_a_ledger_is_no_damage_but_another_number_is(repeated: Mill) -> None:
    step = DedupeLabelsStep(known().dedupes["sentences-1"], "pages", "a", SHELVES)
    derivation = Derivation(repeated.lake, step, ShardSample(1), repeated.said.append)
    as_older(repeated)
    assert list(derivation.derivation_findings()) == []
    [row] = table(repeated, SET)
    reseal_shard(repeated, SET, row.name, counts={"duplicates": 4, "duplicate characters": 57})
    [finding] = derivation.derivation_findings()
    assert "counts is {'duplicate characters': 57}" in finding.what
