import re
from itertools import pairwise

import numpy as np
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.code_points import CodePoints
from gristmill.text.unicode.tables import property_table
from gristmill.text.unicode.unicode_words import UnicodeWords

NAMES = (
    *("ALetter", "Hebrew_Letter", "Numeric", "Katakana", "ExtendNumLet", "MidLetter", "MidNum", "MidNumLet"),
    *("Single_Quote", "Double_Quote", "WSegSpace", "CR", "LF", "Newline", "Extend", "Format", "ZWJ"),
    *("Extended_Pictographic", "Regional_Indicator"),
)
SIGN = {name: chr(ord("A") + number) for number, name in enumerate(NAMES)}
CLASSES = property_table("word_break.txt", {name: number + 1 for number, name in enumerate(NAMES) if number != 17} | {
    "Extended_Pictographic": 32
})  # fmt: skip
ALPHABET = (
    "ab1\u0663 .,'\":;_\n\r\u0301\u200d\u00ad\u202f\u05d0\u05d1\u30ab\u30fc\u6f22"
    "\U0001f1e9\U0001f1ea\U0001f469\u0e44\t\u2028\u24c2"
)


def pieces_of(text: str) -> list[str]:
    """UAX #29 as regular expressions over the names of classes: slow, and close to the wording of the standard."""
    classes = [int(CLASSES[ord(c)]) for c in text]
    signs = [SIGN[NAMES[c % 32 - 1]] if c % 32 else "#" for c in classes]
    ah, mid, num = "[AB]", "[FHI]", "[GHI]"
    newline, ignored = re.compile(f"[{SIGN['CR']}{SIGN['LF']}{SIGN['Newline']}]"), re.compile("[OPQ]")
    cuts = [0]
    for at in range(1, len(text)):
        before, here = signs[at - 1], signs[at]
        if before == SIGN["CR"] and here == SIGN["LF"]:
            continue
        if newline.match(before) or newline.match(here):
            cuts.append(at)
            continue
        if before == SIGN["ZWJ"] and classes[at] & 32:
            continue
        if before == here == SIGN["WSegSpace"] or ignored.match(here):
            continue
        left = "".join(s for s in signs[:at] if not ignored.match(s))
        right = "".join(s for s in signs[at:] if not ignored.match(s))
        joined = any(
            re.search(f"(?:{one})$", left) and re.match(other, right)
            for one, other in (
                (ah, ah), (ah, f"{mid}{ah}"), (f"{ah}{mid}", ah), ("B", "I"), ("B", "JB"), ("BJ", "B"), ("C", "C"),
                (ah, "C"), ("C", ah), (f"C{num}", "C"), ("C", f"{num}C"), ("D", "D"), ("[ABCDE]", "E"), ("E", "[ABCD]"),
                ("(?<!S)(?:SS)*S", "S"),
            )
        )  # fmt: skip
        if not joined:
            cuts.append(at)
    return [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)] if text else []


def divided(texts: list[str]) -> list[list[str]]:
    pieces = UnicodeWords.of(CodePoints.of(texts))
    lengths = [pieces.lengths[a:b].tolist() for a, b in pairwise(pieces.bounds)]
    ends = [np.cumsum([0, *row]).tolist() for row in lengths]
    return [[text[a:b] for a, b in pairwise(row)] for text, row in zip(texts, ends, strict=True)]


def test_a_sentence_of_the_standard_is_divided_as_it_says() -> None:
    text = "The quick (\u201cbrown\u201d) fox can\u2019t jump 32.3 feet, right?"
    expected = "The| |quick| |(|\u201c|brown|\u201d|)| |fox| |can\u2019t| |jump| |32.3| |feet|,| |right|?"
    assert "|".join(divided([text])[0]) == expected


def test_flags_are_pairs_and_families_are_one() -> None:
    flags, family = "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1ee", "\U0001f469\u200d\U0001f466"
    assert [list(map(len, row)) for row in divided([flags, family])] == [[2, 2, 1], [3]]


@settings(max_examples=draws(60))
@given(st.lists(st.text(ALPHABET, max_size=12), min_size=1, max_size=8))
def test_pieces_are_those_of_the_rules(texts: list[str]) -> None:
    assert divided(texts) == [pieces_of(text) for text in texts]


@settings(max_examples=draws(60))
@given(st.text(ALPHABET, max_size=12))
def test_a_stretch_within_white_space_is_divided_as_if_alone(text: str) -> None:
    alone = text.strip()
    head = len(text) - len(text.lstrip())
    pieces = UnicodeWords.of(CodePoints.of(["before", text]))
    starts, ends = np.array([7 + head]), np.array([7 + head + len(alone)])
    assert pieces.count_pieces_within(starts, ends).tolist() == [len(pieces_of(alone))]
    words = [piece for piece in pieces_of(alone) if piece.strip()]
    assert pieces.count_pieces_within(starts, ends, filled=True).tolist() == [len(words)]
