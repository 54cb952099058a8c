from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.characters.scripts import is_unspaced_script
from gristmill.text.code_points import CodePoints
from gristmill.text.column import TextColumn
from gristmill.text.huge import blocks as module
from gristmill.text.huge.blocks import blocks, is_unspaced_text, measured_in_blocks
from gristmill.text.huge.limits import TooManySpans

TEXTS = st.text("ab \n\ré人ก", max_size=60)


@settings(max_examples=draws(100))
@given(TEXTS, st.integers(1, 9))
def test_blocks_cover_the_text_and_end_with_lines_or_else_with_words(text: str, size: int) -> None:
    parts = [text[start:end] for start, end in blocks(text, size=size)]
    assert "".join(parts) == text
    for part, following in pairwise(parts):
        assert 0 < len(part) <= size
        if not part.endswith("\n"):
            assert "\n" not in (part + following)[:size]
            assert part[-1].isspace() or len(part.split()) == 1


@settings(max_examples=draws(60))
@given(TEXTS, st.integers(1, 9))
def test_the_script_is_that_of_the_whole_text(text: str, size: int) -> None:
    assert [each.tolist() for each in is_unspaced_text(text, size)] == [
        each.tolist() for each in is_unspaced_script(CodePoints.of([text]))
    ]


def measured(column: TextColumn) -> dict[str, Any]:
    return {"lines": column.paragraphs.marks(), "words": column.words.counts, "none": [None]}


def test_numbers_are_added_and_spans_are_those_of_the_text() -> None:
    found = measured_in_blocks("to be\nor\nnot", measured, size=6)
    assert found["words"].tolist() == [4]
    assert found["lines"][0].tolist() == [[0, 6, 1], [6, 9, 1], [9, 12, 1]]
    assert found["none"] == [None]


def test_too_many_spans_are_refused_before_all_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SPANS", 2)
    seen: list[int] = []

    def one(column: TextColumn) -> dict[str, Any]:
        seen.append(len(column.points.units))
        return {"lines": [np.array([[0, 1, 1]])]}

    with pytest.raises(TooManySpans, match="'lines'"):
        measured_in_blocks("a\n" * 100, one, size=2)
    assert len(seen) == 3
