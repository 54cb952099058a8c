import pytest

from gristmill.lake.rows.document import Document
from gristmill.taggers.quality.paragraphs import MARK_PARAGRAPHS


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("* * *\nOne.\n\n-- _\n", [(0, 6), (12, 17)]),
        ("\U0001f600\u2600", [(0, 2)]),
        ("€ + =\n", [(0, 6)]),
        ("", []),
        (" \n\t\n", []),
        ("...a", []),
        ("...\u00e4", []),
        ("...7", []),
        ("!\u0301", []),
        ("漢", []),
    ],
)
def test_paragraphs_of_marks_alone_are_found(text: str, spans: list[tuple[int, int]]) -> None:
    (found,) = MARK_PARAGRAPHS.look([Document(id="a", text=text, source="tales")])["paragraphs"]
    assert found == [(start, end, 1.0) for start, end in spans]
