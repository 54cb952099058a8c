from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch
from gristmill.text.shared import make_arrays_read_only, shared


@dataclass(frozen=True)
class Two:
    numbers: NDArray[np.int64]
    name: str

    def __post_init__(self) -> None:
        make_arrays_read_only(self)

    @shared
    def doubled(self) -> NDArray[np.int64]:
        """Twice the numbers."""
        return self.numbers * 2

    @shared
    def word(self) -> str:
        return self.name


def test_shared_arrays_are_computed_once_and_cannot_be_changed() -> None:
    two = Two(np.array([1, 2]), "two")
    assert two.doubled is two.doubled
    assert two.word == "two"
    assert Two.doubled.__doc__ == "Twice the numbers."
    for array in (two.numbers, two.doubled):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


@pytest.mark.parametrize("text", ["one two\none two", "zwölf Mühlen", "𐐀 𐐀y"])
def test_nothing_of_a_batch_can_be_changed(text: str) -> None:
    batch = Batch.of([Document(id="a", text=text, source="t")])
    (column,) = batch.columns
    words, lines, points = column.words, column.lines, column.points
    arrays: list[NDArray[Any]] = [
        *(batch.lengths, points.units, points.bounds, points.kinds, points.chunks, points.lengths),
        *(part for pieces in (words, lines) for part in (pieces.starts, pieces.ends, pieces.bounds, pieces.counts)),
        *(words.hashes, words.before, words.sizes, words.lengths, words.texts, lines.lengths, lines.texts),
    ]
    assert not any(array.flags.writeable for array in arrays)
