"""The reference here looks at each line by itself, as the definition does."""

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.taggers.quality.c4 import C4, found_in_huge, lines_of_huge


def look(*texts: str) -> list[dict[str, object]]:
    labels = C4.look([Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)])
    return [{name: values[number] for name, values in labels.items() if values[number]} for number in range(len(texts))]


def plain(text: str) -> dict[str, object]:
    lowered = text.lower()
    words = set(lowered.split())
    has = {
        "has_curly_brace": "{" in text,
        "has_javascript": "javascript" in lowered,
        "has_lorem_ipsum": "lorem ipsum" in lowered,
        "has_naughty_word": bool({"sucks", "kinky", "\U0001f595"} & words) or "two girls one cup" in lowered,
    }
    lines = text.split("\n")
    unended, short, start = [], [], 0
    for number, line in enumerate(lines):
        end = start + len(line) + (number < len(lines) - 1)
        if not line.strip().endswith((".", "?", "!", '"')):
            unended.append((start, end, 1))
        if len(line.split()) < 3:
            short.append((start, end, 1))
        start = end
    found = {name: 1.0 for name, value in has.items() if value} | {"line_count": float(len(lines))}
    spans = {"lines_with_no_ending_punctuation": unended, "lines_with_too_few_words": short}
    return found | {name: value for name, value in spans.items() if value}


PIECES = [
    *(
        "one",
        "two",
        "three",
        "İ",
        "\u212a",
        "\u017f",
        "é",
        "\U0001f469\u200d\U0001f467",
        "\ud800",
        "\0",
        "sucks",
        "SUCKS",
    ),
    *(" ", " ", " ", "\n", "\n", "\t", "\r\n", "\u2028", "\x85", "\u3000", ".", "?", "!", '"', "…", "{", "}", "x"),
    *(
        "javascrİpt",
        "JAVASCRIPT:",
        "Lorem Ipsum",
        "lorem\nipsum",
        "\U0001f595",
        "\ufe0f",
        "\u212ainky",
        "two girls one cup",
    ),
]


@settings(max_examples=draws(60))
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), max_size=6))
def test_the_labels_are_those_of_the_definition(texts: list[str]) -> None:
    assert look(*texts) == [plain(text) for text in texts]


@settings(max_examples=draws(60))
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.integers(1, 40))
def test_a_huge_text_has_the_labels_of_any_other(text: str, size: int) -> None:
    expected = plain(text)
    has = {"has_javascript", "has_lorem_ipsum", "has_naughty_word"}
    assert found_in_huge(text, size) == has & set(expected)
    spans = lines_of_huge(text, size)
    assert spans.pop("line_count").tolist() == [expected["line_count"]]
    for name, (found,) in spans.items():
        assert [tuple(span) for span in found.tolist()] == expected.get(name, [])


@pytest.mark.parametrize(
    ("text", "naughty"),
    [
        ("This sucks.", False),  # the words are those between white space, and `sucks.` is none of the list
        ("This SUCKS !", True),
        ("It suc\u212as here", True),  # the sign of Kelvin is a K
        ("two girls one cupboard", True),  # a phrase is found in other words too
        ("It \U0001f595 is", True),
        ("Essex and Scunthorpe", False),
    ],
)
def test_words_are_whole_and_phrases_are_found_anywhere(text: str, *, naughty: bool) -> None:
    assert ("has_naughty_word" in look(text)[0]) is naughty


def test_lines_include_their_line_feed_and_the_text_without_words_is_one() -> None:
    labels, empty = look("A line of text.\nshort\n", "")
    assert labels["lines_with_no_ending_punctuation"] == [(16, 22, 1), (22, 22, 1)]
    assert labels["lines_with_too_few_words"] == [(16, 22, 1), (22, 22, 1)]
    spans = {name: [(0, 0, 1)] for name in ("lines_with_no_ending_punctuation", "lines_with_too_few_words")}
    assert empty == {"line_count": 1.0, **spans}
