"""Versions of sources that a recipe reads, each named as `<source>/<version>`."""

import re
from collections.abc import Mapping, Sequence

from gristmill.errors import RecipeError
from gristmill.lake.address import NAME, VERSION
from gristmill.recipes.shelf import known_recipe
from gristmill.recipes.source import Source

_SOURCE = re.compile(rf"(?P<source>{NAME.pattern})/(?P<version>{VERSION.pattern})")


def versions_by_source(sources: Sequence[str]) -> Mapping[str, str]:
    """The version of each source, by the source's name, in the declared order. What has another form is left out.

    Args:
        sources: names of sources with versions.

    >>> versions_by_source(("wiki/v0", "news/v1"))
    {'wiki': 'v0', 'news': 'v1'}
    """
    found = (_SOURCE.fullmatch(each) for each in sources)
    return {each["source"]: each["version"] for each in found if each}


def check_sources(sources: Sequence[str], who: str) -> None:
    """Checks the form of the sources that a recipe names.

    Args:
        sources: names of sources with versions.
        who: the recipe, for messages.

    Raises:
        RecipeError: none is named, one has no version, or one is named twice.
    """
    if not sources:
        raise RecipeError(f"{who}: give sources=, such as ('wiki/v0', 'news/v0')")
    for each in sources:
        if not _SOURCE.fullmatch(each):
            raise RecipeError(f"{who}: source {each!r}: give a source and its version, such as 'wiki/v0'")
    if len(versions_by_source(sources)) != len(sources):
        raise RecipeError(f"{who}: a source is named twice in {', '.join(sources)}; name each once")


def check_there(versions: Mapping[str, str], sources: Mapping[str, Source], who: str) -> None:
    """Checks that the sources that a recipe names are on the shelves.

    Args:
        versions: the version of each source, by its name.
        sources: all sources, by name.
        who: the recipe, for messages.

    Raises:
        RecipeError: a source is on no shelf, or does not have the version.
    """
    for name, version in versions.items():
        source = known_recipe("source", sources, name, who)
        known_recipe("version", dict.fromkeys(source.versions), version, f"{who}, {name}")
