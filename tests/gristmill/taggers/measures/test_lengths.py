import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.taggers.measures.lengths import LENGTHS, measured_huge
from gristmill.text.code_points import CodePoints
from gristmill.text.unicode.unicode_words import UnicodeWords


def lengths(*texts: str) -> dict[str, list[object]]:
    labels = LENGTHS.look([Document(id=str(n), text=text, source="tales") for n, text in enumerate(texts)])
    return {name: list(values) for name, values in labels.items()}


def test_a_text_is_measured_in_ten_units() -> None:
    assert lengths(" Zwölf Mühlen!\n\nSie mahlen. ") == {
        "characters": [28],
        "stripped_characters": [26],
        "bytes": [30],
        "words": [4],
        "runs": [6],
        "unicode_pieces": [10],
        "unicode_words": [6],
        "lines": [3],
        "paragraphs": [2],
        "sentences": [2],
    }


def test_texts_without_anything_have_zeros() -> None:
    found = lengths("", " \n\t")
    assert found.pop("characters") == found.pop("bytes") == [0, 3]
    assert found.pop("lines") == [1, 2]
    assert set(map(tuple, found.values())) == {(0, 0)}


@pytest.mark.parametrize(("text", "words", "unicode_words"), [("日本語です。", None, 6), ("ไปโรงเรียน", None, None)])
def test_scripts_without_spaces_have_no_words(text: str, words: int | None, unicode_words: int | None) -> None:
    found = lengths("some words", text)
    assert (found["words"], found["unicode_words"]) == ([2, words], [2, unicode_words])


@settings(max_examples=draws(20))
@given(st.lists(st.text("ab 1.\n\u00a0\u202fäß€\U0001f600\u0301\x1c", max_size=15), min_size=1, max_size=5))
def test_lengths_are_those_of_the_plain_definitions(texts: list[str]) -> None:
    found = lengths(*texts)
    assert found["characters"] == [len(text) for text in texts]
    assert found["stripped_characters"] == [len(text.strip()) for text in texts]
    assert found["bytes"] == [len(text.encode()) for text in texts]
    assert found["words"] == [len(text.split()) for text in texts]
    assert found["lines"] == [text.count("\n") + 1 for text in texts]
    assert found["paragraphs"] == [sum(bool(line.strip()) for line in text.split("\n")) for text in texts]
    assert found["unicode_pieces"] == [UnicodeWords.of(CodePoints.of([text.strip()])).counts[0] for text in texts]


PIECES = [
    *"ab1.!?,'\n\n   \r\t_",
    "\r\n",
    "b. a",
    "\u00a0",
    "\u202f",
    "\u0301",
    "\u200d",
    "\U0001f600",
    "\U0001f1e6",
    "。",
    "ไ",
    "א",
]


@pytest.mark.slow
@settings(max_examples=draws(120))
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.integers(1, 9))
def test_a_huge_text_has_the_labels_of_any_other(text: str, size: int) -> None:
    found = {name: values.tolist() for name, values in measured_huge(text, size).items()}
    assert found == lengths(text)
