"""A tagger of a list of words that was brought."""

from collections.abc import Callable, Mapping
from pathlib import Path

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Label, Score, Tagger


def open_list(files: Mapping[str, Path]) -> Callable[[Batch], Mapping[str, list[Label]]]:
    words = set(files["list-1"].read_text().split())

    def look(batch: Batch) -> Mapping[str, list[Label]]:
        return {"listed": [float(sum(word in words for word in text.split())) for text in batch.texts]}

    return look


LISTED = Tagger(
    name="listed-1", models=("list-1",), open=open_list, labels=[Score("listed", "words on the list", low=0)]
)
