import pytest

from gristmill.errors import shorten


@pytest.mark.parametrize(
    ("text", "shown"), [("", ""), ("12345678", "12345678"), ("123456789", "12345..."), ("é" * 9, "ééééé...")]
)
def test_a_text_is_cut_only_where_it_is_too_long(text: str, shown: str) -> None:
    assert shorten(text, 8) == shown
