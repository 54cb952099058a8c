"""Turns rows of an attribute set into Arrow arrays: scores as numbers, spans as lists of structs.

A label that is absent is null. A score that is absent is null too; so is one without a span.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from gristmill.errors import MalformedRow
from gristmill.lake.rows.attribute import Spans, parse_rows
from gristmill.reading.columns import SPANS, ReadColumn
from gristmill.reading.document_arrays import Row, RowLines, float_array

_MAYBE_LIST = frozenset({list, type(None)})
_NUMBERS = frozenset({int, float})


class _OtherForm(Exception):  # noqa: N818 - never leaves this module
    """A row is not in the form that Gristmill writes."""


def label_arrays(
    columns: Sequence[ReadColumn], rows: Sequence[Row], held: RowLines, lengths: Callable[[], list[int]]
) -> dict[str, Any]:
    """The columns of one attribute set as Arrow arrays, by name.

    Args:
        columns: columns of one set.
        rows: its parsed rows.
        held: the rows as bytes.
        lengths: function that gives the lengths of the documents' texts in code points; only other forms than ours need
            them.

    Raises:
        MalformedRow: a row has none of the forms that are read, or a score has several spans.
    """
    name = columns[0].set
    try:
        labels = [_labels_with_prefix(row, f"{name}__") for row in rows]
        return {column.name: _label_array(column, labels, held) for column in columns}
    except _OtherForm:
        known = lengths()
    labels = []
    for number, line, length in zip(held.numbers, held.lines, known, strict=True):
        [row] = parse_rows([line], name, held.path, number, [length])
        labels.append({f"{name}__{label}": [list(span) for span in spans] for label, spans in row.labels.items()})
    try:
        return {column.name: _label_array(column, labels, held) for column in columns}
    except _OtherForm:  # an integer beyond 64 bits
        raise MalformedRow(held.path, held.numbers[0], f"a span of {name!r} in these rows has a huge number") from None


def _labels_with_prefix(row: Row, prefix: str) -> dict[str, Any]:
    labels = row.get("attributes")
    if type(labels) is not dict or not all(key.startswith(prefix) for key in labels) or None in labels.values():
        raise _OtherForm  # a label of null has no spans; one that is left out is absent
    return labels


def _label_array(column: ReadColumn, rows: list[dict[str, Any]], held: RowLines) -> Any:
    if column.kind == "labels":
        return _label_map_array(rows, f"{column.set}__")
    values = [row.get(column.path) for row in rows]
    if column.kind == "spans":
        return _spans_array(values)
    if set(map(type, values)) - _MAYBE_LIST:
        raise _OtherForm
    several = next((n for n, spans in enumerate(values) if spans and len(spans) > 1), None)
    if several is not None:
        _spans_array(values)
        raise MalformedRow(
            held.path,
            held.numbers[several],
            f"{column.path} has {len(values[several] or ())} spans, but column {column.name!r} is read as one score",
            f"read it as spans({column.path!r}) of gristmill.recipes.rules",
        )
    return float_array([_single_span_score(spans) if spans else None for spans in values])


def _single_span_score(spans: list[Any]) -> Any:
    try:
        start, end, score = spans[0]
    except (TypeError, ValueError):
        raise _OtherForm from None
    if type(start) is not int or type(end) is not int or type(score) not in _NUMBERS:
        raise _OtherForm
    return score


def _spans_array(values: Sequence[Spans | None]) -> Any:
    """Spans as an array of lists of structs."""
    if set(map(type, values)) - _MAYBE_LIST:
        raise _OtherForm
    flat = [span for spans in values if spans for span in spans]
    try:
        starts, ends, scores = zip(*flat, strict=True) if flat else ((), (), ())
        if any(len(span) != 3 for span in flat):
            raise _OtherForm
    except (TypeError, ValueError):
        raise _OtherForm from None
    if (set(map(type, starts)) | set(map(type, ends))) - {int} or set(map(type, scores)) - _NUMBERS:
        raise _OtherForm
    children = [_integer_array(starts), _integer_array(ends), float_array(scores)]
    structs = pa.StructArray.from_arrays(children, fields=list(SPANS.value_type))
    sizes = (len(spans) if spans else 0 for spans in values)
    offsets = pa.array([0, *accumulate(sizes)], pa.int32())
    absent = pa.array([spans is None for spans in values], pa.bool_())
    return pa.ListArray.from_arrays(offsets, structs, type=SPANS, mask=absent)


def _label_map_array(rows: Sequence[dict[str, Any]], prefix: str) -> Any:
    """All labels of each row, by name without the set's."""
    offsets = pa.array([0, *accumulate(len(row) for row in rows)], pa.int32())
    keys = pa.array([key.removeprefix(prefix) for row in rows for key in row], pa.string())
    return pa.MapArray.from_arrays(offsets, keys, _spans_array([spans for row in rows for spans in row.values()]))


def _integer_array(values: Iterable[Any]) -> Any:
    try:
        return pa.array(values, pa.int64())
    except (pa.ArrowException, OverflowError):
        raise _OtherForm from None
