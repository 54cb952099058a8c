from gristmill.text.characters.scripts import unspaced
from gristmill.text.code_points import CodePoints


def test_more_than_half_of_a_text_decides() -> None:
    texts = ["日本", "日本ab", "日本a b c", "ไทย ab", "ສະບາຍ", "བོད", "word", ""]
    no_spaces, no_rules = unspaced(CodePoints.of(texts))
    assert no_spaces.tolist() == [True, False, False, True, True, True, False, False]
    assert no_rules.tolist() == [False, False, False, True, True, False, False, False]


def test_ascii_has_spaces() -> None:
    assert [answer.tolist() for answer in unspaced(CodePoints.of(["a", ""]))] == [[False, False], [False, False]]
