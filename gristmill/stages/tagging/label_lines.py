"""LabelLines: the lines of attribute rows of a batch of documents, written label by label and not row by row.

The bytes are those of `encode_row`. The scores of a label become text in one call, and all pieces of text are joined
in one call. That takes a fifth of the time.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from gristmill.lake.rows.attribute import exact_spans, rounded, rounded_scores, written_spans
from gristmill.lake.rows.label_values import is_span_array, listed_spans
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Column

_NOTHING = type(None)


class LabelLines:
    r"""What the lines of a batch have in common for all sets: the ids, the sources, and the lengths of the texts.

    Args:
        batch: the documents.

    >>> from gristmill.lake.rows.document import Document
    >>> lines = LabelLines(Batch.of([Document(id="d1", text="mill", source="wiki")]))
    >>> lines.of([("demo__length", np.array([4.0]), False)])
    b'{"id":"d1","source":"wiki","attributes":{"demo__length":[[0,4,4.0]]}}\n'
    """

    def __init__(self, batch: Batch) -> None:
        sources = {source: orjson.dumps(source) for source in {document.source for document in batch}}
        self._heads = [
            b'{"id":%b,"source":%b,"attributes":{' % (orjson.dumps(document.id), sources[document.source])
            for document in batch
        ]
        self._lengths = _texts(batch.lengths, b",")

    def of(self, labels: Sequence[tuple[str, Column, bool]]) -> bytes:
        """The lines, each with its line feed.

        Args:
            labels: for each label its full key (`<set>__<label>`), a label per document, which was checked, and
                whether its scores are exact. They are written in this order.
        """
        count = len(self._heads)
        parts: list[Sequence[bytes]] = [self._heads]
        begun: NDArray[np.bool_] = np.zeros(count, np.bool_)
        for key, column, exact in labels:
            name = orjson.dumps(key)
            missing, opening, values = self._written(column, name, exact=exact)
            if missing is None:
                commas = begun
                begun = np.ones(count, np.bool_)
            else:
                commas = begun & ~missing
                begun = begun | ~missing
            found = (_where(commas, b","), *opening, values)
            parts += found if missing is None else [_blanked(part, missing) for part in found]
        parts.append([b"}}\n"] * count)
        pieces = [b""] * (count * len(parts))
        for number, part in enumerate(parts):
            pieces[number :: len(parts)] = part
        return b"".join(pieces)

    def _written(
        self, column: Column, name: bytes, *, exact: bool
    ) -> tuple[NDArray[np.bool_] | None, Sequence[Sequence[bytes]], Sequence[bytes]]:
        """Which documents have no label (None: all have one), what stands before the values, and the values."""
        scores, missing = _as_array(column)
        count = len(self._heads)
        if scores is not None:
            if scores.dtype == np.float64 and not exact:
                scores = rounded_scores(scores)
            return missing, ([name + b":[[0,"] * count, self._lengths), _texts(scores, b"]]")
        lengths = [int(length[:-1]) for length in self._lengths]
        values = [
            _spans(label, length, exact=exact) if label is not None else b""
            for label, length in zip(column, lengths, strict=True)
        ]
        found = np.fromiter((label is None for label in column), np.bool_, count)
        return found if found.any() else None, ([name + b":"] * count,), values


def _as_array(column: Column) -> tuple[NDArray[Any] | None, NDArray[np.bool_] | None]:
    """The scores of a label, and which documents have none; no scores if the label has spans, or not only floats."""
    if isinstance(column, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(column)
        return column.data, missing if missing.any() else None
    if isinstance(column, np.ndarray):
        return column, None
    kinds = set(map(type, column))
    if kinds == {float}:
        return np.array(column), None
    if kinds == {float, _NOTHING}:
        missing = np.fromiter((label is None for label in column), np.bool_, len(column))
        return np.array([0.0 if label is None else label for label in column], np.float64), missing
    return None, None


def _texts(numbers: NDArray[Any], end: bytes) -> list[bytes]:
    """Each number in JSON, followed by `end`."""
    joined = orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
    return (joined.replace(b",", end + b"\n") + end).split(b"\n") if len(numbers) else []


def _spans(label: Any, length: int, *, exact: bool) -> bytes:
    """The spans of a label that is a list of spans or a score, in JSON."""
    if is_span_array(label) and label.dtype == np.int64:
        return orjson.dumps(np.ascontiguousarray(label), option=orjson.OPT_SERIALIZE_NUMPY)
    label = listed_spans(label)
    if isinstance(label, list):
        return orjson.dumps(exact_spans(label) if exact else written_spans(label)) if label else b"[]"
    return orjson.dumps(exact_spans([(0, length, label)]) if exact else [[0, length, rounded(label)]])


def _where(chosen: NDArray[np.bool_], text: bytes) -> Sequence[bytes]:
    """The text where chosen, and nothing elsewhere."""
    if chosen.all():
        return [text] * len(chosen)
    return _choice(text)[chosen.view(np.uint8)].tolist() if chosen.any() else [b""] * len(chosen)


def _choice(text: bytes) -> NDArray[np.object_]:
    return np.array([b"", text], np.object_)


def _blanked(part: Sequence[bytes], missing: NDArray[np.bool_]) -> Sequence[bytes]:
    """The part with nothing where a label is missing."""
    blanked = np.array(part, np.object_)
    blanked[missing] = b""
    listed: list[bytes] = blanked.tolist()
    return listed
