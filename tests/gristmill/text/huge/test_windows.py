import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.huge.windows import (
    Window,
    hash_of,
    line_windows,
    points_of,
    sentence_windows,
    strip_window,
    word_windows,
)
from gristmill.text.words import Words

TEXTS = st.lists(st.sampled_from(["a", "be", "längst", "𐐀", " ", "\n", "\n\n", "\x85", "\u2028", "x" * 12])).map(
    "".join
)


@settings(max_examples=draws(100))
@given(TEXTS, st.integers(1, 9))
def test_windows_cut_no_word_and_cover_the_text(text: str, size: int) -> None:
    windows = list(word_windows(text, size))
    pieces = [text[start:end] for start, end in windows]
    assert "".join(pieces) == text
    assert [word for piece in pieces for word in piece.split()] == text.split()
    assert all(len(piece) <= size or len(piece.split()) == 1 for piece in pieces)


@settings(max_examples=draws(100))
@given(TEXTS, st.integers(1, 9))
def test_windows_cut_no_line(text: str, size: int) -> None:
    pieces = [text[start:end] for start, end in line_windows(text, size)]
    assert [line for piece in pieces for line in piece.split("\n")] == text.split("\n")
    assert all(len(piece) <= size or "\n" not in piece for piece in pieces)


@settings(max_examples=draws(100))
@given(st.lists(st.sampled_from(["To be.", "Or", " ", "\n", "\r\n", "?"])).map("".join), st.integers(1, 9))
def test_windows_of_sentences_cover_the_text_and_end_after_a_line_or_a_sentence(text: str, size: int) -> None:
    pieces = [text[start:end] for start, end in sentence_windows(text, size)]
    assert "".join(pieces) == text
    assert all(piece.endswith(("\n", ". ", "? ")) for piece in pieces[:-1])


@settings(max_examples=draws(100))
@given(TEXTS, st.integers(0, 9), st.integers(0, 20))
def test_a_stretch_is_stripped_in_its_place(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    found = strip_window(text, Window(start, end))
    assert text[slice(*found)] == text[start:end].strip()
    assert start <= found.start <= found.end <= end


@pytest.mark.parametrize("text", ["mill one mill", "mühle mill 𐐀 mill"])
def test_hashes_of_two_windows_of_a_text_can_be_compared(text: str) -> None:
    first, *_, last = (Words.of(points_of(text, window)).hashes.tolist() for window in word_windows(text, 5))
    assert first[0] != last[0] or text.startswith("mill")
    assert last[0] == Words.of(points_of(f"{text} mill", Window(len(text) + 1, len(text) + 5))).hashes[0]


def test_huge_words_have_equal_hashes_if_they_are_equal() -> None:
    text = "abc abd abc"
    one, other, again = (hash_of(text, Window(start, start + 3)) for start in (0, 4, 8))
    assert one == again != other
