import pytest

from gristmill.commands._shared.lake_word import is_path


@pytest.mark.parametrize("word", ["-", ".", "..", "/lake", "./lake", "../lake", "~/lake", "s3://bucket/lake"])
def test_a_path_can_be_nothing_but_a_lake(word: str) -> None:
    assert is_path(word)


@pytest.mark.parametrize("word", ["wiki", "wiki/v1", "sources/wiki", "", "a.b"])
def test_a_name_may_be_a_recipe(word: str) -> None:
    assert not is_path(word)
