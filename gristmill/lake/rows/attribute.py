"""Attribute rows: the scored spans that an attribute set gives to each document. Several forms are read, one written.

The written form is {"id","source","attributes":{"<set>__<label>":[[start,end,score],...]}}. Offsets count code points
of the text. The reader also accepts Dolma's longer keys, scalars and dictionaries under `attributes`, the older flat
form, integer ids, and rows without a source.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.rows.document import Span
from gristmill.lake.rows.json_values import decode_row
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.text import rounding

DIGITS = 5
"""Decimals of a score that is not declared exact. Only this file rounds scores, so a rerun gives the same bytes."""

Spans = list[tuple[int, int, float]]
"""(start, end, score) of each span; offsets in code points."""


class AttributeRow(msgspec.Struct, frozen=True):
    """One row as read.

    Attributes:
        id: id of the document.
        source: name of the document's source; empty if the row has none.
        labels: spans by label, without the set's name. A scalar becomes the span (0, length of the text, score).
    """

    id: str
    source: str
    labels: dict[str, Spans]


def encode_row(id_: str, source: str, attributes: Mapping[str, Any]) -> bytes:
    """The line of a row, without its line feed.

    Args:
        id_: id of the document.
        source: name of the document's source.
        attributes: lists of [start, end, score] by full key (`<set>__<label>`).

    >>> encode_row("d1", "wiki", {"demo__length": [[0, 4, 4]]})
    b'{"id":"d1","source":"wiki","attributes":{"demo__length":[[0,4,4]]}}'
    """
    return orjson.dumps({"id": id_, "source": source, "attributes": attributes})


def round_score(score: float) -> float:
    """A score in its written form: an int unchanged, a float with `DIGITS` decimals.

    Raises:
        DataError: the score is not a finite number. JSON cannot represent it.

    >>> round_score(2 / 3), round_score(True)
    (0.66667, 1)
    """
    if type(score) is float and math.isfinite(score):
        return round(score, DIGITS)  # nearly all scores
    if isinstance(score, int):
        return int(score)  # a bool becomes 0 or 1: JSON's true is not a number
    if not math.isfinite(score):
        raise DataError(f"a score of {score}: scores are finite numbers; give None for a document without a score")
    return round(float(score), DIGITS)


def rounded_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores in their written form: each is `round(score, DIGITS)`, digit for digit.

    Args:
        scores: float64 array, shape (n,); not changed. One that is not finite stays as it is.

    Returns:
        Shape (n,).

    >>> rounded_scores(np.array([2 / 3, 4.0, 0.000025])).tolist()
    [0.66667, 4.0, 3e-05]
    """
    return rounding.round_like_python(scores, DIGITS)


def written_spans(spans: Iterable[Span | Sequence[float]]) -> list[list[float]]:
    """The spans in their written form: lists of [start, end, score]. A tagger's are checked before (label_values).

    >>> written_spans([(0, 4, 0.123456)])
    [[0, 4, 0.12346]]
    """
    return [
        [start, end, round(score, DIGITS)]
        if type(score) is float and type(start) is type(end) is int  # as nearly all, and without three calls
        else [int(start), int(end), round_score(score)]
        for start, end, score in spans
    ]


def exact_spans(spans: Iterable[Span | Sequence[float]]) -> list[list[float]]:
    """The spans in their written form, with all digits of the scores: for labels that are declared `exact`.

    >>> exact_spans([(0, 4, 0.123456)])
    [[0, 4, 0.123456]]
    """
    return [
        [int(start), int(end), int(score) if isinstance(score, int) else float(score)] for start, end, score in spans
    ]


class _Plain(msgspec.Struct):
    """The written form. msgspec decodes it directly, which is faster than the general way."""

    id: str
    attributes: dict[str, list[tuple[int, int, float]]]
    source: str = ""


_decoder = msgspec.json.Decoder(_Plain)


class _Shortened(dict[str, str]):
    """The labels of keys, without the set's name. Each key is cut once, because all rows have the same few."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def __missing__(self, key: str) -> str:
        self[key] = label = key.removeprefix(self._prefix)
        return label


def parse_rows(
    lines: Sequence[bytes], name: str, path: str, first: int, lengths: Sequence[int] | None = None
) -> list[AttributeRow]:
    """The rows of lines in any form that is read.

    Args:
        lines: rows in UTF-8 without line feeds.
        name: name of the attribute set.
        path: path of the shard, for messages.
        first: number of the first of these rows in the shard.
        lengths: lengths of the documents' texts in code points. Spans of scalars end there; without lengths they end at
            0.

    Raises:
        MalformedRow: a row does not have one of the forms; names file and row.

    >>> [row] = parse_rows([b'{"id":"d1","attributes":{"toxic":0.5}}'], "demo", "a.jsonl", 0, [7])
    >>> row.labels
    {'toxic': [(0, 7, 0.5)]}
    """
    prefix = f"{name}__"
    names = _Shortened(prefix)
    try:
        plain = [_decoder.decode(line) for line in lines]
    except NOT_DECODED:
        plain = []
    read = [
        AttributeRow(row.id, row.source, {names[key]: spans for key, spans in row.attributes.items()}) for row in plain
    ]
    if not plain or len(set(names.values())) < len(names):  # two keys of a row may have become one label
        return [
            _parse_any_form(line, prefix, path, first + i, lengths[i] if lengths else 0) for i, line in enumerate(lines)
        ]
    return read


def _parse_any_form(line: bytes, prefix: str, path: str, number: int, length: int) -> AttributeRow:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise MalformedRow(path, number, f"not valid JSON ({error})") from error
    id_ = row.get("id") if isinstance(row, dict) else None
    if isinstance(id_, int | float):
        id_ = _digits_of_id(line)
    if not isinstance(row, dict) or not isinstance(id_, str):
        raise MalformedRow(path, number, 'an attribute row is an object with a string "id"')
    source = row.get("source", "")
    if source is None:
        source = ""
    if not isinstance(source, str):
        raise MalformedRow(path, number, '"source" is not a string')
    nested = row.get("attributes")
    values = nested if isinstance(nested, dict) else {k: v for k, v in row.items() if k not in {"id", "source"}}
    labels: dict[str, Spans] = {}
    for key, value in values.items():
        label = key.removeprefix(prefix)
        parts = {f"{label}__{k}": v for k, v in value.items()} if isinstance(value, dict) else {label: value}
        for name, score in parts.items():
            if name in labels:
                raise MalformedRow(path, number, f"label {name!r} occurs twice")
            labels[name] = _parse_spans(score, length, path, number, key)
    return AttributeRow(id_, source, labels)


def _digits_of_id(line: bytes) -> Any:
    """The id of a row, an integer as its decimal digits; None if it cannot be read exactly."""
    try:
        return decode_row(line)["id"]
    except NOT_DECODED:
        return None


def _parse_spans(value: Any, length: int, path: str, number: int, key: str) -> Spans:
    """The spans of a scalar, of null, or of a list of [start, end, score]."""
    if isinstance(value, bool | int | float):
        return [(0, length, float(value))]
    if value is None:
        return []
    try:
        return msgspec.convert(value, list[tuple[int, int, float]])
    except msgspec.ValidationError as error:
        raise MalformedRow(
            path, number, f"attribute {key!r}: neither a number nor [[start, end, score], ...] ({error})"
        ) from error
