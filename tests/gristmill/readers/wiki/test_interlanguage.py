"""Links to other languages, and titles that look like them."""

import pytest

from gristmill.readers.wiki.interlanguage import LANGUAGES, is_interlanguage


@pytest.mark.parametrize("link", ["fr:Accueil", "De:Mühle", "zh-min-nan:X", "be-x-old:X", "simple:Rye"])
def test_codes_of_wikipedias_are_languages(link: str) -> None:
    assert is_interlanguage(*link.split(":"))


@pytest.mark.parametrize(
    "link", ["CSI:Miami", "Re:Zero", "Up:X", "ISO:9001", "MTV: Live", "It: Chapter Two", "wikt:word"]
)
def test_other_prefixes_are_words(link: str) -> None:
    assert not is_interlanguage(*link.split(":"))


def test_the_list_is_that_of_the_wikipedias() -> None:
    assert 330 < len(LANGUAGES) < 400
    assert all(code == code.lower() and 2 <= len(code) <= 12 for code in LANGUAGES)
