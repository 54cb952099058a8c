"""Retention: which share of the documents is left at a threshold, and the thresholds that rules have today."""

import re
from typing import NamedTuple

from gristmill.recipes.selection import Selection
from gristmill.scores.sketch import Sketch, floor_of

_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_ORDER = r"(<=|>=|<|>)"
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
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


def thresholds_of(selection: Selection) -> list[RuleThreshold]:
    """The thresholds of rules: `column >= number`, `number < column`, also with coalesce() around the column.

    >>> from gristmill.recipes.rules import Rule, score
    >>> rule = Rule("long", "words >= 80 AND 0.5 > share", "short texts say little")
    >>> columns = (score("length-1__words", "words"), score("quality-1__share", "share"))
    >>> [tuple(each) for each in thresholds_of(Selection(columns=columns, include=(rule,)))]
    [('long', 'words', '>=', 80.0), ('long', 'share', '<', 0.5)]
    """
    found: list[RuleThreshold] = []
    for rule in (*selection.include, *selection.exclude):
        for column in selection.columns:
            plain = rf"(?<![\w.]){re.escape(column.name)}(?![\w.(\[])"
            name = rf"(?:{plain}|(?i:coalesce)\(\s*{plain}\s*,[^()]*\))"
            for order, number in re.findall(rf"{name}\s*{_ORDER}\s*{_NUMBER}(?![\w.])", rule.where):
                found.append(RuleThreshold(rule.name, column.name, order, float(number)))
            for number, order in re.findall(rf"(?<![\w.]){_NUMBER}\s*{_ORDER}\s*{name}", rule.where):
                found.append(RuleThreshold(rule.name, column.name, _MIRRORED[order], float(number)))
    return found


def curve_of(sketch: Sketch, points: int = POINTS) -> list[tuple[float, float]]:
    """The share of numbers that are a threshold or more, at some thresholds.

    Args:
        sketch: the numbers; floored.
        points: how many thresholds, about: those between which equally many numbers lie.

    Returns:
        (threshold, share) in ascending order of thresholds; empty without numbers.

    >>> import numpy as np
    >>> curve_of(Sketch.of(np.array([-1.0, 2.0, 2.0, 4.0]), floored=True))
    [(-1.0, 1.0), (2.0, 0.75), (4.0, 0.25)]
    """
    total = sketch.total
    found: list[tuple[float, float]] = []
    below = last = 0
    for number, (key, count) in enumerate(sketch.counts.items(), start=1):
        if not found or below - last >= total / points or number == len(sketch.counts):
            found.append((floor_of(key), (total - below) / total))
            last = below
        below += count
    return found
