from pathlib import Path

import numpy as np
import pytest
from nearlake import RECIPE, Near, digest
from nearrecipes import EXACT

from gristmill.errors import DataError
from gristmill.lake.address import documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows import shard_file
from gristmill.stages.near_duplicates.inputs import ClusterInputs
from gristmill.stages.near_duplicates.pairs.exact_similarity import Exact
from gristmill.stages.near_duplicates.printed_documents import PrintedDocuments

TEXTS = {"a": ["a b c", "", "A B d", "a b c d", "x"], "b": ["a b c"]}


def exact(near: Near) -> Exact:
    inputs = ClusterInputs.read(near.store, near.dedupe, near.order, 1)
    printed = PrintedDocuments(near.store, inputs.fingerprints)
    return Exact(near.store, printed, inputs.fingerprints, inputs.documents, near.unit)


@pytest.mark.parametrize("member", [1 << 20, 1])
def test_similarities_are_those_of_the_sets_of_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: int
) -> None:
    """Texts of one gzip member, and of a member for each row. Document 1 is row 2, as row 1 has no words."""
    monkeypatch.setattr(shard_file, "MEMBER", member)
    near = Near(tmp_path, EXACT)
    near.add(("wiki", "1", TEXTS))
    one = np.array([0, 0, 0, 3], np.uint64)
    other = np.array([1, 2, 1 << 28, 0], np.uint64)
    assert exact(near).similarities(one, other).tolist() == pytest.approx([2 / 4, 3 / 4, 1, 0])


def test_pairs_are_verified_by_their_texts(tmp_path: Path) -> None:
    near = Near(tmp_path, EXACT)
    near.add(("wiki", "1", TEXTS))
    near.resolve()
    similar = {(name, row["row"]): row["similarity"] for name, rows in near.mark(0).items() for row in rows}
    assert similar == {("a", 0): 1, ("a", 2): 0.5, ("a", 3): 0.75, ("b", 0): 1}  # row 2 is near row 3


def test_other_documents_than_those_of_the_fingerprints_are_refused(tmp_path: Path) -> None:
    near = Near(tmp_path, EXACT)
    near.add(("wiki", "1", TEXTS))
    here = place(documents_asset("wiki", "v0"), "1")
    _, rows = read_ledger(near.store, here)
    changed = [
        Shard(row.name, row.rows, row.bytes, row.length, row.sha256, row.content, digest([]), "", ()) for row in rows
    ]
    near.publish(here, changed)
    with pytest.raises(DataError, match="shard a has other documents than its fingerprints"):
        exact(near).similarities(np.array([0], np.uint64), np.array([1], np.uint64))
    assert RECIPE.name == "by hand"
