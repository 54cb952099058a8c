r"""Tokens are those of the regular expression `\w+|[^\w\s]+`."""

import re

import numpy as np
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.characters.sets import uppercase_characters
from gristmill.text.characters.word_punctuation import WordsAndPunctuation
from gristmill.text.code_points import CodePoints

TEXTS = st.text(
    st.one_of(st.sampled_from("aB_.,' \n\x1f\u2028É¾٣𐐀人"), st.characters(max_codepoint=0x3000)), max_size=30
)


@settings(max_examples=draws(100))
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_tokens_are_those_of_the_regular_expression(texts: list[str]) -> None:
    tokens = WordsAndPunctuation.of(CodePoints.of(texts))
    expected = [re.findall(r"\w+|[^\w\s]+", text) for text in texts]
    units = "".join(text + "\n" for text in texts)
    assert [units[a:b] for a, b in zip(tokens.starts, tokens.ends, strict=True)] == [
        token for each in expected for token in each
    ]
    assert tokens.counts.tolist() == list(map(len, expected))
    words = [re.match(r"\w", token) is not None for each in expected for token in each]
    assert tokens.are_words.tolist() == words
    capital = [any(map(str.isupper, token)) for each in expected for token in each]
    assert tokens.bits_in_tokens(uppercase_characters().table.view(np.uint8)).tolist() == capital
