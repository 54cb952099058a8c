"""Dolma's labels of a batch of documents: for each name a list of spans for each document, or None without any."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Tagger

DolmaSpan = tuple[int, int, float]
DolmaLabels = Mapping[str, Sequence[list[DolmaSpan] | None]]
Look = Callable[[Batch], DolmaLabels]

DIGITS = 5


def whole_text_spans(batch: Batch, scores: Mapping[str, Iterable[float | None]]) -> DolmaLabels:
    """The scores of documents as spans over the whole text.

    Args:
        batch: the documents.
        scores: scores of each label, one for each document; None is no label.
    """
    lengths = batch.lengths.tolist()
    return {
        label: [
            None if score is None else [(0, length, round(float(score), DIGITS))]
            for length, score in zip(lengths, values, strict=True)
        ]
        for label, values in scores.items()
    }


def measure_documents(batch: Batch, values: Callable[[Any], NDArray[Any]]) -> list[float]:
    """A number for each document.

    Args:
        batch: the documents.
        values: function that takes a TextColumn, and returns a number for each of its texts.
    """
    numbers: list[float] = np.asarray(batch.measured(lambda column: {"": values(column)})[""]).tolist()
    return numbers


def document_spans(batch: Batch, values: Callable[[Any], list[NDArray[Any]]]) -> list[list[DolmaSpan] | None]:
    """The spans of each document, their scores as Dolma writes them; None without any.

    Args:
        batch: the documents.
        values: function that takes a TextColumn, and returns the spans of each of its texts.
    """
    found = batch.measured(lambda column: {"": values(column)}).get("", [])
    return [
        [(start, end, round(float(score), DIGITS)) for start, end, score in each.tolist()] or None for each in found
    ]


def rename_labels(tagger: Tagger, names: Mapping[str, str] | None = None) -> Look:
    """The function that gives the labels of one of our taggers under Dolma's names.

    Args:
        tagger: ours.
        names: Dolma's name of each label of ours; a label that is not there is left out. None: names are the same.
    """

    def look(batch: Batch) -> DolmaLabels:
        labels = tagger.look(batch)
        lengths = batch.lengths.tolist()
        return {
            (names or {}).get(name, name): [
                _label_as_spans(value, length) for value, length in zip(values, lengths, strict=True)
            ]
            for name, values in labels.items()
            if names is None or name in names
        }

    return look


def _label_as_spans(label: Any, length: int) -> list[DolmaSpan] | None:
    if label is None:
        return None
    found = label if isinstance(label, list) else [(0, length, label)]
    return [(int(start), int(end), round(float(score), DIGITS)) for start, end, score in found] or None
