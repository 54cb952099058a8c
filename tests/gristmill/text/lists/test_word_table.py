import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import RecipeError
from gristmill.text.lists import word_table
from gristmill.text.lists.word_lines import ListedWord
from gristmill.text.lists.word_table import WordTable


def table(*words: str) -> WordTable:
    return WordTable.of([ListedWord(word, "en", f"en:{number}") for number, word in enumerate(words, 1)])


def found(words: Sequence[str], text: str) -> list[str]:
    return [text[hit.start : hit.end] for hit in table(*words).find_word_hits(text)]


def by_definition(words: Sequence[str], text: str) -> list[tuple[int, int]]:
    """At each place the longest word that stands alone, from left to right. For texts in lower case and NFC."""

    def joined(left: str, right: str) -> bool:
        both = left + right
        return all(c.isalnum() or c == "_" or unicodedata.category(c)[0] == "M" for c in both) and "字" not in both

    hits: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        for word in sorted(words, key=len, reverse=True):
            end = at + len(word)
            before = at > 0 and joined(text[at - 1], text[at])
            if text.startswith(word, at) and not before and not (end < len(text) and joined(text[end - 1], text[end])):
                hits.append((at, end))
                at = end - 1
                break
        at += 1
    return hits


WORDS = st.lists(
    st.text("ab 字-", min_size=1, max_size=4).filter(str.strip).map(str.strip), min_size=1, max_size=6, unique=True
)


@given(WORDS, st.text("ab 字-_1\u0301", max_size=30).map(lambda text: unicodedata.normalize("NFC", text)))
@settings(max_examples=80)
def test_hits_are_those_of_a_search_word_by_word(words: list[str], text: str) -> None:
    words = list(dict.fromkeys(" ".join(word.split()) for word in words))
    assert [(hit.start, hit.end) for hit in table(*words).find_word_hits(text)] == by_definition(words, text)


def test_words_stand_alone_but_where_a_script_has_no_spaces() -> None:
    assert found(["ass"], "Class, ass; ASS_1 d'ass ass\u0301") == ["ass", "ass"]
    assert found(["馬鹿", "กู", "バカ"], "この馬鹿者 มึงกูเอา 大バカ野郎") == ["馬鹿", "กู", "バカ"]
    assert found(["xx 字"], "xx 字字 axx 字") == ["xx 字"]


def test_case_and_composition_do_not_count_and_offsets_are_those_of_the_text() -> None:
    assert found(["café", "οδός"], "😀 CAFE\u0301! ΟΔΌΣ") == ["CAFE\u0301", "ΟΔΌΣ"]
    assert found(["iz"], "İz x\u0323\u0307 IZ") == ["İz", "IZ"]
    assert found(["a"], "\ud800 a \0 \u202ea\u202c") == ["a", "a"]


def test_a_word_of_two_languages_counts_for_both() -> None:
    both = WordTable.of(
        [ListedWord("Mist", "de", "de:1"), ListedWord("mist", "en", "en:1"), ListedWord("mist", "en", "")]
    )
    assert both.words == ("mist",)
    assert word_table.hits_by_language(both.find_word_hits("Mist mist")) == {"de": 2, "en": 2}


def test_hits_in_the_blocks_of_a_huge_text_are_those_of_the_whole() -> None:
    text = "ab a\nb aab\nab a\u0301b\n\na b ab"
    whole = list(table("ab", "a b", "áb").find_word_hits(text))
    assert [text[hit.start : hit.end] for hit in whole] == ["ab", "ab", "a\u0301b", "a b", "ab"]
    for size in range(7, 40):  # no line is longer
        assert list(table("ab", "a b", "áb").find_word_hits(text, size)) == whole


def test_an_empty_list_and_one_that_is_too_long_are_refused() -> None:
    with pytest.raises(RecipeError, match="no words"):
        table()
    with pytest.raises(RecipeError, match="en:3: a word list may have 2 words"):
        WordTable.of([ListedWord(word, "en", f"en:{n}") for n, word in enumerate("abc", 1)], most=2)
