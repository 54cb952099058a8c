from itertools import groupby

from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.code_points import CodePoints
from gristmill.text.unicode.runs import Runs
from gristmill.text.unicode.tables import SPACE, WORD, character_flags


@settings(max_examples=draws(50))
@given(st.lists(st.text("ab_1.!ß漢 \n\t\u00a0\x1c\u0301\U0001f600", max_size=12), min_size=1, max_size=6))
def test_runs_are_words_or_marks_between_white_space(texts: list[str]) -> None:
    runs = Runs.of(CodePoints.of(texts))
    expected = [
        [
            (kind, len(list(run)))
            for kind, run in groupby(text, lambda c: int(character_flags()[ord(c)]) & (WORD | SPACE))
        ]
        for text in texts
    ]
    lengths = [length for row in expected for kind, length in row if kind != SPACE]
    assert runs.lengths.tolist() == lengths
    assert runs.counts.tolist() == [sum(kind != SPACE for kind, _ in row) for row in expected]
