import pytest

from gristmill.text.code_points import CodePoints
from gristmill.text.unicode.runs import Runs
from gristmill.text.unicode.sentences import sentences


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" .\n...\n?!", 0),
        ("One", 1),
        ("One. Two! Three?", 3),
        ("One.\nTwo", 2),
        ("One\n\nTwo", 2),
        ("It costs 3.50 at example.com today.", 1),
        ('"Go!" he said. (So?) Yes...', 4),
        ("Mr. Hyde", 2),
        ("行け。行った\uff01", 2),
        ("राम आया। वह गया।", 2),
        ("a! b", 2),
        ("a) b", 1),
    ],
)
def test_a_text_has_as_many_sentences_as_marks_and_lines_end(text: str, count: int) -> None:
    column = CodePoints.of(["before. it", text, "after"])
    assert sentences(column, Runs.of(column)).tolist() == [2, count, 1]
