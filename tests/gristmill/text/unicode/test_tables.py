import unicodedata

from gristmill.text.unicode.assigned import assigned
from gristmill.text.unicode.tables import EMOJI, MARK, SPACE, WORD, character_flags, look_up_flags, property_table


def test_characters_have_the_classes_of_their_categories() -> None:
    table = character_flags()
    for sign, expected in {
        **dict.fromkeys("aß漢٣\u0301ⓐ\u200d", WORD),
        **dict.fromkeys("_\u203f", WORD | MARK),
        **dict.fromkeys("!«+€", MARK),
        **dict.fromkeys("☃\U0001f680", MARK | EMOJI),
        **dict.fromkeys(" \n\u00a0\u3000", SPACE),
        **dict.fromkeys("\x1c\u200b\u00b2", 0),
    }.items():
        assert table[ord(sign)] == expected, unicodedata.name(sign, repr(sign))


def test_letters_that_python_knows_are_in_words() -> None:
    table = character_flags()
    letters = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Mn"}
    known = [n for n in assigned().nonzero()[0] if unicodedata.category(chr(n)) in letters]  # newer Pythons know more
    assert all(table[known] & WORD)


def test_a_code_point_may_have_two_properties() -> None:
    table = property_table("characters.txt", {"Word": 1, "Mark": 2})
    assert look_up_flags(table[:3].astype("u1"), table).tolist() == [0, 0, 0]
    assert table[ord("_")] == 3
