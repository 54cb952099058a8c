"""The reference here is slow and plain. tests/real_datatrove compares with datatrove itself."""

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Tagger
from gristmill.taggers.quality.fineweb import FINEWEB, fineweb, lines_of_huge, words_of_huge
from gristmill.text.characters.sentence_ends import sentence_ends

SPACES = [" ", " ", "\n", "\n", "\n\n", "\r\n", "\t", "\u2028", "\u3000"]
WORDS = [
    "be.",
    "be",
    "or?",
    "the",
    "…",
    "एक।",
    "good-bye!",
    "straße",
    "一句话。",
    "ภาษา",
    "word " * 7,
    "\ud800",
    "\0",
    "𐐀",
]


def look(tagger: Tagger, *texts: str) -> list[dict[str, Label]]:
    found = tagger.look([Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)])
    return [{label: values[n] for label, values in found.items()} for n in range(len(texts))]


def plain(text: str) -> dict[str, float | None]:
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return dict.fromkeys(("line_punct_ratio", "short_line_ratio", "char_dup_ratio", "list_ratio"))
    copied = sum(len(line) for n, line in enumerate(lines) if line in lines[:n])
    return {
        "line_punct_ratio": sum(line.endswith((".", "?", "!", "।", "。")) for line in lines) / len(lines),
        "short_line_ratio": sum(len(line) <= 30 for line in lines) / len(lines),
        "char_dup_ratio": copied / len(text.replace("\n", "")),
        "list_ratio": text.count("\n") / len(text.split()),
    }


pieces = st.lists(st.tuples(st.sampled_from(WORDS[:8]), st.sampled_from(SPACES)), max_size=40)
texts = pieces.map(lambda pairs: "".join(word + space for word, space in pairs))


@settings(max_examples=draws(60))
@given(st.lists(texts, max_size=8))
def test_a_batch_agrees_with_the_plain_reference_whatever_its_neighbours(batch: list[str]) -> None:
    assert look(FINEWEB, *batch) == [plain(text) for text in batch]


@settings(max_examples=draws(80))
@given(texts, st.integers(1, 40), st.integers(1, 5))
def test_a_huge_text_has_the_labels_of_any_other(text: str, size: int, part: int) -> None:
    found = {label: values.tolist()[0] for label, values in lines_of_huge(text, sentence_ends(), size, part).items()}
    words, unknown = words_of_huge(text, size)
    assert (words, unknown) == (len(text.split()), False)
    assert found == {label: value for label, value in plain(text).items() if label != "list_ratio"}


def test_a_huge_text_without_spaces_has_no_words() -> None:
    assert words_of_huge("一句话 ok\n", 3) == (2, True)
    assert words_of_huge("ok\n一句", 3) == (2, False)


def test_a_text_of_more_than_four_million_code_points_is_huge() -> None:
    (found,) = look(FINEWEB, "A mill.\nIt mills\n" * (1 << 18))
    assert (found["line_punct_ratio"], found["short_line_ratio"], found["list_ratio"]) == (0.5, 1, 0.5)
    assert found["char_dup_ratio"] == 1 - 1 / (1 << 18)


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "\u2028"])
def test_a_text_without_a_filled_line_has_no_labels(text: str) -> None:
    assert set(look(FINEWEB, text)[0].values()) == {None}


def test_each_script_has_ends_of_sentences() -> None:
    ends = ["yes.", "yes。", "हाँ।", "نعم؟", "አዎ።", "no,", "no …"]
    assert [labels["line_punct_ratio"] for labels in look(FINEWEB, *ends)] == [1, 1, 1, 1, 1, 0, 0]
    assert look(fineweb(ends="。"), "yes.", "yes。")[0]["line_punct_ratio"] == 0


def test_white_space_at_the_end_of_a_line_is_part_of_it() -> None:
    assert look(FINEWEB, "yes. \nyes.")[0] == {
        "line_punct_ratio": 0.5,
        "short_line_ratio": 1.0,
        "char_dup_ratio": 0.0,
        "list_ratio": 0.5,
    }


def test_words_are_counted_in_scripts_with_spaces_alone() -> None:
    one, two, three = look(FINEWEB, "a b\n", "一句话\n", "ภาษาไทย\nไม่มีวรรค\n")
    assert (one["list_ratio"], two["list_ratio"], three["list_ratio"]) == (0.5, None, None)


def test_a_splitter_of_ones_own_counts_the_words() -> None:
    characters = fineweb("fineweb-characters-1", count_words=lambda text: len(text) or None, splitter="characters")
    assert look(characters, "一句话\n", "")[0]["list_ratio"] == 0.25
    assert characters.recipe.parameters["words"] == "characters"


def test_the_same_text_in_a_column_of_other_width_has_the_same_labels() -> None:
    text = "one\ntwo.\none\n" * 3
    alone, beside = look(FINEWEB, text)[0], look(FINEWEB, text, "straße", "𐐀 …", text + "ß")[0]
    assert alone == beside == plain(text)
