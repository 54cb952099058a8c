from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.characters.line_lengths import line_lengths


@settings(max_examples=draws(60))
@given(st.text("ab\n\r\x85", max_size=20), st.integers(1, 9))
def test_lines_are_those_of_splitlines_whatever_the_stretches(text: str, size: int) -> None:
    lengths = [len(line) for line in text.splitlines()]
    assert line_lengths(text, size) == (max(lengths, default=0), len(lengths), sum(lengths))
