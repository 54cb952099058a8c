"""Retention: which share of the documents is left at a threshold, and the thresholds that rules have today."""

from typing import NamedTuple

from gristmill.recipes.selection import Selection
from gristmill.recipes.sql.rule_sql import open_sandbox
from gristmill.recipes.sql.rule_tree import column_comparisons
from gristmill.scores.sketch import Sketch, bucket_lower_edge

POINTS = 60
"""Points of a curve, at most."""


class RuleThreshold(NamedTuple):
    """A number that a rule compares a column with.

    Attributes:
        rule: its name.
        column: name of the column.
        order: `<`, `<=`, `>` or `>=`, written between column and number.
        number: the number.
    """

    rule: str
    column: str
    order: str
    number: float


def rule_thresholds(selection: Selection) -> list[RuleThreshold]:
    """The thresholds of rules: the constants that they compare a column with (see `comparisons`).

    Args:
        selection: columns and rules; its SQL was checked.

    >>> from gristmill.recipes.rules import Rule, score
    >>> rule = Rule("long", "words >= 80 AND 0.5 > share", "short texts say little")
    >>> columns = (score("length-1__words", "words"), score("quality-1__share", "share"))
    >>> [tuple(each) for each in rule_thresholds(Selection(columns=columns, include=(rule,)))]
    [('long', 'words', '>=', 80.0), ('long', 'share', '<', 0.5)]
    """
    with open_sandbox() as connection:
        return [
            RuleThreshold(rule.name, *comparison)
            for rule in (*selection.include, *selection.exclude)
            for comparison in column_comparisons(connection, rule.where)
        ]


def retention_curve(sketch: Sketch, points: int = POINTS) -> list[tuple[float, float]]:
    """The share of numbers that are a threshold or more, at some thresholds.

    Args:
        sketch: the numbers; floored.
        points: number of thresholds, about: those between which equally many numbers lie.

    Returns:
        (threshold, share) in ascending order of thresholds; empty without numbers.

    >>> import numpy as np
    >>> retention_curve(Sketch.from_numbers(np.array([-1.0, 2.0, 2.0, 4.0]), floored=True))
    [(-1.0, 1.0), (2.0, 0.75), (4.0, 0.25)]
    """
    total = sketch.total
    found: list[tuple[float, float]] = []
    below = last = 0
    for number, (key, count) in enumerate(sketch.counts.items(), start=1):
        if not found or below - last >= total / points or number == len(sketch.counts):
            found.append((bucket_lower_edge(key), (total - below) / total))
            last = below
        below += count
    return found
