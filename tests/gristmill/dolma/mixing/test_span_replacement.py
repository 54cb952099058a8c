"""Replacing spans: the same as the loop over code points that Dolma's mixer is."""

from collections.abc import Sequence

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.dolma.mixing.span_replacement import Replacement, replace_spans


def by_code_points(text: str, replacements: Sequence[Replacement]) -> str:
    """The loop of Dolma's `src/shard.rs`, one code point at a time."""
    spans = sorted(replacements, key=lambda span: span.start)
    out, number, begin = "", 0, 0
    for at, character in enumerate(text):
        if number == len(spans):
            out += character
            continue
        if at == spans[number].start:
            begin = at
        if spans[number].start <= at < spans[number].end:
            continue
        if at == spans[number].end:
            out += spans[number].text.replace("{}", text[begin:at])
            while number < len(spans) and spans[number].start < at:
                number += 1
        if number < len(spans) and spans[number].start == at:
            begin = at
        else:
            out += character
    return out + (spans[number].text.replace("{}", text[begin:]) if number < len(spans) else "")


SPANS = st.builds(Replacement, st.integers(0, 12), st.integers(0, 12), st.sampled_from(["", "X", "[{}]"]))


@pytest.mark.slow
@settings(max_examples=draws(300))
@given(st.text(alphabet="abé😀", max_size=12), st.lists(SPANS, max_size=5))
def test_it_is_the_loop_of_dolma(text: str, spans: list[Replacement]) -> None:
    inside = [span for span in spans if max(span.start, span.end) <= len(text)]
    assert replace_spans(text, inside) == by_code_points(text, inside)


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], "abcdef"),
        ([(2, 4, "")], "abef"),
        ([(4, 5, "Y"), (0, 2, "X")], "XcdYf"),
        ([(0, 4, "X"), (1, 2, "Y")], "Xef"),
        ([(0, 4, "X"), (2, 6, "Y")], "Xef"),
        ([(0, 2, "X"), (2, 4, "Y")], "XYef"),
        ([(3, 6, "<{}>")], "abc<def>"),
        ([(2, 2, "X"), (4, 5, "Y")], "abXdefX"),  # the code point behind an empty span, and later spans, are lost
    ],
)
def test_cases_by_hand(spans: list[tuple[int, int, str]], expected: str) -> None:
    assert replace_spans("abcdef", [Replacement(*span) for span in spans]) == expected
