# ruff: noqa: RUF001 - letters that look alike are what is tested
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.lists.folded import Folded

Folded.of("e\u0301İ")  # makes its tables, which the first example should not wait for
MIXED = st.lists(
    st.sampled_from(
        [*"aE\u0301\u0327İßẞςΣſK \u0958Å", "각", "\u1100", "\u1161", "\u11a8", "\ud800", "😀", "カ", "\u3099"]
    ),
    max_size=12,
).map("".join)


def fold(text: str) -> str:
    """By definition: NFC, then one code point for each."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(
        {"ς": "σ", "ſ": "s"}.get(c, c.lower()[0]) if not "\ud800" <= c <= "\udfff" else "\ufffd" for c in composed
    )


@given(MIXED)
@settings(max_examples=60)
def test_a_folded_text_is_composed_and_of_one_case(text: str) -> None:
    folded = Folded.of(text)
    assert folded.text == fold(text).replace("ς", "σ")
    assert folded.original_offset(0) == 0
    assert folded.original_offset(len(folded.text)) == len(text)


@given(MIXED, MIXED, MIXED)
@settings(max_examples=60)
def test_offsets_lead_back_to_the_text(before: str, word: str, after: str) -> None:
    text = f"{before} {word} {after}"  # nothing joins a space
    folded = Folded.of(text)
    start = len(Folded.of(before + " ").text)
    end = start + len(Folded.of(word).text)
    assert text[folded.original_offset(start) : folded.original_offset(end)] == word


@pytest.mark.parametrize(
    ("one", "other"), [("İ", "i"), ("ΟΔΟΣ", "οδος"), ("ſ", "S"), ("ẞ", "ß"), ("Cafe\u0301", "CAFÉ")]
)
def test_letters_that_are_the_same(one: str, other: str) -> None:
    assert Folded.of(one).text == Folded.of(other).text


def test_letters_that_are_not_the_same() -> None:
    assert Folded.of("ß").text != Folded.of("ss").text
