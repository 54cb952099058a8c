"""Normalized texts keep their lines, and are what Python's methods give for each text alone."""

import re
import string
import unicodedata
from typing import Literal

from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.characters.normalized import normalize_unicode
from gristmill.text.column import text_columns

TEXTS = st.text(st.sampled_from("aB.,'\n \rÉe\u0301ΣİIß\u037eǅ𐐀한人\ud800\u0344\u200d"), max_size=30)


@settings(max_examples=draws(60))
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_each_line_is_normalized_as_if_it_were_alone(texts: list[str]) -> None:
    for column in text_columns(texts):
        found = column.normalized
        joined = "".join(map(chr, found.points.units.tolist()))
        parts = [joined[a : b - 1] for a, b in zip(found.points.bounds, found.points.bounds[1:], strict=False)]
        assert parts == ["\n".join(map(plain, texts[place].split("\n"))) for place in column.places]
        assert found.lines.bounds.tolist() == column.lines.bounds.tolist()


def plain(text: str) -> str:
    return unicodedata.normalize("NFD", text.translate(str.maketrans("", "", string.punctuation)).lower())


@settings(max_examples=draws(60))
@given(st.text("eé\u0301\u0316\u0f73 й", max_size=60), st.sampled_from(["NFC", "NFD"]))
def test_few_marks_in_a_row_are_put_in_order_as_unicodedata_does(text: str, form: Literal["NFC", "NFD"]) -> None:
    if not re.search("[\u0301\u0316]{30}", text):
        assert normalize_unicode(form, text) == unicodedata.normalize(form, text)


def test_of_many_marks_each_thirty_are_put_in_order() -> None:
    marks = "\u0301\u0316" * 30
    assert normalize_unicode("NFC", "e" + marks) == "é" + "\u0316" * 15 + "\u0301" * 14 + "\u0316" * 15 + "\u0301" * 15
    assert len(normalize_unicode("NFD", "e" + marks * 10_000)) == 600_001
