import pytest

from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Drop
from gristmill.transforms.boilerplate_lines import BOILERPLATE_LINES


def answer(text: str) -> object:
    (found,) = BOILERPLATE_LINES.apply([Document(id="d1", source="pages", text=text)])
    return found.text if isinstance(found, Document) else found


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("The river rose.\nAll rights reserved.\nIt fell.", "The river rose.\nIt fell."),
        ("The river rose.\n\nLOG IN | Register", "The river rose."),
        ("We blog in the evening.", "We blog in the evening."),
        ("a | b | c | d\nThe river rose.", "The river rose."),
        ("a | b", "a | b"),
        ("Sign up", Drop("nothing but boilerplate")),
        ("privacy policy " + "word " * 30, "privacy policy " + "word " * 30),
        ("\n\nplain\n", "\n\nplain\n"),
    ],
)
def test_lines_about_cookies_rights_and_logins_go_and_sentences_stay(text: str, after: object) -> None:
    assert answer(text) == after
