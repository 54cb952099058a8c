import pytest
from scriptrows import edge_texts

from gristmill.formats.fasttext.language_lines import language_lines
from gristmill.formats.fasttext.lid176 import languages_of


@pytest.mark.slow
def test_lines_that_are_not_blank_have_the_languages_of_their_text() -> None:
    texts = edge_texts()
    found = [
        (part.document, texts[part.document][part.start : part.end], part.languages) for part in language_lines(texts)
    ]
    lines = [(number, line) for number, text in enumerate(texts) for line in text.split("\n") if line.strip()]
    assert found == [(number, line, languages_of([line.lower().strip()])[0]) for number, line in lines]


def test_many_lines_are_more_than_one_window() -> None:
    parts = list(language_lines(["the mill\n" * 10_001]))
    assert len(parts) == 10_001
    assert {part.languages[0][0] for part in parts} == {"en"}
    assert parts[-1][:3] == (0, 90_000, 90_008)
