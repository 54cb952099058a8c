from typing import Any

import numpy as np
import pytest

from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Tagger
from gristmill.text.column import TextColumn


def documents(*texts: str) -> list[Document]:
    return [Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)]


MIXED = documents("one", "zwölf Mühlen", "two words", "")


def masked(column: TextColumn) -> dict[str, Any]:
    counts = column.words.counts
    return {"words": np.ma.MaskedArray(counts, mask=counts == 0)}


def test_a_batch_of_a_batch_is_the_same_batch() -> None:
    batch = Batch.of(MIXED)
    assert Batch.of(batch) is batch
    assert list(batch) == MIXED
    assert (len(batch), batch[1], list(batch[1:3])) == (4, MIXED[1], MIXED[1:3])
    assert batch.lengths.tolist() == [3, 12, 9, 0]
    assert batch.columns is batch.columns


def test_values_of_columns_come_in_the_order_of_the_documents() -> None:
    batch = Batch.of(MIXED)
    assert [column.places for column in batch.columns] == [[0, 2, 3], [1]]
    found = batch.measured(lambda column: {"words": column.words.counts, "place": [str(p) for p in column.places]})
    assert found["words"].tolist() == [1.0, 2.0, 2.0, 0.0]
    assert found["place"] == ["0", "1", "2", "3"]


def test_huge_texts_are_measured_apart_and_come_in_their_places() -> None:
    batch = Batch.of(MIXED)
    seen: list[str] = []

    def huge(text: str) -> dict[str, Any]:
        seen.append(text)
        return {"words": np.ma.MaskedArray([len(text) / 10], mask=[text == "two words"])}

    assert batch.measured(masked, huge, limit=8)["words"].tolist() == [1.0, 1.2, None, None]
    assert seen == ["zwölf Mühlen", "two words"]
    assert batch.measured(masked, huge)["words"].tolist() == [1.0, 2.0, 2.0, None]


def test_a_masked_score_is_none() -> None:
    assert Batch.of(MIXED).measured(masked)["words"].tolist() == [1.0, 2.0, 2.0, None]


@pytest.mark.parametrize("given", [MIXED, Batch.of(MIXED)])
def test_a_tagger_gets_a_batch_and_may_return_arrays(given: list[Document] | Batch) -> None:
    seen: list[Batch] = []

    def tag(batch: Batch) -> dict[str, Any]:
        seen.append(batch)
        return batch.measured(masked)

    tagger = Tagger(name="words-1", batch=tag, labels=(Score("words", "words", low=0, optional=True),))
    assert tagger.look(given) == {"words": [1.0, 2.0, 2.0, None]}
    assert all(isinstance(batch, Batch) for batch in seen)


def test_scores_of_few_documents_are_masked_elsewhere() -> None:
    batch = Batch.of([Document(id=each, text="mill", source="s") for each in "abc"])
    scores = batch.scored({"en": {2: 0.5, 0: 0.25}, "de": {}})
    assert {label: column.tolist() for label, column in scores.items()} == {"en": [0.25, None, 0.5], "de": [None] * 3}
    assert Batch.of([]).scored({"en": {}})["en"].tolist() == []
