"""The real trainer's mixture reads a mix whose shares follow from proportions, a temperature and repeats."""

from collections import Counter

import pytest
from blendlake import BYTES
from peer import Ask
from sharecases import CASES, NOTES, PAGES, TOKENS, ShareCase, blend_of, write
from testkit import Mill


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_training_reads_each_document_as_often_as_the_mix_solves(levanter: Ask, mill: Mill, case: ShareCase) -> None:
    """A sequence is as long as a document. Two epochs are read; in each block, the shares are exact."""
    blend = blend_of(mill, case, {})
    write(blend)
    config = mill.store.read("token_caches/blend/bytes-1/index/data.yaml").decode()
    count = 2 * (PAGES * case.pages + NOTES * case.notes)
    (found,) = levanter({"do": "mixed", "config": config, "length": TOKENS, "count": count})
    reads = Counter(map(tuple, found["sequences"]))
    assert sorted(reads.values()) == sorted([2 * case.pages] * PAGES + [2 * case.notes] * NOTES)
    first = [sequence[1 : 1 + BYTES] for sequence in found["sequences"][: case.block]]
    assert len({tuple(each) for each in first}) > 1
    assert found["warnings"] == []
