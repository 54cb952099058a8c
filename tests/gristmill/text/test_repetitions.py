import re

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.code_points import CodePoints
from gristmill.text.repetitions import Repetition, repetitions

REFERENCE = re.compile(r"(.+?)(\s?\1){3,}")


def found(*texts: str, most: int = 100) -> list[list[Repetition]]:
    return repetitions(CodePoints.of(texts), texts, most)


def plain(text: str) -> list[Repetition]:
    return [(m.start(), m.end(), m.group().count(m[1])) for m in REFERENCE.finditer(text)]


@pytest.mark.parametrize("alphabet", ["ab", "ab ", "a \n", "abc \n\u2028", "漢a-"])
def test_repetitions_are_the_matches_of_the_regular_expression(alphabet: str) -> None:
    @settings(max_examples=draws(15))
    @given(st.lists(st.text(alphabet, max_size=40), min_size=1, max_size=5))
    def compared(texts: list[str]) -> None:
        assert found(*texts) == [plain(text) for text in texts]

    compared()


@settings(max_examples=draws(15))
@given(st.text("abcd ", min_size=1, max_size=12), st.integers(1, 6), st.text("a\n ", max_size=3))
def test_long_units_are_found(unit: str, times: int, around: str) -> None:
    text = f"{around}{unit * times}{around}{' '.join([unit] * times)}"
    assert found(text) == [plain(text)]


def test_a_unit_is_not_longer_than_it_may_be() -> None:
    text = "abcdefgh" * 4
    assert found(text, most=7) == [[]]
    assert found(text, most=8) == found(text) == [[(0, 32, 4)]]


def test_long_lines_end() -> None:
    dashes, letters = "-" * 200_000, "ab" * 100_000
    other = "".join(chr(97 + (n * n) % 23) + chr(97 + n % 19) for n in range(50_000))
    assert found(dashes, letters) == [[(0, 200_000, 200_000)], [(0, 200_000, 100_000)]]
    assert isinstance(found(other), list)
