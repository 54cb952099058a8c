"""The reference here is Dolma's definition: its expressions on the whole text, which can take quadratic time."""

import re

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from scriptrows import documents

from gristmill.dolma.tagging.personal_data import PERSONAL_TAGGERS
from gristmill.errors import DataError
from gristmill.recipes.batch import Batch

EMAIL = re.compile(r"[.\s@,?!;:)(]*([^\s@]+@[^\s@,?!;:)(]+?)[.\s@,?!;:)(]?[\s\n\r]")
PHONE = re.compile(r"\s+\(?(\d{3})\)?[-\. ]*(\d{3})[-. ]?(\d{4})")
IP = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(?:25[0-5]|2[0-4]\d|[01]?\d\d?)", re.ASCII)

PARTS = ["a@b.c", "(@d.e", "@", "a", ".", " ", "\n", "\n\n", "\t", ",", "f@g", "\r\n"]
PARTS += ["(555)", "123", "4567", "-", "5551234567", "1.2.3.4", "isbn", "#"]


def plain(text: str) -> dict[str, list[tuple[int, int, float]]]:
    emails = [each.span() for each in EMAIL.finditer(text)]
    emails = [(i, j) for i, j in emails if re.match(r"(?!\s*\(\s*@)[^@]*@[^@]*\.", text[i:j])]
    found = {"EMAIL_ADDRESS": emails}
    for name, pattern in (("PHONE_NUMBER", PHONE), ("IP_ADDRESS", IP)):
        spans = [each.span() for each in pattern.finditer(text)]
        found[name] = [(i, j) for i, j in spans if not re.search("isbn|doi|#", text[max(0, i - 100) : j + 100])]
    return {name: [(*span, 1.0) for span in spans] for name, spans in found.items()}


def labels_of(name: str, text: str) -> dict[str, object]:
    return {label: values[0] for label, values in PERSONAL_TAGGERS[name](Batch(documents([text]))).items()}


@settings(max_examples=draws(150))
@given(text=st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_spans_are_those_of_dolmas_expressions(text: str) -> None:
    labels = labels_of("pii_regex_v2", text)
    assert {name: labels[name] or [] for name in plain(text)} == plain(text)


def test_the_share_is_of_the_words_and_minus_one_without_a_word() -> None:
    text = "ann@example.org and\n\n (555) 123-4567"
    assert labels_of("pii_regex_with_counts_v2", text) == {
        "EMAIL_ADDRESS": [(0, 16, 1.0)],
        "PHONE_NUMBER": [(19, 36, 1.0)],
        "IP_ADDRESS": None,
        "doc": [(0, 36, 0.5)],
        "doc_count": [(0, 36, 2.0)],
    }
    assert labels_of("pii_regex_v2", "\n")["doc"] == [(0, 1, -1.0)]


@pytest.mark.parametrize("name", ["pii_regex_v1", "pii_regex_with_counts_v2"])
def test_a_text_without_words_is_an_error_as_for_dolma(name: str) -> None:
    with pytest.raises(DataError, match=r"document '0' has no words, .* take pii_regex_v2"):
        labels_of(name, " \n")


def test_a_web_address_after_a_backspace_drops_phone_numbers() -> None:
    assert labels_of("pii_regex_v2", " 555-123-4567 https://a.b/c")["PHONE_NUMBER"]
    assert not labels_of("pii_regex_v2", " 555-123-4567 \bhttps://a.b/c")["PHONE_NUMBER"]
    assert labels_of("pii_regex_v2", " 555-123-4567 \bhttp://" + "!" * 10_000)["PHONE_NUMBER"]


def test_the_fast_tagger_finds_nothing_beside_more_than_ten_thousand_question_marks() -> None:
    found = {
        count: labels_of("pii_regex_with_counts_fast_v2", "?" * count + " 1.2.3.4\n") for count in (10_000, 10_001)
    }
    assert found[10_000]["IP_ADDRESS"] == [(10_001, 10_008, 1.0)]
    assert found[10_001] == {
        **dict.fromkeys(("EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS")),
        "doc_count": [(0, 10_010, 0.0)],
        "doc_frac": [(0, 10_010, 1.0)],
    }
