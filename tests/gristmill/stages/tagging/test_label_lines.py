from typing import Any

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.attribute import encode_row, exact_spans, round_score, written_spans
from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Column, Score, Tagger
from gristmill.stages.tagging.label_lines import LabelLines


def plain(documents: list[Document], labels: list[tuple[str, Column, bool]]) -> bytes:
    """The slow way: row by row, with `encode_row`."""
    lines: list[bytes] = []
    for number, document in enumerate(documents):
        attributes: dict[str, Any] = {}
        for key, column, exact in labels:
            label = (column.tolist() if isinstance(column, np.ndarray) else column)[number]
            if label is not None:
                whole = (0, len(document.text), label)
                spans: list[Any] = label if isinstance(label, list) else [whole]
                if exact:
                    attributes[key] = exact_spans(spans)
                else:
                    attributes[key] = (
                        written_spans(spans) if isinstance(label, list) else [[*whole[:2], round_score(label)]]
                    )
        lines.append(encode_row(document.id, document.source, attributes) + b"\n")
    return b"".join(lines)


FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1),
    st.integers(0, 10_000).map(float),
    st.tuples(st.integers(0, 10**6), st.sampled_from([2e5, 2e6, 4e5])).map(lambda pair: pair[0] / pair[1]),
    st.sampled_from([0.0, -0.0, -1e-6, 1e-5, 5e-6, 1.000005, 1e16, 1e22, 5e-324, 0.1 + 0.2]),
)
SPANS = st.lists(
    st.builds(Span, st.integers(0, 9), st.integers(0, 9), st.one_of(FLOATS, st.integers(0, 9))), max_size=3
)
FORMS = ("floats", "masked", "few", "integers", "optional", "spans", "mixed", "big")


def column(draw: st.DrawFn, form: str, count: int) -> Column:
    def many(of: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(of, min_size=count, max_size=count))

    match form:
        case "floats":
            return np.array(many(FLOATS), np.float64)
        case "masked":
            return np.ma.MaskedArray(np.array(many(FLOATS), np.float64), mask=np.array(many(st.booleans()), np.bool_))
        case "few":
            scores = {place: draw(FLOATS) for place in draw(st.sets(st.integers(0, max(count - 1, 0)), max_size=count))}
            batch = Batch.of([Document(id=str(n), text="", source="w") for n in range(count)])
            return batch.scored({"x": scores})["x"]
        case "integers":
            return np.array(many(st.integers(-(2**63), 2**63 - 1)), np.int64)
        case "optional":
            return many(st.one_of(FLOATS, st.none()))
        case "spans":
            return many(st.one_of(SPANS, st.none(), st.just([])))
        case "big":
            return many(st.integers(-(2**63), 2**64 - 1))
    return many(st.one_of(FLOATS, SPANS, st.none(), st.booleans(), st.integers(0, 9)))


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[Document], list[tuple[str, Column, bool]]]:
    texts = draw(st.lists(st.text(max_size=12), max_size=5))
    name = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    documents = [Document(id=f"{draw(name)}{n}", text=text, source=draw(name)) for n, text in enumerate(texts)]
    forms = draw(st.lists(st.tuples(st.sampled_from(FORMS), st.booleans()), max_size=5))
    labels = [(f"sét-1__{n}", column(draw, form, len(texts)), exact) for n, (form, exact) in enumerate(forms)]
    return documents, labels


@pytest.mark.slow
@settings(max_examples=draws(150))
@given(batches())
def test_the_bytes_are_those_of_rows_encoded_one_by_one(
    batch: tuple[list[Document], list[tuple[str, Column, bool]]],
) -> None:
    documents, labels = batch
    assert LabelLines(Batch.of(documents)).encode(labels) == plain(documents, labels)


def test_the_first_label_that_a_row_has_takes_no_comma() -> None:
    lines = LabelLines(Batch.of([Document(id=id_, text="mill", source="w") for id_ in "ab"]))
    masked = np.ma.MaskedArray(np.array([1.0, 2.0]), mask=np.array([True, False]))
    assert lines.encode([("s__x", masked, False), ("s__y", [3.0, None], False)]) == (
        b'{"id":"a","source":"w","attributes":{"s__y":[[0,4,3.0]]}}\n'
        b'{"id":"b","source":"w","attributes":{"s__x":[[0,4,2.0]]}}\n'
    )
    assert lines.encode([]) == b'{"id":"a","source":"w","attributes":{}}\n{"id":"b","source":"w","attributes":{}}\n'


def test_labels_of_few_rows_stand_between_labels_of_all_in_their_order() -> None:
    batch = Batch.of([Document(id=id_, text="mill", source="w") for id_ in "ab"])
    few = batch.scored({"x": {0: 1.0}, "y": {0: 2.0, 1: 3.0}, "z": {}})
    columns: list[tuple[str, Column]] = [("x", few["x"]), ("y", few["y"]), ("all", [4.0, 5.0]), ("z", few["z"])]
    columns += [("spans", [None, [Span(0, 1, 6)]])]
    assert LabelLines(batch).encode([(name, column, False) for name, column in columns]) == (
        b'{"id":"a","source":"w","attributes":{"x":[[0,4,1.0]],"y":[[0,4,2.0]],"all":[[0,4,4.0]]}}\n'
        b'{"id":"b","source":"w","attributes":{"y":[[0,4,3.0]],"all":[[0,4,5.0]],"spans":[[0,1,6]]}}\n'
    )


def test_what_is_masked_may_be_no_number() -> None:
    lines = LabelLines(Batch.of([Document(id="a", text="", source="w")]))
    masked = np.ma.MaskedArray(np.array([np.nan]), mask=np.array([True]))
    assert lines.encode([("s__x", masked, False)]) == b'{"id":"a","source":"w","attributes":{}}\n'


@pytest.mark.parametrize(
    "values", [np.array([1, 0], ">i4"), np.array([True, False]), np.array([0.5, 0.1], np.float32), np.array([0.5, 0.1])]
)
def test_arrays_of_all_kinds_are_written_as_their_lists(values: np.ndarray[Any, Any]) -> None:
    documents = [Document(id=id_, text="mill", source="w") for id_ in "ab"]
    columns: list[Column] = []
    for given_values in (values, values.tolist()):
        tagger = Tagger(name="s-1", batch=lambda _, x=given_values: {"x": x}, labels=(Score("x", "x"),))  # type: ignore[misc]
        columns.append(tagger.columns(documents)["x"])
    first, second = (LabelLines(Batch.of(documents)).encode([("s-1__x", each, False)]) for each in columns)
    assert first == second


def test_an_array_of_spans_is_written_as_its_list() -> None:
    batch = Batch.of([Document(id=each, text="mill", source="s") for each in "abc"])
    whole = np.array([[0, 9, 2, 9, 1], [2, 9, 4, 9, 1]])[:, ::2]  # its rows do not lie together in memory
    column: Any = [whole, np.zeros((0, 3), np.int64), None]
    other: Any = [whole.astype(np.int32), [], None]
    listed: Any = [[(0, 2, 1), (2, 4, 1)], [], None]
    lines = LabelLines(batch)
    assert lines.encode([("k", column, False)]) == lines.encode([("k", listed, False)])
    assert lines.encode([("k", other, True)]) == lines.encode([("k", listed, True)])
