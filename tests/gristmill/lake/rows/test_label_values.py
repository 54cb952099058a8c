"""Labels before they are written: what passes as a whole passes one by one, and is read back as it was."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.lake.rows.attribute import encode_row, parse_rows, round_score, written_spans
from gristmill.lake.rows.document import Span
from gristmill.lake.rows.label_values import Kind, LabelRange, first_wrong_label, is_label_name, listed_spans

ANY = LabelRange()
NUMBERS = st.floats(allow_nan=True) | st.integers() | st.booleans() | st.sampled_from([0, 0.5, 1, 2**64, -(2**63) - 1])
SPAN = st.tuples(st.integers(-1, 5), st.integers(-1, 5), NUMBERS).map(lambda each: Span(*each)) | st.lists(
    NUMBERS, min_size=2, max_size=4
)
VALUES = st.none() | NUMBERS | st.text(max_size=3) | st.lists(SPAN | NUMBERS, max_size=3) | st.just({"a": 1.0})


@given(
    st.lists(VALUES, max_size=5) | st.lists(st.floats(0, 1), max_size=5) | st.lists(st.lists(SPAN), max_size=3),
    st.sampled_from([None, "score", "spans"]),
    st.sampled_from([ANY, LabelRange(0), LabelRange(None, 1), LabelRange(0, 1)]),
    st.booleans(),
)
def test_a_batch_is_judged_as_its_labels_one_by_one(
    labels: list[Any],
    kind: Kind | None,
    bounds: LabelRange,
    optional: bool,  # noqa: FBT001 - hypothesis gives it
) -> None:
    singly = [first_wrong_label([label], [3], kind, bounds, optional=optional) for label in labels]
    first = next(((number, found[1]) for number, found in enumerate(singly) if found), None)
    assert first_wrong_label(labels, [3] * len(labels), kind, bounds, optional=optional) == first
    if first is None:
        for label in labels:
            assert comes_back(label)


def comes_back(label: Any) -> bool:
    """Whether a label is read back from the row that it is written to, with scores of five decimals."""
    if label is None:
        return True
    spans = label if isinstance(label, list) else [(0, 3, label)]
    line = encode_row("a", "s", {"x-1__y": written_spans(spans)})
    [row] = parse_rows([line], "x-1", "a.jsonl", 0)
    return row.labels["y"] == [(start, end, float(round_score(score))) for start, end, score in spans]


@pytest.mark.parametrize(
    ("label", "kind", "complaint"),
    [
        (math.nan, None, "a score of nan: scores are finite numbers; give None for a document without a score"),
        (-math.inf, "score", "a score of -inf"),
        (10**400, None, "an integer of 1,329 bits: a score has at most 64"),
        (Fraction(10**400), None, "is not a number"),
        ("high", None, "'high' is not a number"),
        ("high", "spans", "'high' is not a list of spans"),
        (0.5, "spans", "0.5 is not a list of spans"),
        ((Span(0, 1, 1.0),), None, "(Span(start=0, end=1, score=1.0),) is not a number"),
        ([Span(0, 1, 1.0)], "score", "a list of 1 spans, and it is declared as a Score"),
        (None, "score", "it is missing, and it is not declared optional=True"),
        (-0.1, "score", "-0.1 is below 0.0"),
        (1.1, "score", "1.1 is above 1.0"),
        ([Span(0, 1, 1.0), Span(1, 2, 7.0)], "spans", "7.0 is above 1.0"),
        ([7], "spans", "7 is not a Span of start, end and score"),
        (["abc"], "spans", "'abc' is not a Span of start, end and score"),
        ([(0, 1)], "spans", "(0, 1) is not a Span of start, end and score"),
        ([Span(0, 1.5, 1.0)], "spans", "begins and ends at whole numbers of characters"),  # type: ignore[arg-type]
        ([Span(-1, 1, 1.0)], "spans", "a span [-1, 1) in a text of 3 characters"),
        ([Span(2, 1, 1.0)], None, "a span [2, 1) in a text of 3 characters"),
        ([Span(0, 4, 1.0)], None, "a span [0, 4) in a text of 3 characters"),
        ([Span(0, 1, math.nan)], "spans", "a score of nan"),
        ([Span(0, 1, "x")], "spans", "'x' is not a number"),  # type: ignore[arg-type]
    ],
)
def test_a_label_that_is_wrong_is_told_with_its_number(label: Any, kind: Kind | None, complaint: str) -> None:
    good: Any = [] if kind == "spans" or (kind is None and isinstance(label, list)) else 1.0
    found = first_wrong_label([good, good, label], [3, 3, 3], kind, LabelRange(0, 1) if kind else ANY, optional=False)
    assert found is not None
    assert found[0] == 2
    assert complaint in found[1]


def test_numbers_of_other_libraries_are_numbers() -> None:
    for scores in (list(np.array([0.5, 1.0])), [np.float32(0.5)], [np.int64(1)], [Decimal("0.5")], [Fraction(1, 2)]):
        assert first_wrong_label(scores, [3] * len(scores), "score", LabelRange(0, 1), optional=False) is None
    spans = [Span(np.int64(0), np.int64(3), np.float64(0.5))]  # type: ignore[arg-type]
    assert first_wrong_label([spans], [3], "spans", LabelRange(0, 1), optional=False) is None


def test_a_score_that_is_written_as_its_bound_is_in_the_range() -> None:
    assert round_score(1.0000000000000002) == 1.0
    assert LabelRange(0, 1).score_fault(1.0000000000000002) == ""
    assert LabelRange(0, 1).score_fault(1.00001) == "1.00001 is above 1.0"
    assert LabelRange(0, 1).score_fault(-0.00001) == "-1e-05 is below 0.0"


def test_finite_scores_whose_sum_is_not_pass() -> None:
    assert first_wrong_label([1.7e308, 1.7e308], [3, 3], "score", ANY, optional=False) is None


def test_a_value_that_cannot_be_shown_is_told_by_its_type() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise LookupError

    assert first_wrong_label([Shy()], [3], None, ANY, optional=True) == (0, "an object of type Shy is not a number")


@pytest.mark.parametrize("name", ["", "a b", "a\tb", "a\n", "\ud800", " ", "a\u00a0b", 7, None, True])
def test_a_name_with_white_space_or_that_is_no_string_names_no_label(name: object) -> None:
    assert not is_label_name(name)
    assert is_label_name("pii__email")
    assert is_label_name("Größe")


def test_spans_belong_to_their_own_text_if_others_have_none() -> None:
    labels = [None, [Span(0, 5, 1.0)]]
    assert first_wrong_label(labels, [2, 5], "spans", ANY, optional=True) is None
    assert first_wrong_label(labels, [5, 2], "spans", ANY, optional=True) == (
        1,
        "a span [0, 5) in a text of 2 characters",
    )


@pytest.mark.parametrize(
    ("spans", "complaint"),
    [
        (np.array([[0, 4, 1], [4, 4, 1]]), ""),
        (np.zeros((0, 3), np.int64), ""),
        (np.array([[0, 4, 1]], np.int32), ""),
        (np.array([[0, 5, 1]]), "a span [0, 5) in a text of 4 characters"),
        (np.array([[-1, 4, 1]]), "a span [-1, 4) in a text of 4 characters"),
        (np.array([[3, 2, 1]]), "a span [3, 2) in a text of 4 characters"),
        (np.array([[0, 4, 2]]), "2.0 is above 1.0"),
        (np.array([[0, 4]]), "(0, 4) is not a Span of start, end and score"),
        (np.array([0, 4, 1]), "0 is not a Span of start, end and score"),
        (np.array([[0.0, 4.0, 1.0]]), ""),
        (np.array([[0.0, 5.0, 1.0]]), "a span [0, 5) in a text of 4 characters"),
        (np.array([[0.5, 4.0, 1.0]]), "(0.5, 4.0, 1.0): a span begins and ends at whole numbers of characters"),
        (np.array([[0.0, 4.0, np.nan]]), "(0.0, 4.0, nan): a span begins and ends at whole numbers of characters"),
    ],
)
def test_arrays_of_spans_are_judged_as_lists_are(spans: Any, complaint: str) -> None:
    labels = [np.array([[0, 2, 1]]), spans]
    found = first_wrong_label(labels, [2, 4], "spans", LabelRange(1, 1), optional=False)
    assert found == ((1, complaint) if complaint else None)
    assert found == first_wrong_label(
        [listed_spans(label) for label in labels], [2, 4], "spans", LabelRange(1, 1), optional=False
    )
    assert first_wrong_label([None, *labels], [9, 2, 4], "spans", LabelRange(1, 1), optional=True) == (
        (2, complaint) if complaint else None
    )
    assert first_wrong_label(labels, [2, 4], "score", LabelRange(), optional=False) is not None
