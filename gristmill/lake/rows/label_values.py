"""Labels as a tagger gives them, before they are written: finds the first one that is no score or no list of spans.

A batch of labels is checked as a whole first, with functions in C. Only if that fails, they are looked at one by one.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from numbers import Real
from operator import index, le
from typing import Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import shorten

Kind = Literal["score", "spans"]
"""`score`: one number for the whole document. `spans`: a list of spans of it."""

ANY: Final = "*"
"""At the end of a declared name: all labels that begin as it does."""

T = TypeVar("T")

_TRIPLE = 3
_LEAST, _MOST = -(2**63), 2**64 - 1
"""The integers that orjson writes."""
_SLACK = 4e-6
"""A share may be 1.0000000000000002 by the errors of its sum. As written, with five decimals, it is 1."""


class LabelRange(NamedTuple):
    """The range of a label's scores.

    Attributes:
        low: the lowest score; None is no bound.
        high: the highest score.

    >>> LabelRange(0, 1).score_fault(1.5)
    '1.5 is above 1.0'
    """

    low: float | None = None
    high: float | None = None

    def score_fault(self, score: float) -> str:
        """The reason why a score is not in the range; empty if it is."""
        if self.low is not None and score < self.low - _SLACK:
            return f"{float(score)} is below {float(self.low)}"
        if self.high is not None and score > self.high + _SLACK:
            return f"{float(score)} is above {float(self.high)}"
        return ""


def is_label_name(name: object) -> bool:
    """Whether a label may have this name: a string of at least one character, without white space.

    >>> is_label_name("word_count"), is_label_name("word count"), is_label_name("")
    (True, False, False)
    """
    return isinstance(name, str) and name.isprintable() and bool(name) and " " not in name


def declaration_of_label(name: str, declared: Mapping[str, T]) -> T | None:
    """The declaration of a label: that of its name, or else the longest pattern that it matches; None without one.

    Args:
        name: name of the label.
        declared: declarations by name. A name that ends with `*` means all labels whose names begin so.

    >>> [declaration_of_label(name, {"lines": 1, "*": 2, "category_*": 3}) for name in ("lines", "category_blog", "en")]
    [1, 3, 2]
    """
    if name in declared:
        return declared[name]
    patterns = [each for each in declared if each.endswith(ANY) and name.startswith(each[: -len(ANY)])]
    return declared[max(patterns, key=len)] if patterns else None


def first_wrong_label(
    labels: Sequence[Any] | NDArray[Any],
    lengths: Sequence[int],
    kind: Kind | None,
    bounds: LabelRange,
    *,
    optional: bool,
) -> tuple[int, str] | None:
    """The first label of a batch that is wrong, or None.

    Args:
        labels: the labels of one name, one per document: a sequence, or an array of numbers (a masked one is None).
        lengths: number of code points of each text.
        kind: kind of all labels; None if each may be a score or spans.
        bounds: the range of scores, also of those of spans.
        optional: whether a label may be None.

    Returns:
        Its index, and what is wrong with it.

    >>> first_wrong_label([0.5, 1.5], [4, 4], "score", LabelRange(0, 1), optional=False)
    (1, '1.5 is above 1.0')
    >>> first_wrong_label([[(0, 9, 1.0)]], [4], "spans", LabelRange(), optional=False)
    (0, 'a span [0, 9) in a text of 4 characters')
    """
    if isinstance(labels, np.ndarray):
        if kind != "spans" and _are_right(labels, bounds, optional=optional):
            return None
        return first_wrong_label(labels.tolist(), lengths, kind, bounds, optional=optional)
    present = [label for label in labels if label is not None] if optional else labels
    if any(is_span_array(label) for label in present):
        theirs = [n for n, label in zip(lengths, labels, strict=True) if label is not None]
        if kind != "score" and _are_span_arrays(present, theirs, bounds):
            return None
        return first_wrong_label(list(map(listed_spans, labels)), lengths, kind, bounds, optional=optional)
    if kind != "spans" and _are_scores(present, bounds):
        return None
    if kind != "score" and set(map(type, present)) == {list}:
        texts = (n for n, label in zip(lengths, labels, strict=True) if label is not None)
        if _are_spans(present, list(texts), bounds):
            return None
    for number, (label, length) in enumerate(zip(labels, lengths, strict=True)):
        complaint = "" if label is None and optional else _label_problem(label, length, kind, bounds)
        if complaint:
            return number, complaint
    return None


def is_span_array(label: object) -> bool:
    """Whether a label is an array of spans. One of integers or floats, shape (n, 3), is checked without a loop."""
    return isinstance(label, np.ndarray) and label.ndim > 0


def listed_spans(label: Any) -> Any:
    """A label as it is, but an array of spans as a list.

    >>> listed_spans(np.array([[0, 4, 1]])), listed_spans(np.array([[0, 4, 0.5]])), listed_spans(0.5)
    ([(0, 4, 1)], [(0, 4, 0.5)], 0.5)
    """
    if not is_span_array(label):
        return label
    if label.dtype == np.float64 and label.shape == (len(label), _TRIPLE) and _has_whole_edges(label):
        edges = label[:, :2].astype(np.int64)
        return list(zip(edges[:, 0].tolist(), edges[:, 1].tolist(), label[:, 2].tolist(), strict=True))
    return [tuple(span) if isinstance(span, list) else span for span in label.tolist()]


def _are_span_arrays(labels: Sequence[Any], lengths: Sequence[int], bounds: LabelRange) -> bool:
    """Whether all labels are arrays of numbers that are spans of their texts. False for some that are."""
    for label in labels:
        if not is_span_array(label) or label.shape != (len(label), _TRIPLE):
            return False
        if label.dtype != np.int64 and (label.dtype != np.float64 or not _has_whole_edges(label)):
            return False
    return _are_array_spans(np.concatenate(labels), np.repeat(lengths, list(map(len, labels))), bounds)


def _has_whole_edges(spans: NDArray[np.float64]) -> bool:
    """Whether spans are finite, and begin and end at whole numbers."""
    return bool(np.isfinite(spans).all() and (spans[:, :2] == np.floor(spans[:, :2])).all())


def _are_right(scores: NDArray[Any], bounds: LabelRange, *, optional: bool) -> bool:
    """Whether all numbers of an array are finite and in the range, and none is masked unless that is optional."""
    if isinstance(scores, np.ma.MaskedArray):
        given = scores.compressed()
        if len(given) < len(scores) and not optional:
            return False
        scores = given
    if not len(scores):
        return True
    least, most = scores.min(), scores.max()  # NaN if one is NaN
    return bool(np.isfinite([least, most]).all()) and not (bounds.score_fault(least) or bounds.score_fault(most))


def _are_scores(scores: Sequence[Any], bounds: LabelRange) -> bool:
    """Whether all are numbers, finite and in the range. False for some that are, such as those of an infinite sum."""
    kinds = set(map(type, scores))
    if not all(issubclass(kind, Real) for kind in kinds) or not scores:
        return not scores
    try:
        finite, least, most = math.isfinite(sum(scores)), min(scores), max(scores)
    except OverflowError:
        return False
    if any(issubclass(kind, int) for kind in kinds) and not (least >= _LEAST and most <= _MOST):
        return False
    return finite and not bounds.score_fault(least) and not bounds.score_fault(most)


def _are_spans(labels: Sequence[list[Any]], lengths: Sequence[int], bounds: LabelRange) -> bool:
    """Whether lists hold spans of their texts, with scores in the range. False for some that do."""
    spans = list(chain.from_iterable(labels))
    if not spans:
        return True
    if not all(issubclass(kind, tuple) for kind in set(map(type, spans))) or set(map(len, spans)) != {_TRIPLE}:
        return False
    flat = list(chain.from_iterable(spans))
    if set(map(type, flat)) == {int}:
        try:
            whole = np.fromiter(flat, np.int64, len(flat)).reshape(-1, _TRIPLE)
        except OverflowError:
            return False
        return _are_array_spans(whole, np.repeat(lengths, list(map(len, labels))), bounds)
    starts, ends, scores = (flat[part::_TRIPLE] for part in range(_TRIPLE))
    if set(map(type, starts)) | set(map(type, ends)) != {int} or not _are_scores(scores, bounds):
        return False
    last = chain.from_iterable(map(repeat, lengths, map(len, labels)))
    return min(starts) >= 0 and all(map(le, starts, ends)) and all(map(le, ends, last))


def _are_array_spans(spans: NDArray[Any], lengths: NDArray[Any], bounds: LabelRange) -> bool:
    """As _are_spans, for an array of shape (n, 3); `lengths` has that of the text of each span (n)."""
    if not len(spans):
        return True
    starts, ends, scores = spans.T
    inside = (starts >= 0) & (starts <= ends) & (ends <= lengths)
    return bool(inside.all()) and not (bounds.score_fault(scores.min()) or bounds.score_fault(scores.max()))


def _label_problem(label: Any, length: int, kind: Kind | None, bounds: LabelRange) -> str:
    """What is wrong with one label; empty if nothing is."""
    if label is None:
        return "it is missing, and it is not declared optional=True"
    if isinstance(label, list):
        if kind == "score":
            return f"a list of {len(label)} spans, and it is declared as a Score"
        return next(filter(None, (_span_complaint(span, length, bounds) for span in label)), "")
    if kind == "spans":
        return f"{_shorten_value(label)} is not a list of spans"
    return _score_complaint(label, bounds)


def _score_complaint(score: Any, bounds: LabelRange) -> str:
    if isinstance(score, int) and not _LEAST <= score <= _MOST:
        return f"an integer of {score.bit_length():,} bits: a score has at most 64"
    try:
        finite = math.isfinite(score)
    except (TypeError, ValueError, OverflowError):
        return f"{_shorten_value(score)} is not a number"
    if not finite:
        return f"a score of {score}: scores are finite numbers; give None for a document without a score"
    return bounds.score_fault(score)


def _span_complaint(span: Any, length: int, bounds: LabelRange) -> str:
    if not isinstance(span, list | tuple) or len(span) != _TRIPLE:
        return f"{_shorten_value(span)} is not a Span of start, end and score"
    start, end, score = span
    try:
        start, end = index(start), index(end)
    except TypeError:
        return f"{_shorten_value(span)}: a span begins and ends at whole numbers of characters"
    if not 0 <= start <= end <= length:
        return f"a span [{start}, {end}) in a text of {length} characters"
    return _score_complaint(score, bounds)


def _shorten_value(value: Any) -> str:
    try:
        return shorten(repr(value))
    except Exception:  # noqa: BLE001 - the repr of a recipe's own class may raise anything
        return f"an object of type {type(value).__name__}"
