import re

from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.code_points import CodePoints
from gristmill.text.lines import Lines
from gristmill.text.paragraphs import Paragraphs
from gristmill.text.words import Words


@settings(max_examples=draws(50))
@given(st.lists(st.text("ab \n\r\u2028漢", max_size=10), min_size=1, max_size=6))
def test_a_paragraph_is_a_line_with_its_line_feed_and_more_than_white_space(texts: list[str]) -> None:
    column = CodePoints.of(texts)
    paragraphs = Paragraphs.of(Lines.of(column), Words.of(column))
    expected = [
        [(m.start(), m.end(), m.end() - m.start()) for m in re.finditer(r"[^\n]*\n|[^\n]+$", text) if m.group().strip()]
        for text in texts
    ]
    assert [list(map(tuple, each.tolist())) for each in paragraphs.spans(paragraphs.lengths)] == expected
