from pathlib import Path
from typing import Any

import pytest

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch
from gristmill.recipes.models.labelled_set import Draw
from gristmill.recipes.models.overlaps import OverlapIndexing, overlap_tagger
from gristmill.text.overlaps.index import OverlapIndex

DRAWN = (Draw(source="quiz", snapshots=("2024-01",)),)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sets": {}}, "give sets= each with its documents"),
        ({"sets": {"quiz": ()}}, "give sets= each with its documents"),
        ({"sets": {"a quiz": DRAWN}}, "'a quiz' is no name of a label"),
        ({"sets": {"quiz": DRAWN, "quiz_lines": DRAWN}}, "'quiz_lines' is no name of a label of its own"),
        ({"sets": {"quiz": DRAWN}, "length": 1}, "length"),
    ],
)
def test_what_cannot_be_indexed_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        OverlapIndexing(**options)


def test_a_tagger_reads_the_index_and_has_two_labels_of_each_set(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(OverlapIndex.build([("quiz", 7, "to be or not")], 3, 4).to_bytes())
    tagger = overlap_tagger("asked-1", "index-1", ["quiz"])
    assert tagger.open
    look = tagger.open({"index-1": path})
    found = look(Batch([Document("a", "To BE, or", "s"), Document("b", "x\nTo be or not!\ny", "s")]))
    assert [spans.tolist() for spans in found["quiz"]] == [[[0, 9, 7]], [[2, 14, 7]]]
    assert [spans.tolist() for spans in found["quiz_lines"]] == [[], [[2, 14, 7]]]
    assert set(tagger.declared or ()) == {"quiz", "quiz_lines"}
    unknown = overlap_tagger("asked-1", "index-1", ["exam"]).open
    assert unknown
    with pytest.raises(RecipeError, match="has no set 'exam'; it has quiz"):
        unknown({"index-1": path})


@pytest.mark.parametrize("cut", [3, 40, -8])
def test_a_damaged_index_is_an_error(cut: int) -> None:
    data = OverlapIndex.build([("quiz", 7, "to be or not")], 3, 4).to_bytes()
    with pytest.raises(DataError, match="is no index of n-grams"):
        OverlapIndex.from_bytes(data[:cut], "index")
