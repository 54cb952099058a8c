"""LabelLines: the lines of attribute rows of a batch of documents, written label by label and not row by row.

The bytes are those of `encode_row`. The scores of a label become text in one call, and all pieces of text are joined
in one call. That takes a fifth of the time.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from gristmill.lake.rows.attribute import exact_spans, round_score, rounded_scores, written_spans
from gristmill.lake.rows.label_values import is_span_array, listed_spans
from gristmill.recipes.tagger import Column

_NOTHING = type(None)
_TOGETHER = 1 << 16  # spans that are written together: a document may have a million


class NamedRow(Protocol):
    """A document, as far as its attribute row names it."""

    @property
    def source(self) -> str:
        """The name of the document's source."""

    @property
    def id(self) -> str:
        """The id of the document."""


class WrittenRows(Protocol):
    """Documents whose attribute rows are written, such as a Batch. `lengths`: of their texts, in code points."""

    @property
    def lengths(self) -> Sequence[int] | NDArray[np.int64]: ...
    def __iter__(self) -> Iterator[NamedRow]: ...


class LabelLines:
    r"""What the lines of a batch have in common for all sets: the ids, the sources, and the lengths of the texts.

    Args:
        batch: the documents.

    >>> from gristmill.lake.rows.document import Document
    >>> from gristmill.recipes.batch import Batch
    >>> lines = LabelLines(Batch.of([Document(id="d1", text="mill", source="wiki")]))
    >>> lines.encode([("demo__length", np.array([4.0]), False)])
    b'{"id":"d1","source":"wiki","attributes":{"demo__length":[[0,4,4.0]]}}\n'
    """

    def __init__(self, batch: WrittenRows) -> None:
        sources = {source: orjson.dumps(source) for source in {document.source for document in batch}}
        self._heads = [
            b'{"id":%b,"source":%b,"attributes":{' % (orjson.dumps(document.id), sources[document.source])
            for document in batch
        ]
        self._lengths = _encode_numbers(np.asarray(batch.lengths), b",")

    def encode(self, labels: Sequence[tuple[str, Column, bool]]) -> bytes:
        """The lines, each with its line feed.

        Args:
            labels: labels in the order in which they are written. For each its full key (`<set>__<label>`), a column
                with a value for each document, which was checked, and whether its scores are exact.
        """
        count = len(self._heads)
        parts: list[Sequence[bytes]] = [self._heads]
        begun: NDArray[np.bool_] = np.zeros(count, np.bool_)
        sparse: list[list[bytes]] = []  # of each row, what labels wrote that some rows lack, since the last full one
        for key, column, exact in labels:
            values, places = _present_labels(column)
            opening, written = self._encode_label_column(values, places, exact=exact)
            name = orjson.dumps(key) + opening
            if places is None:
                parts += (*_join_row_parts(sparse), _text_where_chosen(begun, b","), [name] * count, *written)
                begun, sparse = np.ones(count, np.bool_), []
                continue
            sparse = sparse or [[] for _ in range(count)]
            for place, comma, *texts in zip(places.tolist(), begun[places].tolist(), *written, strict=True):
                sparse[place] += (b"," if comma else b"", name, *texts)
            begun[places] = True
        parts += (*_join_row_parts(sparse), [b"}}\n"] * count)
        pieces = [b""] * (count * len(parts))
        for number, part in enumerate(parts):
            pieces[number :: len(parts)] = part
        return b"".join(pieces)

    def _encode_label_column(
        self, labels: Sequence[Any] | NDArray[Any], places: NDArray[np.intp] | None, *, exact: bool
    ) -> tuple[bytes, Sequence[Sequence[bytes]]]:
        """What stands before the labels of the rows at these places (None: all), and the labels in parts."""
        lengths = self._lengths if places is None else [self._lengths[place] for place in places.tolist()]
        if isinstance(labels, np.ndarray):
            if labels.dtype == np.float64 and not exact:
                labels = rounded_scores(labels)
            return b":[[0,", (lengths, _encode_numbers(labels, b"]]"))
        values = [
            _encode_spans(label, int(length[:-1]), exact=exact) for label, length in zip(labels, lengths, strict=True)
        ]
        return b":", (values,)


def _present_labels(column: Column) -> tuple[Sequence[Any] | NDArray[Any], NDArray[np.intp] | None]:
    """The labels that are not None, and the rows that have them (None: all). Floats become an array."""
    places: NDArray[np.intp] | None = None
    if isinstance(column, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(column)
        places = np.flatnonzero(~missing) if missing.any() else None
        return column.data if places is None else column.data[places], places
    if isinstance(column, np.ndarray):
        return column, None
    kinds = set(map(type, column))
    if _NOTHING in kinds:
        places = np.array([place for place, label in enumerate(column) if label is not None], np.intp)
        column = [label for label in column if label is not None]
    return (np.array(column) if kinds - {_NOTHING} == {float} else column), places


def _join_row_parts(rows: Sequence[Sequence[bytes]]) -> list[Sequence[bytes]]:
    """The text of each row as one part; no part if there are no rows."""
    return [list(map(b"".join, rows))] if rows else []


def _encode_numbers(numbers: NDArray[Any], end: bytes) -> list[bytes]:
    """Each number in JSON, followed by `end`."""
    joined = orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
    return (joined.replace(b",", end + b"\n") + end).split(b"\n") if len(numbers) else []


def _encode_spans(label: Any, length: int, *, exact: bool) -> bytes:
    """The spans of a label that is a list of spans or a score, in JSON."""
    if is_span_array(label) and label.dtype == np.int64:
        return orjson.dumps(np.ascontiguousarray(label), option=orjson.OPT_SERIALIZE_NUMPY)
    if is_span_array(label) or isinstance(label, list):
        parts = (listed_spans(label[start : start + _TOGETHER]) for start in range(0, len(label), _TOGETHER))
        written = [orjson.dumps(exact_spans(part) if exact else written_spans(part))[1:-1] for part in parts]
        return b"[%b]" % b",".join(written)
    return orjson.dumps(exact_spans([(0, length, label)]) if exact else [[0, length, round_score(label)]])


def _text_where_chosen(chosen: NDArray[np.bool_], text: bytes) -> Sequence[bytes]:
    """The text where chosen, and nothing elsewhere."""
    if chosen.all():
        return [text] * len(chosen)
    return _nothing_or_text(text)[chosen.view(np.uint8)].tolist() if chosen.any() else [b""] * len(chosen)


def _nothing_or_text(text: bytes) -> NDArray[np.object_]:
    return np.array([b"", text], np.object_)
