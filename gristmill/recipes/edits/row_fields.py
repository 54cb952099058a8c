"""The fields of the rows that a selection writes: paths that it keeps or leaves out, checked when a recipe loads."""

import re
from collections.abc import Sequence

from gristmill.errors import RecipeError

_PATH = re.compile(r"[^.\x00]+(\.[^.\x00]+)*")
_ALWAYS = ("id", "source", "text")


def check_fields(keep: Sequence[str], discard: Sequence[str], who: str) -> None:
    """Checks the paths that a selection keeps or discards.

    Args:
        keep: paths, such as `created` or `metadata.url`; empty: all.
        discard: paths.
        who: the selection, for messages.

    Raises:
        RecipeError: a path is wrong, is that of a field that each row must have, or both lists have paths.

    >>> check_fields((), ("metadata.raw", "id"), "stream 'tales'")
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: stream 'tales': discard has 'id', which each row must have; leave it out
    """
    if keep and discard:
        raise RecipeError(f"{who}: give keep= or discard=, and not both")
    for name, paths in (("keep", keep), ("discard", discard)):
        for path in paths:
            if not _PATH.fullmatch(path):
                raise RecipeError(f"{who}: {name} has {path!r}; give a field or a path such as metadata.url")
            if path.partition(".")[0] in _ALWAYS:
                kept = "which each row must have" if name == "discard" else "which each row has anyway"
                raise RecipeError(f"{who}: {name} has {path!r}, {kept}; leave it out")
