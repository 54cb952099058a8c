import pytest

from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Drop
from gristmill.transforms.whitespace import WHITESPACE


def answer(text: str) -> object:
    (found,) = WHITESPACE.apply([Document(id="d1", source="pages", text=text)])
    return found.text if isinstance(found, Document) else found


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a", "a"),
        ("", ""),
        ("a\r\nb\rc", "a\nb\nc"),
        ("def f():\n\treturn 1  \n\n\n\n    x", "def f():\n\treturn 1\n\n    x"),
        ("a\u00a0b\u200bc\ufeff", "a bc"),
        (
            "\u0646\u0645\u06cc\u200c\u062f\u0627\u0646",
            "\u0646\u0645\u06cc\u200c\u062f\u0627\u0646",
        ),  # Persian needs it
        ("\n\n a \n\n", " a"),
        (" \n\t", Drop("nothing but white space")),
    ],
)
def test_white_space_has_one_form_and_indentation_stays(text: str, after: object) -> None:
    assert answer(text) == after
