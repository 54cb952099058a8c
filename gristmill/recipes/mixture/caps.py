"""Caps: at most so many documents of each value of a key, such as of each host."""

from dataclasses import replace
from typing import TypeVar

from gristmill.errors import RecipeError
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.selection import Selection

AnySelection = TypeVar("AnySelection", bound=Selection)


def capped(selection: AnySelection, numbers: str, most: int) -> AnySelection:
    """Adds a cap to a stream or a revision. A document without the key is kept.

    The documents of the version that is read are numbered, so the cap counts also those that other rules drop. To count
    what rules keep, make a version by these rules, and number that one.

    Args:
        selection: the stream or revision.
        numbers: name of the dedupe recipe, of KeyUnits, that numbers the documents of each key.
        most: documents of each key, in each snapshot.

    Returns:
        The same with one column and one rule more.

    Raises:
        RecipeError: `most` is below 1.

    >>> from gristmill.recipes.mix import Stream
    >>> web = capped(Stream(source="web", version="v1"), "hosts-1", most=1000)
    >>> web.exclude[0].name, web.exclude[0].where
    ('most-of-hosts-1', 'hosts_1__number > 1000')
    """
    if most < 1:
        raise RecipeError(f"cap of {numbers!r}: most is {most}; give 1 document or more")
    column = score(f"{numbers}__number", optional=True)
    rule = Rule(
        f"most-of-{numbers}", f"{column.name} > {most}", f"at most {most:,} documents of each key in a snapshot"
    )
    columns = selection.columns if column in selection.columns else (*selection.columns, column)
    return replace(selection, columns=columns, exclude=(*selection.exclude, rule))
