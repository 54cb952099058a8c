import pytest
from testkit import SHELVES

from gristmill.commands._shared.selected_version import parse_source_version
from gristmill.errors import RecipeError


def test_a_version_that_rules_select_is_found() -> None:
    source, version = parse_source_version(SHELVES, "pages/v1", None)
    assert (source.name, version) == ("pages", "v1")


@pytest.mark.parametrize(
    ("word", "stream", "message"),
    [
        ("pages/v0", None, "no version 'v0' is selected by rules; such versions: v1"),
        ("page/v1", None, "did you mean 'pages'"),
        ("pages/v1", "pages", "--stream pages: pages/v1 is a version, it has no streams"),
    ],
)
def test_other_words_are_refused(word: str, stream: str | None, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse_source_version(SHELVES, word, stream)
