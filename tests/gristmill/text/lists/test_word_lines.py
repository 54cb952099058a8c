from pathlib import Path

import pytest

from gristmill.errors import RecipeError
from gristmill.text.lists.word_lines import listed_words


def test_the_language_of_a_word_is_the_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("damn\n\nhell fire\n")
    (tmp_path / "de").write_text("verdammt")
    words = [(word.text, word.language) for word in listed_words(tmp_path)]
    assert words == [("verdammt", "de"), ("damn", "en"), ("hell fire", "en")]
    assert [word.where for word in listed_words(tmp_path, ["en"])] == [f"{tmp_path}: en.txt:1", f"{tmp_path}: en.txt:3"]


def test_a_language_without_file_and_a_long_line_are_refused(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("x" * 501)
    with pytest.raises(RecipeError, match="no file for de, fr"):
        list(listed_words(tmp_path, ["fr", "de"]))
    with pytest.raises(RecipeError, match=r"en:1: the line has 501 characters"):
        list(listed_words(tmp_path))
