import pytest

from gristmill.lake.rows.document import Document
from gristmill.transforms.unicode_repair import UNICODE_REPAIR


def answer(text: str) -> object:
    (found,) = UNICODE_REPAIR.apply([Document(id="d1", source="pages", text=text)])
    return found.text if isinstance(found, Document) else found


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("The caf\u00c3\u00a9", "The café"),
        ("\u00e2\u20ac\u0153so\u00e2\u20ac\u009d", "“so”"),
        ("It\x92s", "It\u2019s"),
        ("café “curly” ﬁ \uff21 &amp; é", "café “curly” ﬁ \uff21 &amp; é"),
        ("a\x07b\x00c\td\r\n", "abc\td\r\n"),
        ("漢字 😀", "漢字 😀"),
    ],
)
def test_wrongly_decoded_text_is_repaired_and_what_is_right_stays(text: str, after: object) -> None:
    assert answer(text) == after
