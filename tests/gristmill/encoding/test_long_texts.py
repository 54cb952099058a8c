from collections.abc import Iterator

import pytest
from tinybpe import EOS, by_the_book, raw, rows
from tokenizers import Tokenizer

from gristmill.encoding.encoder import Encoder
from gristmill.encoding.long_texts import cut
from gristmill.recipes.tokenizer import TokenizerOptions


def pieces_of_runs(text: str) -> Iterator[str]:
    """Cut as Levanter does, told apart by hand: text = word run of 60,000, 30,000 spaces, 100 letters."""
    yield from (text[:25_000], text[25_000:50_000], text[50_000:60_000])
    yield from (text[60_000:85_000], text[85_000:90_000])
    yield text[90_000:]


def test_runs_of_25000_characters_are_cut_and_encoded_apart(small: Tokenizer) -> None:
    text = "the" * 20_000 + " " * 30_000 + "the" * 33 + "t"
    expected = [part for piece in pieces_of_runs(text) for part in small.encode(piece).ids]
    assert rows(Encoder(raw(small), TokenizerOptions(eos=None)), [text]) == [expected]


@pytest.mark.parametrize(("run", "around"), [("\t", "a a"), ("y", " a ")])
@pytest.mark.parametrize("before", [0, 1, 12_499, 12_500, 12_501, 24_999, 37_499])
def test_a_run_of_exactly_25000_is_found_wherever_it_stands(run: str, around: str, before: int) -> None:
    prefix = (around[1:] * before)[before:]
    text = prefix + run * 25_000 + around * 9
    assert list(cut(text, marin=False)) == [piece for piece in (prefix, run * 25_000, around * 9) if piece]
    shorter = prefix + run * 24_999 + around * 9
    assert list(cut(shorter, marin=False)) == [shorter]


@pytest.mark.slow
def test_runs_below_25000_characters_are_whole(small: Tokenizer) -> None:
    text = "ab" * 12_499 + "a " + "ab" * 12_499
    assert rows(Encoder(raw(small), TokenizerOptions(eos=None)), [text]) == [small.encode(text).ids]


def test_marin_cuts_before_the_first_white_space_after_each_10000_characters(small: Tokenizer) -> None:
    # \x1c is white space for Python but not for Marin; the cut falls at the two spaces behind it.
    text = "x" * 10_000 + "\x1cy" + "  " + "z" * 10_000 + "w \u2003" + "v" * 5
    expected: list[int] = []
    for piece in (text[:10_002], text[10_002:20_005], text[20_005:]):
        expected += small.encode(piece).ids
    assert [len(text[:10_002]), text[10_002], text[20_005]] == [10_002, " ", " "]
    assert rows(Encoder(raw(small), TokenizerOptions(eos=None, long_strings="marin")), [text]) == [expected]


def test_marin_leaves_texts_of_up_to_10000_characters_with_their_eos_whole(small: Tokenizer) -> None:
    encoder = Encoder(raw(small), TokenizerOptions(eos=EOS, long_strings="marin"))
    text = "a b  c " * 1_426 + "abcd"
    assert len(f"{text} {EOS}") == 10_000
    assert rows(encoder, [text]) == [by_the_book(small, text, eos=EOS, bos=None)]
