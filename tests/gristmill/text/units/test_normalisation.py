"""The named normalisations: their vectors must never change."""

import unicodedata

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.characters.scripts import spaceless_blocks
from gristmill.text.unicode.tables import MARK, WORD, character_flags
from gristmill.text.units.normalisation import lower_case_table, normalise_text, words_text

VECTORS = [
    ("", "", ""),
    (" \t\n", "", ""),
    ("To  be,\r\nor not", "To be, or not", "to be or not"),
    ("Don't STOP_it!", "Don't STOP_it!", "don t stop it"),
    ("3.5 ÷ 2", "3.5 ÷ 2", "3 5 2"),
    ("\u00a0É\u2003e\u0301\u3000", "É e\u0301", "é e\u0301"),
    ("ΟΔΟΣ İZMİR", "ΟΔΟΣ İZMİR", "οδο\u03c3 izmir"),
    ("日本, TEA ไป", "日本, TEA ไป", "日 本 tea ไ ป"),
    ("a\ud800b \u0378\U0001e4d0", "a\ud800b \u0378\U0001e4d0", "a b"),
    ("😀 ok", "😀 ok", "ok"),
    ("a\u200cb c\u200dd e\u200bf", "a\u200cb c\u200dd e\u200bf", "a\u200cb c\u200dd e f"),
]


@pytest.mark.parametrize(("text", "white_space", "words"), VECTORS)
def test_vectors(text: str, white_space: str, words: str) -> None:
    assert normalise_text(text, "") == text
    assert normalise_text(text, "white-space-1") == white_space
    assert normalise_text(text, "words-1") == words


def plain_words(text: str) -> str:
    flags, found = character_flags(), []
    for each in text:
        if not flags[ord(each)] & WORD or flags[ord(each)] & MARK or unicodedata.category(each) == "Cn":
            found.append(" ")
        elif any(first <= ord(each) <= last for first, last in spaceless_blocks()):
            found.append(f" {each} ")
        else:
            found.append(each.lower()[0])
    return " ".join("".join(found).split())


@settings(max_examples=draws(150))
@given(st.text(st.one_of(st.characters(max_codepoint=0x1FFF), st.characters(), st.sampled_from("日本ไ \n,A"))))
def test_words_are_those_of_a_plain_loop(text: str) -> None:
    found = normalise_text(text, "words-1")
    if all(ord(each) < 0x110000 and unicodedata.category(each) != "Cn" for each in text):
        assert found == plain_words(text)
    assert normalise_text(found, "words-1") == found
    assert words_text(text).count("\n") == text.count("\n")


def test_only_the_first_two_planes_have_a_lower_case() -> None:
    others = "".join(map(chr, range(0x20000, 0x110000)))
    assert others.lower() == others


def test_lower_case_is_one_code_point_for_each() -> None:
    assert lower_case_table()[[ord(each) for each in "Aé_ \n"]].tolist() == [ord(each) for each in "aé  \n"]
