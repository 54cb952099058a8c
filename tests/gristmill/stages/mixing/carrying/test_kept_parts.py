"""Spans that are moved to a changed text, against a slow way that follows each code point."""

from itertools import pairwise
from random import Random

from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.recipes.edits.edit import Edit
from gristmill.stages.mixing.carrying.kept_parts import KeptPart, left_by_change, left_by_edits, move_spans
from gristmill.stages.mixing.edits.stretches import apply_edits, edited_stretches

EDITS = (Edit(spans="a-1__x", replacement=""), Edit(spans="b-1__x", replacement="<😀>"), Edit(spans="c-1__x", mask="*"))


def spans_of(random: Random, length: int, most: int = 4) -> list[tuple[int, int, float]]:
    bounds = [sorted((random.randint(0, length), random.randint(0, length))) for _ in range(random.randint(0, most))]
    return [(start, end, float(number)) for number, (start, end) in enumerate(bounds)]


def followed(text: str, marked: list[list[tuple[int, int, float]]], spans: list[tuple[int, int, float]]) -> list[str]:
    """The texts of the spans that no edit touches, each code point looked at by itself."""
    touched = {place for each in marked for start, end, _ in each for place in range(start, end)}
    inner = {place for place in touched if place - 1 in touched}  # an empty span before it is inside of a stretch
    kept: list[str] = []
    for start, end, _ in spans:
        if not touched & set(range(start, end)) and (start < end or start not in inner):
            kept.append(text[start:end])
    return kept


@settings(max_examples=draws(60))
@given(st.integers(0, 1 << 32))
def test_no_span_that_an_edit_touches_is_kept_and_all_others_have_their_texts(seed: int) -> None:
    random = Random(seed)
    text = "".join(random.choices("ab é😀漢\n", k=random.randint(0, 14)))
    marked = [[s for s in spans_of(random, len(text), 2) if s[0] < s[1]] for _ in EDITS]
    found = edited_stretches(EDITS, marked, len(text))
    after = apply_edits(text, EDITS, found)
    spans = [span for span in spans_of(random, len(text)) if span[0] < span[1]]
    kept = move_spans(spans, left_by_edits(EDITS, found, len(text)))
    assert [after[start:end] for start, end, _ in kept] == followed(text, marked, spans)
    assert {score for _, _, score in kept} <= {score for _, _, score in spans}


def test_an_empty_span_is_kept_between_stretches_and_not_inside_of_one() -> None:
    parts = left_by_edits(EDITS, edited_stretches(EDITS, [[(2, 5, 1.0)], [], []], 7), 7)
    assert move_spans([(place, place, 1.0) for place in range(8)], parts) == [
        (place, place, 1.0) for place in (0, 1, 2, 2, 3, 4)
    ]


@settings(max_examples=draws(60))
@given(st.integers(0, 1 << 32))
def test_what_a_change_kept_is_the_same_text_in_the_same_order(seed: int) -> None:
    random = Random(seed)
    words = ["the", "mill", "grinds", "é😀", "\n", "\n\n", " ", "  ", "wind"]
    text = "".join(random.choices(words, k=random.randint(0, 20)))
    pieces = [text[i : i + 3] for i in range(0, len(text), 3)]
    after = "".join(random.choice((piece, piece, piece, "", "new\n")) for piece in pieces)
    parts = left_by_change(text, after)
    assert all(text[a : a + length] == after[b : b + length] and length for a, b, length in parts)
    assert all(
        one.before + one.length <= two.before and one.after + one.length <= two.after for one, two in pairwise(parts)
    )
    assert left_by_change(text, text) == ([KeptPart(0, 0, len(text))] if text else [])


def test_lines_that_were_removed_and_spaces_that_were_joined_leave_the_rest() -> None:
    text = "Menu\nHome\nThe  mill grinds.\nMenu\nWrite to me@x  now.\n"
    after = "The mill grinds.\nWrite to me@x now.\n"
    start = text.index("me@x")
    [(begin, end, _)] = move_spans([(start, start + 4, 1.0)], left_by_change(text, after))
    assert after[begin:end] == "me@x"
    assert move_spans([(0, 4, 1.0), (start, start + 7, 1.0)], left_by_change(text, after)) == []
