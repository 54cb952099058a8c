"""Attribute rows: what a set says of each document, in every form that is read, in one form written.

Written: {"id","source","attributes":{"<set>__<label>":[[start,end,score],...]}}, offsets in code points of the text.
Read as well: Dolma's longer keys, scalars and dictionaries under `attributes`, the older flat form, and rows without
a source.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import orjson

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.rows.document import Span

DIGITS = 5
"""Decimals of a score; rounded here and nowhere else, so that a rerun gives the same bytes."""

Spans = list[tuple[int, int, float]]


class AttributeRow(msgspec.Struct, frozen=True):
    """One row as read: whose it is, and spans by label (without the set's name).

    `source` is empty where the row has none. A scalar is the span (0, length, score).
    """

    id: str
    source: str
    labels: dict[str, Spans]


def encode_row(id_: str, source: str, attributes: Mapping[str, Any]) -> bytes:
    """A row's line, without its line feed; `attributes` are full keys to lists of [start, end, score]."""
    return orjson.dumps({"id": id_, "source": source, "attributes": attributes})


def rounded(score: float) -> float:
    """A score as it is written.

    Raises:
        DataError: it is not a finite number: JSON has no way to write it.
    """
    if isinstance(score, int):
        return int(score)  # a bool is 0 or 1: JSON's true is no score
    if not math.isfinite(score):
        raise DataError(f"a score of {score}: scores are finite numbers; give None where there is nothing to say")
    return round(float(score), DIGITS)


def checked_spans(spans: Iterable[Span | Sequence[float]], length: int) -> list[list[float]]:
    """Spans as they are written.

    Raises:
        DataError: a span lies outside of the text.
    """
    written: list[list[float]] = []
    for start, end, score in spans:
        if not 0 <= start <= end <= length:
            raise DataError(f"a span [{start}, {end}) in a text of {length} characters")
        written.append([int(start), int(end), rounded(score)])
    return written


class _Plain(msgspec.Struct):
    """The form that we write: decoded without a detour."""

    id: str
    attributes: dict[str, list[tuple[int, int, float]]]
    source: str = ""


_decoder = msgspec.json.Decoder(_Plain)


def parse_rows(
    lines: Sequence[bytes], name: str, path: str, first: int, lengths: Sequence[int] | None = None
) -> list[AttributeRow]:
    """Rows from their lines.

    Args:
        lines: without line feeds.
        name: the set's.
        path: of the shard, for messages.
        first: the number of the first of these rows in the shard.
        lengths: of the documents' texts in code points, for scalars; without it their spans end at 0.

    Raises:
        MalformedRow: a row is in none of the known forms.
    """
    prefix = f"{name}__"
    cut = len(prefix)
    try:
        plain = [_decoder.decode(line) for line in lines]
    except (msgspec.DecodeError, UnicodeDecodeError):
        plain = []
    read = [
        AttributeRow(
            row.id,
            row.source,
            {(key[cut:] if key.startswith(prefix) else key): spans for key, spans in row.attributes.items()},
        )
        for row in plain
    ]
    if not plain or any(len(a.labels) != len(b.attributes) for a, b in zip(read, plain, strict=True)):
        return [_any_form(line, prefix, path, first + i, lengths[i] if lengths else 0) for i, line in enumerate(lines)]
    return read


def _any_form(line: bytes, prefix: str, path: str, number: int, length: int) -> AttributeRow:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise MalformedRow(path, number, f"not valid JSON ({error})") from error
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise MalformedRow(path, number, 'an attribute row is an object with a string "id"')
    source = row.get("source", "")
    if source is None:
        source = ""
    if not isinstance(source, str):
        raise MalformedRow(path, number, '"source" is no string')
    nested = row.get("attributes")
    values = nested if isinstance(nested, dict) else {k: v for k, v in row.items() if k not in {"id", "source"}}
    labels: dict[str, Spans] = {}
    for key, value in values.items():
        label = key.removeprefix(prefix)
        parts = {f"{label}__{k}": v for k, v in value.items()} if isinstance(value, dict) else {label: value}
        for name, score in parts.items():
            if name in labels:
                raise MalformedRow(path, number, f"label {name!r} stands there twice")
            labels[name] = _spans(score, length, path, number, key)
    return AttributeRow(row["id"], source, labels)


def _spans(value: Any, length: int, path: str, number: int, key: str) -> Spans:
    """A scalar or a list of [start, end, score]."""
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
