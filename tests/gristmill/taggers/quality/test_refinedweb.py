"""The reference is DCLM's definition, slow and plain, line by line."""

import re

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label
from gristmill.taggers.quality.refinedweb import COUNTED, REFINEDWEB

COUNTER = re.compile(
    r"^\W*\d(?:,|\.|\d)*(?:K|k|M|m|B|b)?\s+(?:likes|shares|comments|retweets|reposts|quotes|bookmarks|upvotes|downvotes"
    r"|downloads|views|followers)\W*$"
)
PARTS = [
    *("A", "b", "É", "12", "²", "3", "1,2K", ".", "!", "likes", "Views", "views.", "items in cart", "Items in Cart"),
    *("read more...", "Read More...", "read more ok", "sign-in", "Sign-In", "word", "人", "𐐀", "İ", "\u2028", "\ud800"),
    *(" ", " ", " ", "\n", "\n", "\n", "\t", "\r\n"),
]
texts = st.lists(st.sampled_from(PARTS), max_size=30).map("".join)


def look(*texts: str) -> list[dict[str, Label]]:
    found = REFINEDWEB.look([Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)])
    return [{label: values[n] for label, values in found.items()} for n in range(len(texts))]


def parts(text: str, label: str, labels: dict[str, Label] | None = None) -> list[str]:
    spans = (labels or look(text)[0])[label]
    assert isinstance(spans, list)
    return [text[span[0] : span[1]] for span in spans]


def plain(text: str) -> dict[str, list[str]]:
    lines = text.split("\n")
    short = [line for line in lines if len(line.split()) <= 10]
    return {
        "uppercase": [line for line in lines if line and sum(map(str.isupper, line)) / len(line) > 0.5],
        "numeric": [line for line in lines if line and sum(map(str.isdigit, line)) / len(line) > 0.999999],
        "counter": [line for line in lines if COUNTER.search(line.lower())],
        "items_in_cart": [m for line in short for m in re.findall(r"\s?items in cart", line, re.IGNORECASE)],
        "read_more": [m for line in short for m in re.findall(r"\s?read more\.\.\.$", line, re.IGNORECASE)],
        "sign_in": [m for line in short for m in re.findall(r"^sign-in\s?", line, re.IGNORECASE)],
    }


@settings(max_examples=draws(50))
@given(st.lists(texts, min_size=1, max_size=6))
def test_a_batch_agrees_with_the_plain_reference_whatever_its_neighbours(batch: list[str]) -> None:
    for text, found in zip(batch, look(*batch), strict=True):
        assert {label: parts(text, label, found) for label in plain(text)} == plain(text)


def test_a_page_of_a_shop() -> None:
    text = (
        "Sign-in now\nABOUT us NOW\n2024\n3 likes\nHome\nOur story began with two words and it went on...\nRead more..."
    )
    found = look(text)[0]
    assert parts(text, "uppercase") == ["ABOUT us NOW"]
    assert parts(text, "numeric") == ["2024"]
    assert parts(text, "counter") == ["3 likes"]
    assert parts(text, "one_word") == ["2024", "Home"]
    assert (parts(text, "sign_in"), parts(text, "read_more")) == (["Sign-in "], ["Read more..."])
    assert found["removed_words"] == pytest.approx(7 / 21)


@pytest.mark.parametrize("word", COUNTED)
def test_each_word_that_is_counted(word: str) -> None:
    assert parts(f"a\n* 1.5M {word.upper()} *\n{word}\n3{word}", "counter") == [f"* 1.5M {word.upper()} *"]


def test_phrases_are_looked_for_in_short_lines_alone() -> None:
    ten, eleven = "a " * 7 + "items in cart", "a " * 8 + "items in cart"
    assert parts(f"{ten}\n{eleven}", "items_in_cart") == [" items in cart"]


def test_scripts_without_spaces_have_no_lines_of_one_word() -> None:
    found = look("一句话。\n一句话。")[0]
    assert (found["one_word"], found["removed_words"]) == ([], None)


@pytest.mark.parametrize(
    "text", ["3" * 30_000 + " views x", "3," * 20_000 + "likes", "!" * 40_000 + " likes", " " * 40_000]
)
def test_hostile_lines_take_no_longer_than_others(text: str) -> None:
    assert look(text)[0]["counter"] == []
