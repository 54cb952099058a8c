"""A huge text has the labels that it would have as one column, if no line or sentence is longer than a block."""

import re
from typing import Any

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch
from gristmill.taggers.measures import paragraph_lengths
from gristmill.taggers.quality import madlad, paragraphs, redpajama, redpajama_lines, refinedweb
from gristmill.text.huge.blocks import last_line_end

WORDS = [
    *("a", "Be", "IT.", "so!?", "...", "12", "{(+)}", "É", "e\u0301", "İ", "\U00010400", "人", "ก", "x" * 25, "#", "…"),
    *("3 likes", "items in cart", "Sign-In", "read more...", "JavaScript", "• x", "lorem", "ipsum", "Lorem", "\u202f"),
]
SPACES = [" ", " ", "  ", "\t", "\r\n", "\n", "\n", "\n\n", "\u2028"]
texts = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES)), min_size=1, max_size=40).map(
    lambda pairs: "".join(word + space for word, space in pairs)
)


def listed(found: dict[str, Any]) -> dict[str, Any]:
    (values,) = ({name: column[0] for name, column in found.items()},)
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True) if "\n" not in text else text.split("\n")


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+(?=[.!?]*[^\s.!?])", text)


@pytest.mark.parametrize("tagger", [madlad, paragraph_lengths, paragraphs, redpajama_lines, refinedweb])
@settings(max_examples=draws(20))
@given(text=texts, more=st.integers(0, 30))
def test_a_huge_text_has_the_labels_of_any_other(tagger: Any, text: str, more: int) -> None:
    batch = Batch.of([Document(id="a", text=text, source="tales")])
    finished = getattr(tagger, "finished", dict)
    parts, cut = (sentences(text), madlad.sentence_end) if tagger is madlad else (lines(text), last_line_end)
    size = max(map(len, parts)) + 5 + more  # and white space after a sentence
    whole = batch.in_blocks(tagger.measured, finished, size=len(text))
    assert listed(batch.in_blocks(tagger.measured, finished, cut, size)) == listed(whole)


@pytest.mark.slow
@settings(max_examples=draws(40))
@given(texts, st.integers(0, 30), st.integers(1, 5))
def test_a_huge_text_has_the_signals_of_any_other(text: str, more: int, part: int) -> None:
    size = max(map(len, lines(text))) + 1 + more
    expected = redpajama.REDPAJAMA.look([Document(id="a", text=text, source="tales")])
    found = {name: values.tolist() for name, values in redpajama.measured_huge(text, size, part).items()}
    entropy = "rps_doc_unigram_entropy"
    assert found.pop(entropy)[0] == pytest.approx(expected[entropy][0], abs=1.1e-8)
    assert found == {name: values for name, values in expected.items() if name != entropy}


def test_signals_that_compare_too_many_words_are_missing() -> None:
    found = redpajama.measured_huge("to be or not\nto be", most=5)
    assert {name for name, value in found.items() if value.tolist() == [None]} == {
        "rps_doc_frac_unique_words",
        "rps_doc_unigram_entropy",
        *(f"rps_doc_frac_chars_top_{n}gram" for n in (2, 3, 4)),
        *(f"rps_doc_frac_chars_dupe_{n}grams" for n in range(5, 11)),
    }
