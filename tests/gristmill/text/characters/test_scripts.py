import pytest

from gristmill.text.characters.scripts import (
    assume_divided_texts,
    is_unspaced_script,
    language_by_script,
    script_counts,
)
from gristmill.text.code_points import CodePoints


def test_more_than_half_of_a_text_decides() -> None:
    texts = ["日本", "日本ab", "日本a b c", "ไทย ab", "ສະບາຍ", "བོད", "word", ""]
    no_spaces, no_rules = is_unspaced_script(CodePoints.of(texts))
    assert no_spaces.tolist() == [True, False, False, True, True, True, False, False]
    assert no_rules.tolist() == [False, False, False, True, True, False, False, False]


def test_ascii_has_spaces() -> None:
    assert [answer.tolist() for answer in is_unspaced_script(CodePoints.of(["a", ""]))] == [
        [False, False],
        [False, False],
    ]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("ສະບາຍດີ", "lo"),
        ("བཀྲ་ཤིས", "bo"),
        ("မင်္ဂလာပါ", "my"),
        ("សួស្តី", "km"),
        ("漢字" * 9 + "漢の", "ja"),  # 1 kana of 20 characters
        ("漢字" * 10 + "の", "zh"),  # 1 of 21
        ("ไป去", "th"),  # as many of one as of the other: the first of SPACELESS
        ("한국어 문장", None),
        ("", None),
        ("᥌᥍ᥐᥑ", None),  # Tai Le: no space between words, and no language of the list
    ],
)
def test_the_script_tells_the_language(text: str, language: str | None) -> None:
    assert language_by_script(text) == language


def test_texts_that_somebody_divided_have_spaces() -> None:
    column = CodePoints.of(["ไป โรงเรียน"])
    with assume_divided_texts():
        assert is_unspaced_script(column)[0].tolist() == [False]
        assert [counts.tolist() for counts in script_counts(column)] == [[10], [0], [0]]
    assert is_unspaced_script(column)[0].tolist() == [True]
