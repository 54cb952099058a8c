import json

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from marked import edited, row, texts
from spancases import AN_ERROR, SpanCase, span_cases
from spancases import EDITS as WORKED

from gristmill.dolma.mixing.span_replacement import Replacement, replace_spans
from gristmill.errors import DataError
from gristmill.recipes.edits.edit import Edit
from gristmill.stages.mixing.edits.stretches import SpanOutside, apply_edits, edited_stretches

EDITS = (
    Edit(spans="pii-1__a", replacement="<A>"),
    Edit(spans="pii-1__b", mask="*", least=0.5),
    Edit(spans="pii-1__c", replacement="", below=0.5),
)
TEXTS = st.text(st.sampled_from('abé\n"\\漢𝒳😀\u2028'), min_size=0, max_size=14)


@st.composite
def marked_texts(draw: st.DrawFn) -> tuple[str, list[list[tuple[int, int, float]]]]:
    text = draw(TEXTS)
    at = st.integers(0, len(text))
    span = st.tuples(at, at, st.sampled_from([0.0, 0.5, 1.0])).map(lambda s: (min(s[:2]), max(s[:2]), s[2]))
    return text, draw(st.lists(st.lists(span, max_size=4), min_size=3, max_size=3))


def by_code_points(text: str, marked: list[list[tuple[int, int, float]]]) -> str:
    """The slow way: groups of spans grow until none overlaps another, and the first span of each decides."""
    bounds = ((None, None), (0.5, None), (None, 0.5))
    spans = [
        (start, number, end)
        for number, ((low, high), found) in enumerate(zip(bounds, marked, strict=True))
        for start, end, score in found
        if start < end and (low is None or score >= low) and (high is None or score < high)
    ]
    group = {at: {at} for at in range(len(spans))}
    for one, (a, _, b) in enumerate(spans):
        for other, (c, _, d) in enumerate(spans):
            if set(range(a, b)) & set(range(c, d)):
                joined = group[one] | group[other]
                for each in joined:
                    group[each] = joined
    out = ""
    for at, character in enumerate(text):
        over = [n for n, (start, _, end) in enumerate(spans) if start <= at < end]
        if not over:
            out += character
            continue
        first = min(spans[n] for n in group[over[0]])
        is_first = at == first[0]
        out += {0: "<A>" if is_first else "", 1: "*", 2: ""}[first[1]]
    return out


@pytest.mark.slow
@settings(max_examples=draws(150))
@given(marked_texts())
def test_any_spans_change_the_text_as_the_slow_way_does(case: tuple[str, list[list[tuple[int, int, float]]]]) -> None:
    text, marked = case
    assert apply_edits(text, EDITS, edited_stretches(EDITS, marked, len(text))) == by_code_points(text, marked)


@settings(max_examples=draws(60))
@given(marked_texts())
def test_the_first_spans_change_the_text_as_dolmas_mixer_does(
    case: tuple[str, list[list[tuple[int, int, float]]]],
) -> None:
    text, marked = case
    edits = [Edit(spans=f"pii-1__{label}", replacement=f"<{label}>") for label in "abc"]
    spans = [
        Replacement(start, end, edit.replacement or "")
        for edit, found in zip(edits, marked, strict=True)
        for start, end, _ in found
        if start < end
    ]
    assert apply_edits(text, edits, edited_stretches(edits, marked, len(text), "first")) == replace_spans(text, spans)


@settings(max_examples=draws(40))
@given(marked_texts(), st.booleans())
def test_only_the_value_of_the_text_changes_in_a_row(
    case: tuple[str, list[list[tuple[int, int, float]]]],
    ascii_only: bool,  # noqa: FBT001 - drawn
) -> None:
    text, marked = case
    metadata = '{ "text" : "abé", "n":1e0,"big":123456789012345678901234567890}'
    before = '{"metadata":' + metadata + ', "id": "d1", "text" : '
    line = (before + json.dumps(text, ensure_ascii=ascii_only) + ' ,"source":"pages"}').encode()
    block = edited([line], [dict(zip("abc", marked, strict=True))], edits=EDITS)
    after = by_code_points(text, marked)
    assert texts(block) == [after]
    kept = block.kept_rows()[0].rstrip(b"\n")
    if after == text:
        assert kept == line
    assert kept.startswith(before.encode())
    assert kept.endswith(b' ,"source":"pages"}')


@pytest.mark.parametrize("span", [(-1, 2, 1.0), (0, 4, 1.0), (2, 1, 1.0), (4, 4, 1.0)])
def test_a_span_that_is_no_part_of_the_text_is_refused(span: tuple[int, int, float]) -> None:
    with pytest.raises(SpanOutside, match=r"has a span \[.* but the text has 3 code points"):
        edited_stretches(EDITS[:1], [[span]], 3)


def test_code_points_are_counted_and_neither_bytes_nor_utf_16() -> None:
    line = json.dumps(row("😀é me@x 漢")).encode()
    block = edited([line], [{"a": [[3, 7, 1]]}], edits=EDITS[:1])
    assert texts(block) == ["😀é <A> 漢"]


@pytest.mark.parametrize("case", span_cases(), ids=str)
def test_the_worked_cases_are_what_the_page_says(case: SpanCase) -> None:
    line = json.dumps(row(case.text)).encode()
    if case.ours == AN_ERROR:
        with pytest.raises(DataError, match="but the text has 6 code points"):
            edited([line], [case.labels], edits=WORKED)
    else:
        assert texts(edited([line], [case.labels], edits=WORKED)) == [case.ours]
