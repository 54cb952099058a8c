from gristmill.lake.rows.document import Document
from gristmill.taggers.measures.paragraph_lengths import PARAGRAPH_LENGTHS


def test_each_paragraph_has_three_lengths() -> None:
    texts = ["It's 3.5!\n \n\tYes \n", "ein Über-Weg", ""]
    labels = PARAGRAPH_LENGTHS.look([Document(id=text, text=text, source="tales") for text in texts])
    assert labels == {
        "characters": [[(0, 10, 10), (12, 18, 6)], [(0, 12, 12)], []],
        "runs": [[(0, 10, 7), (12, 18, 1)], [(0, 12, 4)], []],
        "unicode_words": [[(0, 10, 3), (12, 18, 1)], [(0, 12, 4)], []],
    }


def test_a_narrow_space_does_not_join_the_paragraph_behind_it() -> None:
    text = "a\n\u202f\u0301b\n"  # alone, the combining mark and the letter are two pieces
    (spans,) = PARAGRAPH_LENGTHS.look([Document(id="a", text=text, source="tales")])["unicode_words"]
    assert spans == [(0, 2, 1), (2, 6, 2)]
