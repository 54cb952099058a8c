import pytest

from gristmill.lake.rows.document import Document
from gristmill.transforms.ocr_noise import OCR_NOISE


def answer(text: str) -> object:
    (found,) = OCR_NOISE.apply([Document(id="d1", source="pages", text=text)])
    return found.text if isinstance(found, Document) else found


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a gar-\nden", "a garden"),
        ("a gar\u00ad\n   den", "a garden"),
        ("Jean-\nPaul", "Jean-\nPaul"),
        ("1990-\n1995", "1990-\n1995"),
        ("x-\ny", "x-\ny"),
        ("so -\nand so", "so -\nand so"),
        ("Zürich-\nöffnung", "Zürichöffnung"),
        ("Chapter 1 ........ 7", "Chapter 1 ... 7"),
        ("....", "...."),
        ("wait-", "wait-"),
    ],
)
def test_cut_words_are_joined_and_long_runs_are_short(text: str, after: object) -> None:
    assert answer(text) == after
