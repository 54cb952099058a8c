from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gristmill.text.characters.stretches import split_into_stretches


@given(st.text(st.sampled_from("a\r\n"), max_size=20), st.integers(1, 6))
def test_stretches_make_the_text_and_have_its_lines(text: str, size: int) -> None:
    pieces = list(split_into_stretches(text, size))
    assert "".join(pieces) == text
    assert all(len(piece) <= size + 1 for piece in pieces)
    assert sum(len(piece.splitlines(keepends=True)) for piece in pieces) >= len(text.splitlines())
    assert not any(one.endswith("\r") and other.startswith("\n") for one, other in pairwise(pieces))
