"""Extraction: what is text and what is boilerplate, options, and pages that are made to take for ever."""

import pytest
from warcfile import WORDS, html

from gristmill.errors import RecipeError
from gristmill.readers.text import Unfit
from gristmill.readers.web.extraction import (
    DEPTH_LIMIT,
    check_depth,
    check_options,
    extract_main_text,
    extractor_version,
)


@pytest.mark.parametrize("extractor", ["resiliparse", "trafilatura"])
def test_the_main_text_is_taken_without_the_menu(extractor: str) -> None:
    pytest.importorskip(extractor)
    page = extract_main_text(html(WORDS * 5, title=" A\n mill "), extractor, {})
    assert (page.text, page.title, page.language) == ((WORDS * 5).strip(), "A mill", "en")


def test_options_are_those_of_the_library() -> None:
    assert extract_main_text(html(), "resiliparse", {"main_content": False}).text.startswith("Menu")
    with pytest.raises(RecipeError, match=r"^w: resiliparse has no option main; it has preserve_formatting, main"):
        check_options("resiliparse", {"main": True}, "w")
    assert extractor_version("resiliparse").startswith("2.")


def test_a_page_without_any_markup_has_its_text_alone() -> None:
    assert extract_main_text("just words", "resiliparse", {}).text == "just words"
    assert extract_main_text("", "resiliparse", {}).text == ""


@pytest.mark.parametrize("tag", ["div", "b", "table><tr><td", "ul><li", "x-y"])
def test_a_page_that_is_too_deep_is_unfit_before_it_is_parsed(tag: str) -> None:
    deep = f"<{tag}>" * 20_000
    for page in (deep, deep + f"</{tag.partition('>')[0]}>" * 20_000):
        with pytest.raises(Unfit, match=f"nested too deeply: more than {DEPTH_LIMIT} elements"):
            check_depth(page)


def test_a_long_page_is_not_deep() -> None:
    check_depth("<p>word<br><img src=x><li>" * 9_000 + "<div>a</div>" * 9_000)
