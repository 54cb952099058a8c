"""A selection with other rules: what `--where` and `--rule` of a preview ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from gristmill.errors import RecipeError, known_names
from gristmill.recipes.mix import Stream
from gristmill.recipes.rules import Rule
from gristmill.recipes.selection import Selection

WHERE = "where"
"""Name of the rule that a condition becomes."""

AnySelection = TypeVar("AnySelection", bound=Selection)


def change_selections(selections: Sequence[AnySelection], where: str, rules: Mapping[str, str]) -> list[AnySelection]:
    """Selections with other conditions.

    Args:
        selections: selections of the streams that are previewed.
        where: a condition that rows must meet too; empty: none.
        rules: new conditions of rules, by name. Each stream that has the rule takes it.

    Returns:
        The selections, in the same order.

    Raises:
        RecipeError: no stream has a rule of such a name, or a condition is wrong.

    >>> from gristmill.recipes.rules import score
    >>> old = Selection(columns=(score("a-1__b", "b"),), include=(Rule("big", "b > 1", "small ones say little"),))
    >>> [new] = change_selections([old], "b < 9", {"big": "b > 2"})
    >>> [(rule.name, rule.where) for rule in new.include]
    [('big', 'b > 2'), ('where', 'b < 9')]
    """
    known = sorted({rule.name for each in selections for rule in (*each.include, *each.exclude)})
    for name in rules:
        if name not in known:
            raise RecipeError(
                f"no rule {name!r} to change; {known_names(name, known)}. --where adds a condition to those there are"
            )
    found: list[AnySelection] = []
    for each in selections:
        try:
            found.append(_change_rules(each, where, rules))
        except RecipeError as error:
            if len(selections) == 1:
                raise
            mend = "--stream NAME asks for one stream, and then the condition is only about its columns"
            who = f"stream {each.key!r}: " if isinstance(each, Stream) else ""
            raise RecipeError(f"{who}{error}; {mend}") from error
    return found


def _change_rules(selection: AnySelection, where: str, rules: Mapping[str, str]) -> AnySelection:
    more = (Rule(WHERE, where, "asked for on the command line"),) if where else ()
    return replace(
        selection,
        include=(*(_with_changed_rule(rule, rules) for rule in selection.include), *more),
        exclude=tuple(_with_changed_rule(rule, rules) for rule in selection.exclude),
    )


def _with_changed_rule(rule: Rule, rules: Mapping[str, str]) -> Rule:
    return replace(rule, where=rules.get(rule.name, rule.where))
