from pathlib import Path

import numpy as np
import pytest
from nearlake import Near

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import FINGERPRINTS
from gristmill.stages.near_duplicates.inputs import Table
from gristmill.stages.near_duplicates.pairs import signature_rows as module
from gristmill.stages.near_duplicates.pairs.signature_rows import SignatureRows
from gristmill.stages.near_duplicates.pairs.similarity import Estimated
from gristmill.stages.near_duplicates.printed_documents import PrintedDocuments
from gristmill.text.units.minhash import minhash_signatures

TEXTS = {"a": [f"word{n} and word{n % 7}" for n in range(100)], "b": ["only one"]}


def rows_of(tmp_path: Path) -> SignatureRows:
    near = Near(tmp_path)
    near.add(("wiki", "1", TEXTS))
    table = Table.read(near.store, place(FINGERPRINTS.at(dedupe="near-1", source="wiki"), "1"))
    return SignatureRows(near.store, PrintedDocuments(near.store, [table]), [table], 4)


@pytest.mark.parametrize(("whole", "gap", "most"), [(1 << 24, 1, 1), (0, 0, 1), (0, 40, 64), (0, 1 << 20, 1 << 20)])
def test_signatures_are_the_same_whatever_is_read_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: int, gap: int, most: int
) -> None:
    for name, value in (("_WHOLE", whole), ("_GAP", gap), ("_RANGE", most)):
        monkeypatch.setattr(module, name, value)
    numbers = [0, 1, 2, 9, 30, 31, 99]
    read = rows_of(tmp_path).read(np.array([*numbers, 1 << 28], np.uint64))
    _, values = minhash_signatures([*(TEXTS["a"][number] for number in numbers), "only one"], 1, 4, 1)
    assert read.tolist() == values.tolist()


def test_a_document_or_a_shard_that_is_not_there_is_refused(tmp_path: Path) -> None:
    rows = rows_of(tmp_path)
    with pytest.raises(DataError, match="has no document 100 with words; make this partition"):
        rows.read(np.array([100], np.uint64))
    with pytest.raises(DataError, match="shard 2 is named by hash runs, but there are 2"):
        rows.read(np.array([2 << 28], np.uint64))


def test_similarities_are_the_same_in_any_number_of_blocks(tmp_path: Path) -> None:
    rows, rng = rows_of(tmp_path), np.random.default_rng(1)
    one, other = rng.integers(0, 100, (2, 3000)).astype(np.uint64)
    small, large = (Estimated(rows, 2, 4, memory).similarities(one, other) for memory in (1, 1 << 30))
    assert small.tolist() == large.tolist()


def test_signatures_that_do_not_share_their_band_are_refused(tmp_path: Path) -> None:
    estimated = Estimated(rows_of(tmp_path), 2, 4, 1 << 20)
    one, other = np.array([0], np.uint64), np.array([1], np.uint64)
    assert estimated.similarities(one, other).shape == (1,)
    with pytest.raises(DataError, match="have signatures that differ there"):
        estimated.similarities(one, other, np.array([0], np.uint16))
