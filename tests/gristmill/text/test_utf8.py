from gristmill.text.utf8 import STRETCH, utf8_size, utf8_sizes


def test_bytes_are_counted_and_not_characters() -> None:
    assert utf8_sizes(["", "abc", "\u00e9", "\u4f60\u597d", "\U0001f600"]).tolist() == [0, 3, 2, 6, 4]


def test_a_text_of_several_stretches_has_the_bytes_of_all_of_them() -> None:
    assert utf8_size("\u00e9" * (2 * STRETCH + 5)) == 2 * (2 * STRETCH + 5)
    assert utf8_size("a" * STRETCH + "\u4f60") == STRETCH + 3
