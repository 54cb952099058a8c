"""The reference is slow and plain: sentences as lists of words."""

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label
from gristmill.taggers.quality.madlad import MADLAD

RULES = ("short", "long", "technical", "list_case")
PARTS = [
    "a",
    "Be",
    "It.",
    "so!?",
    "...",
    "।",
    "x" * 30,
    "x" * 490,
    "12",
    "{(+)}",
    "É",
    "\U00010400",
    "A B C D E F",
    " ",
    "\n",
    "  ",
]
texts = st.lists(st.sampled_from(PARTS), max_size=40).map(" ".join)


def look(*texts: str) -> list[dict[str, Label]]:
    found = MADLAD.look([Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)])
    return [{label: values[n] for label, values in found.items()} for n in range(len(texts))]


def plain(text: str) -> dict[str, object]:
    sentences: list[tuple[int, int, list[str]]] = []
    place, ended = 0, True
    for word in text.split():
        start = text.index(word, place)
        place = start + len(word)
        if not sentences or (ended and word.strip(".!?।")):
            sentences.append((start, place, [word]))
        else:
            sentences[-1] = (sentences[-1][0], place, [*sentences[-1][2], word])
        ended = word[-1] in ".!?।"
    found: dict[str, list[tuple[int, int, float]]] = {rule: [] for rule in RULES}
    for start, end, words in sentences:
        part = text[start:end]
        judged = {
            "short": len(part) < 20,
            "long": len(part) > 500,
            "technical": sum(each in "0123456789{}+/()>" for each in part) / len(part) > 0.2,
            "list_case": len(words) >= 12 and sum(word[0].isupper() for word in words) / len(words) > 0.5,
        }
        for rule in [rule for rule in RULES if judged[rule]]:
            found[rule].append((start, end, 1.0))
    bad = {span for spans in found.values() for span in spans}
    share = len(bad) / len(sentences) if sentences else None
    return {**found, "sentences": float(len(sentences)), "questionable": share}


@settings(max_examples=draws(60))
@given(st.lists(texts, min_size=1, max_size=6))
def test_a_batch_agrees_with_the_plain_reference_whatever_its_neighbours(batch: list[str]) -> None:
    assert look(*batch) == [plain(text) for text in batch]


def test_sentences_that_one_can_count() -> None:
    text = "It began with a few words ... Then it stopped. Call 0800/12345 (24h). " + "Home Contact Us " * 4
    found = look(text)[0]
    assert (found["sentences"], found["questionable"]) == (4, 0.75)
    assert found["short"] == [(30, 46, 1.0)]
    assert found["technical"] == [(47, 69, 1.0)]
    assert found["list_case"] == [(70, len(text) - 1, 1.0)]


@pytest.mark.parametrize("text", ["", " \n", "\u2028"])
def test_a_text_without_words_has_no_sentences(text: str) -> None:
    assert look(text)[0] == {"sentences": 0, "questionable": None, **{rule: [] for rule in RULES}}


def test_scripts_without_spaces_have_no_labels() -> None:
    assert set(look("一句话。一句话。")[0].values()) == {None}
