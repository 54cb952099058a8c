"""Sets of characters are those of Python's methods, and of Unicode 14.0 whatever Python runs."""

import hashlib
import re
import unicodedata
from collections.abc import Callable

import numpy as np
import pytest

from gristmill.text.characters.sets import (
    NUMERIC_SINCE_15_1,
    SMALL_SINCE_15,
    Characters,
    alphanumeric_characters,
    digit_characters,
    numeric_characters,
    running_sums,
    small_letters,
    uppercase_characters,
)
from gristmill.text.code_points import LETTER, SPACE, CodePoints
from gristmill.text.unicode.assigned import assigned

EVERY = "".join(map(chr, range(0x110000)))
SETS: list[tuple[Callable[[], Characters], Callable[[str], object]]] = [
    (uppercase_characters, str.isupper),
    (small_letters, lambda each: not (each + "A").isupper()),
    (numeric_characters, str.isnumeric),
    (digit_characters, str.isdigit),
    (alphanumeric_characters, re.compile(r"\w").match),
]

DIGEST = "02bfa562d24b3e3664c5e03d8ea2aadf235e13c2a258f94629eb3c71c22b5b2e"


@pytest.mark.parametrize(("characters", "method"), SETS)
def test_a_set_is_what_the_method_says_of_each_character(
    characters: Callable[[], Characters], method: Callable[[str], object]
) -> None:
    changed = set(map(ord, SMALL_SINCE_15 + NUMERIC_SINCE_15_1))  # by later versions
    in_14 = sorted(set(np.flatnonzero(assigned()).tolist()) - changed)
    assert [bool(characters().table[n]) for n in in_14] == [bool(method(chr(n))) for n in in_14]
    assert not characters().table[~assigned()].any()


def test_all_sets_are_those_of_unicode_14_whatever_python_runs() -> None:
    """The digest was taken with Python 3.11, whose tables are those of Unicode 14.0."""
    kinds = CodePoints.of([EVERY]).kinds[:-1] & (SPACE | LETTER)
    tables = [kinds, *(characters().table for characters, _ in SETS)]
    assert hashlib.sha256(b"".join(table.tobytes() for table in tables)).hexdigest() == DIGEST


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="another Python knows other code points")
def test_the_assigned_code_points_are_those_of_this_python() -> None:
    assert assigned().tolist() == [unicodedata.category(each) != "Cn" for each in EVERY]


@pytest.mark.parametrize("texts", [["To Be", "OR"], ["ÄÖx"], ["𐐀A", "Ωω"], [""]])
def test_counts_are_the_same_in_columns_of_each_width(texts: list[str]) -> None:
    column = CodePoints.of(texts)
    assert uppercase_characters().count(column).tolist() == [sum(map(str.isupper, text)) for text in texts]
    assert Characters.of("xA", [(0x3C9, 0x3CA)]).among(column).tolist() == [
        each in "xAωϊ" for each in "".join(text + "\n" for text in texts)
    ]


def test_sums_begin_with_nothing() -> None:
    assert running_sums(np.array([], np.int64)).tolist() == [0]
