"""The reference here is slow and plain; the tagger has to agree with it to the digit."""

import statistics
from collections import Counter

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.taggers.gopher import GOPHER, measured_huge, tag

REQUIRED = {"the", "be", "to", "of", "and", "that", "have", "with"}


def documents(*texts: str) -> list[Document]:
    return [Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)]


def one(text: str) -> dict[str, object]:
    return {label: values[0] for label, values in GOPHER.look(documents(text)).items() if values[0] is not None}


def plain(text: str) -> dict[str, float]:
    words, lines = text.split(), text.split("\n")
    size = max(1, sum(map(len, words)))
    found = {
        "character_count": float(len(text)),
        "word_count": float(len(words)),
        "median_word_length": float(statistics.median(map(len, words))) if words else 0.0,
        "symbol_to_word_ratio": share(["#" in word or "…" in word for word in words]),
        "fraction_of_words_with_alpha_character": share([any(map(str.isalpha, word)) for word in words]),
        "required_word_count": float(sum(word in REQUIRED for word in words)),
        "fraction_of_lines_starting_with_bullet_point": share([line[:1] in ("*", "-") for line in lines]),
        "fraction_of_lines_ending_with_ellipsis": share([line[-1:] == "…" for line in lines]),
        "fraction_of_duplicate_lines": share([lines.count(line) > 1 for line in lines]),
        "fraction_of_characters_in_duplicate_lines": sum(len(a) for a in lines if lines.count(a) > 1) / size,
    }
    for n in range(2, 11):
        grams = [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]
        if not grams:
            continue
        counts = Counter(grams)
        if n < 5:
            common = max(grams, key=lambda gram: counts[gram])  # of several the first
            value = counts[common] * len("".join(common)) / size
            found[f"fraction_of_characters_in_most_common_{n}grams"] = value
        else:
            again = sum(len("".join(gram)) for gram in grams if counts[gram] > 1)
            value = again / sum(len("".join(gram)) for gram in grams)
            found[f"fraction_of_characters_in_duplicate_{n}grams"] = value
    return {label: round(value, 5) for label, value in found.items()}


def share(chosen: list[bool]) -> float:
    return sum(chosen) / max(1, len(chosen))


SPACES = [" ", " ", " ", "\n", "\n", "\n\n", "\t", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\r\n"]
WORDS = [
    *("the", "be", "that", "that's", "a", "b", "*", "-", "#", "…", "12", "#a", "b…", "internationalization"),
    *("straße", "это", "这是一个中文句子", "𐐀", "𐐀y", "\0", "a\0", "\ud800", "abcdefgh", "abcdefghi"),
    *("abcdefgh" * 9, "abcdefgh" * 9 + "i", "٣", "ª", "Ⅻ"),
]


def texts(words: list[str]) -> st.SearchStrategy[str]:
    pieces = st.lists(st.tuples(st.sampled_from(words), st.sampled_from(SPACES)), max_size=60)
    return pieces.map(lambda pairs: "".join(word + space for word, space in pairs))


repetitive = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).flatmap(texts)
ascii_only = texts([word for word in WORDS if word.isascii()])


@pytest.mark.slow
@settings(max_examples=draws(60))
@given(st.lists(st.one_of(repetitive, texts(WORDS), ascii_only, st.text(max_size=30)), max_size=12))
def test_a_batch_agrees_with_the_plain_reference_whatever_its_neighbours(batch: list[str]) -> None:
    found = GOPHER.look(documents(*batch))  # it also compares them with their declared ranges
    for place, text in enumerate(batch):
        row = {label: values[place] for label, values in found.items() if values[place] is not None}
        assert row == plain(text)


@pytest.mark.slow
@settings(max_examples=draws(60))
@given(st.one_of(repetitive, texts(WORDS), ascii_only, st.text(max_size=30)), st.integers(4, 20), st.integers(1, 9))
def test_a_huge_text_has_the_labels_of_any_other(text: str, size: int, part: int) -> None:
    found = {label: values.tolist()[0] for label, values in measured_huge(text, size, part).items()}
    assert {label: value for label, value in found.items() if value is not None} == plain(text)


def test_an_empty_document_has_zeros_and_no_ngrams() -> None:
    found = one("")
    assert set(found.values()) == {0.0}
    assert len(found) == 10


def test_an_empty_batch_has_no_labels() -> None:
    assert tag([]) == {}


def test_a_document_of_white_space_divides_by_nothing() -> None:
    found = one("  \n  ")
    assert found["word_count"] == 0.0
    assert found["median_word_length"] == 0.0
    assert found["fraction_of_duplicate_lines"] == 1.0
    assert found["fraction_of_characters_in_duplicate_lines"] == 4.0


def test_a_document_of_three_words_has_bigrams_and_trigrams_only() -> None:
    found = one("one two three")
    assert found["fraction_of_characters_in_most_common_2grams"] == round(6 / 11, 5)
    assert found["fraction_of_characters_in_most_common_3grams"] == 1.0
    assert "fraction_of_characters_in_most_common_4grams" not in found
    assert "fraction_of_characters_in_duplicate_5grams" not in found


def test_overlapping_ngrams_are_each_counted() -> None:
    assert one("a a a a")["fraction_of_characters_in_most_common_2grams"] == 1.5


def test_of_equally_common_ngrams_the_first_counts() -> None:
    assert one("aa bb c d c d aa bb")["fraction_of_characters_in_most_common_2grams"] == round(8 / 12, 5)
    assert one("c d aa bb aa bb c d")["fraction_of_characters_in_most_common_2grams"] == round(4 / 12, 5)


def test_an_ngram_does_not_repeat_across_documents() -> None:
    found = GOPHER.look(documents("a b c d e", "a b c d e", "x a", "b x a"))
    assert found["fraction_of_characters_in_duplicate_5grams"] == [0.0, 0.0, None, None]
    assert found["fraction_of_characters_in_most_common_2grams"] == [0.4, 0.4, 1.0, round(2 / 3, 5)]


def test_words_that_differ_past_their_eighth_letter_differ() -> None:
    text = "abcdefghA abcdefghB abcdefghC abcdefghD abcdefghE " * 2
    assert one(text)["fraction_of_characters_in_duplicate_5grams"] == round(2 / 6, 5)
    assert one(text.replace("A", "B", 1))["fraction_of_characters_in_duplicate_5grams"] == 0.0


def test_lines_that_differ_past_their_eighth_letter_differ() -> None:
    assert one("same start, one\nsame start, two")["fraction_of_duplicate_lines"] == 0.0
    assert one("same start, one\nsame start, one\n")["fraction_of_duplicate_lines"] == round(2 / 3, 5)


def test_bullets_and_ellipses_are_counted_by_line() -> None:
    found = one("* one\n- two…\n three…\nfour")
    assert found["fraction_of_lines_starting_with_bullet_point"] == 0.5
    assert found["fraction_of_lines_ending_with_ellipsis"] == 0.5
    assert found["symbol_to_word_ratio"] == round(2 / 6, 5)


@pytest.mark.parametrize("lengths", [(2, 200), (70, 71, 90), (63, 64), (62, 63, 64, 65)])
def test_the_median_of_long_words_is_exact(lengths: tuple[int, ...]) -> None:
    text = " ".join("x" * length for length in lengths)
    assert one(text)["median_word_length"] == statistics.median(lengths)


@pytest.mark.parametrize("symbols", [1, 3, 5, 7, 9])
def test_a_half_is_rounded_as_python_rounds_it(symbols: int) -> None:
    text = "# " * symbols + "a " * (200_000 - symbols)
    assert one(text)["symbol_to_word_ratio"] == round(symbols / 200_000, 5)


def test_batches_of_many_documents_keep_their_order() -> None:
    batch = documents(*("x " * (n % 7) + "é" * (n % 3) for n in range(10_000)))
    counts = GOPHER.look(batch)["character_count"]
    assert counts == [2.0 * (n % 7) + n % 3 for n in range(10_000)]


def test_a_document_longer_than_a_column_is_not_cut() -> None:
    text = "one two three four five\n" * 60_000
    found = GOPHER.look(documents("short", text, "short"))
    assert found["word_count"] == [1.0, 300_000.0, 1.0]
    assert found["fraction_of_characters_in_duplicate_10grams"] == [None, 1.0, None]


def test_the_tagger_is_declared_in_batch_form() -> None:
    assert GOPHER.name == "gopher-1"
    assert GOPHER.batch is tag
    assert GOPHER.document is None
