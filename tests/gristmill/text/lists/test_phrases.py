from gristmill.text.code_points import CodePoints
from gristmill.text.lists.phrases import Phrases
from gristmill.text.words import Words


def test_phrases_do_not_cross_texts_nor_go_past_the_last_word() -> None:
    words = Words.of(CodePoints.of(["an old", "mill an old mill", "old", "", "mill"]))
    assert Phrases.of(["old mill", "an old mill yard"]).count(words, words.hashes).tolist() == [0, 1, 0, 0, 0]


def test_phrases_are_found_whatever_the_width_of_a_code_point() -> None:
    phrases = Phrases.of(["old mill", "mühle", "水车 old", "😀"])
    for texts in (["old mill"], ["old mill mühle …"], ["水车 old mill 😀 mühle"]):
        words = Words.of(CodePoints.of(texts))
        assert phrases.count(words, words.hashes).tolist() == [
            sum(part in texts[0] for part in ("old mill", "mühle", "水车 old", "😀"))
        ]


def test_a_phrase_with_two_spaces_is_never_found() -> None:
    words = Words.of(CodePoints.of(["old  mill"]))
    assert Phrases.of(["old  mill", "", " old"]).count(words, words.hashes).tolist() == [0]
