"""The version of a source that a command names where it may also name a mix."""

from collections.abc import Sequence

from gristmill.errors import RecipeError
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source


def parse_source_version(shelves: Sequence[str], word: str, stream: str | None) -> tuple[Source, str]:
    """The source and the version of a word such as `wiki/v1`.

    Args:
        shelves: the packages that hold the recipes.
        word: the source's name, a slash and the version.
        stream: value of the option --stream, which only mixes have.

    Raises:
        RecipeError: no source has the name, no rules select the version, or a stream is named.
    """
    name, _, version = word.partition("/")
    source = find_recipe("sources", Source, shelves, name)
    if version not in source.versions[1:]:
        names = ", ".join(source.versions[1:]) or "none"
        raise RecipeError(f"source {name!r}: no version {version!r} is selected by rules; such versions: {names}")
    if stream:
        raise RecipeError(f"--stream {stream}: {word} is a version, it has no streams")
    return source, version
