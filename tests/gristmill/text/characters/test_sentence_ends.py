"""The characters that end a sentence."""

from gristmill.text.characters.sentence_ends import sentence_ends


def test_there_are_those_of_all_scripts_and_no_others() -> None:
    table = sentence_ends().table
    assert table.sum() == 159
    assert all(table[ord(each)] for each in ".!?؟।॥။។៕。｡")
    assert not any(table[ord(each)] for each in " \n,;:…\"'a0、")
