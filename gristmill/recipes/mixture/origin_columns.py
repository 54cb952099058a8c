"""Origin columns: columns of rules with what the source of a selection declares, such as its licence."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from gristmill.errors import RecipeError
from gristmill.recipes.rules import Column
from gristmill.recipes.selection import Selection

AnySelection = TypeVar("AnySelection", bound=Selection)


def set_origin_values(selection: AnySelection, declared: Mapping[str, str], who: str) -> AnySelection:
    """The selection with the values of its columns at `origin.`; the same object if it has none.

    Args:
        selection: the selection.
        declared: values that the source declares by the names of ORIGINS; empty: nothing.
        who: names the selection and its source, for the message.

    Raises:
        RecipeError: a column is not optional, and the source declares nothing.

    >>> from gristmill.recipes.rules import origin
    >>> bound = set_origin_values(Selection(columns=(origin("licence"),)), {"licence": "CC0-1.0"}, "mix 'blend'")
    >>> bound.columns[0].value
    'CC0-1.0'
    """
    if not any(column.is_origin for column in selection.columns):
        return selection
    return replace(selection, columns=tuple(_set_column_value(each, declared, who) for each in selection.columns))


def _set_column_value(column: Column, declared: Mapping[str, str], who: str) -> Column:
    if not column.is_origin:
        return column
    constant = column.path.rpartition(".")[2]
    value = declared.get(constant, "")
    if not value and not column.optional:
        raise RecipeError(
            f"{who}, column {column.name!r}: the source declares no {constant}; give it {constant}=, or say"
            f" origin({constant!r}, optional=True), which is null then"
        )
    return replace(column, value=value)
