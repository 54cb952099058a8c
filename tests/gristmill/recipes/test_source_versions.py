"""Versions of sources that a recipe names."""

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.source import Source
from gristmill.recipes.source_versions import check_sources, check_there, versions_by_source


def test_the_versions_come_in_the_declared_order() -> None:
    assert list(versions_by_source(("wiki/v1", "news/v0")).items()) == [("wiki", "v1"), ("news", "v0")]


@pytest.mark.parametrize(
    ("sources", "why"),
    [
        ((), "give sources="),
        (("wiki",), "source 'wiki': give a source and its version"),
        (("wiki/v0", "wiki/v1"), "a source is named twice in wiki/v0, wiki/v1"),
    ],
)
def test_what_is_no_version_of_a_source_is_refused(sources: tuple[str, ...], why: str) -> None:
    with pytest.raises(RecipeError, match=why):
        check_sources(sources, "recipe 'a-1'")


@pytest.mark.parametrize("versions", [{"news": "v0"}, {"wiki": "v1"}])
def test_a_version_that_no_shelf_has_is_refused(versions: dict[str, str]) -> None:
    sources = {"wiki": Source(name="wiki", convert=lambda _: iter(()))}
    check_there({"wiki": "v0"}, sources, "recipe 'a-1'")
    with pytest.raises(RecipeError, match=r"recipe 'a-1'.* names the (source 'news'|version 'v1')"):
        check_there(versions, sources, "recipe 'a-1'")
