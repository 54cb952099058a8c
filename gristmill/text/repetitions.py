"""Repetitions: the stretches of texts in which a unit follows itself at least three times, found in linear time."""

from collections.abc import Sequence
from heapq import heapify, heappop, heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import SPACE, CodePoints, Numbers

MOST = 100
"""Code points of the longest unit."""

_TIMES = 3
_SHORT = 4  # code points of units that are looked for at every place
_LINE_FEED = 10
Repetition = tuple[int, int, int]
"""Where a repetition begins and ends in its text, and how often its unit occurs in it."""

_Candidate = tuple[int, int, int]
"""A begin, the length of a unit, and the last begin that is worth a look for it."""


def repetitions(column: CodePoints, texts: Sequence[str], most: int = MOST) -> list[list[Repetition]]:
    r"""The repetitions of each text: the matches of `(.+?)(\s?\1){3,}`, for units of at most `most` code points.

    A repetition begins as early as it can, with the shortest unit. One white space may stand before each further
    unit, and a unit has no line feed. An engine of regular expressions compares each place with all that follow it in
    its line, and needs hours for a long one. Here the text is compared with itself, shifted by each length of a unit;
    where a stretch of that length agrees, it is checked exactly.

    Args:
        column: the texts as code points.
        texts: the same texts.
        most: code points of the longest unit.

    Returns:
        For each text its repetitions, in order.

    >>> texts = ["ha ha haha! no no", "-----"]
    >>> repetitions(CodePoints.of(texts), texts)
    [[(0, 10, 4)], [(0, 5, 5)]]
    """
    waiting: list[list[_Candidate]] = [[] for _ in texts]
    differs = _next_different_code_point(column.units)
    for length in range(1, min(_SHORT, most) + 1):
        _put_repetition_candidates(waiting, column, length, *_repeated_unit_stretches(column, length))
    for shift in range(_SHORT + 1, most + 2):
        firsts, ends = _equal_shifted_stretches(column.units, shift)
        for length in (shift, shift - 1):  # the next unit follows, or white space and the next unit
            if _SHORT < length <= most:
                (long,) = np.nonzero((ends - firsts >= length) & (differs[firsts] < ends))
                _put_repetition_candidates(waiting, column, length, firsts[long], ends[long] - length)
    return [
        _earliest_repetitions(text, candidates) if candidates else []
        for text, candidates in zip(texts, waiting, strict=True)
    ]


def _put_repetition_candidates(
    waiting: list[list[_Candidate]], column: CodePoints, length: int, firsts: Numbers, lasts: Numbers
) -> None:
    homes = np.searchsorted(column.bounds, firsts, side="right") - 1
    begins = column.bounds[homes]
    for home, first, last in zip(homes.tolist(), (firsts - begins).tolist(), (lasts - begins).tolist(), strict=True):
        waiting[home].append((first, length, last))


def _next_different_code_point(units: NDArray[Any]) -> Numbers:
    """For each place the next one with another code point."""
    (changes,) = np.nonzero(units[1:] != units[:-1])
    ends = np.append(changes + 1, len(units))
    return np.repeat(ends, np.diff(ends, prepend=0))


def _repeated_unit_stretches(column: CodePoints, length: int) -> tuple[Numbers, Numbers]:
    """Stretches of begins of units that follow themselves three times, with or without white space before each.

    Returns:
        The first begin and the last one of each stretch.
    """
    units, size = column.units, len(column.units)
    ends = np.zeros(size + 4 * (length + 1), np.bool_)
    ends[:size] = True
    close, spaced = (_is_unit_repeated(units, length, shift) for shift in (length, length + 1))
    inside = max(0, size - length)
    spaced[:inside] &= (column.kinds[length : length + inside] & SPACE) != 0
    for _ in range(_TIMES):
        ends[:size] = (close & ends[length : size + length]) | (spaced & ends[length + 1 : size + length + 1])
    (edges,) = np.nonzero(np.diff(ends.astype(np.int8), prepend=0, append=0))
    return edges[::2], edges[1::2] - 1


def _is_unit_repeated(units: NDArray[Any], length: int, shift: int) -> NDArray[np.bool_]:
    """Whether the unit at each place is without a line feed, and stands `shift` later again."""
    again = np.zeros(len(units) + length, np.bool_)
    end = max(0, len(units) - shift)
    again[:end] = (units[:end] == units[shift:]) & (units[:end] != _LINE_FEED)
    letter = again.copy()
    for step in range(1, length):
        again[: len(units)] &= letter[step : step + len(units)]
    return again[: len(units)]


def _equal_shifted_stretches(units: NDArray[Any], shift: int) -> tuple[Numbers, Numbers]:
    """Stretches without a line feed, of `shift - 1` code points or more, that stand `shift` later again.

    Returns:
        The begins and the ends of the stretches.
    """
    end = max(0, len(units) - shift)
    other = (units[:end] != units[shift:]) | (units[:end] == _LINE_FEED)
    edges = np.concatenate(([-1], np.flatnonzero(other), [end]))
    (long,) = np.nonzero(np.diff(edges) >= shift)
    return edges[long] + 1, edges[long + 1]


def _earliest_repetitions(text: str, waiting: list[_Candidate]) -> list[Repetition]:
    """The repetitions of a text among the candidates: the earliest first, and there the shortest unit."""
    found: list[Repetition] = []
    heapify(waiting)
    free = 0
    while waiting:
        first, length, last = waiting[0]
        begin = max(first, free)
        if begin > last:
            heappop(waiting)
        elif begin > first:
            heapreplace(waiting, (begin, length, last))
        else:
            end = _repetition_end(text, text[begin : begin + length], begin + length)
            if end < 0:
                heapreplace(waiting, (begin + 1, length, last))
            else:
                found.append((begin, end, text.count(text[begin : begin + length], begin, end)))
                free = end
    return found


def _repetition_end(text: str, unit: str, at: int, times: int = 0) -> int:
    """Where the repetition of a unit ends, of which `times` further units are before `at`; -1 if they are too few.

    As in a regular expression, white space is taken before a unit if this leads to enough units.
    """
    length = len(unit)
    while True:
        spaced = text[at : at + 1].isspace() and text.startswith(unit, at + 1)
        close = text.startswith(unit, at)
        if not spaced and not close:
            return at if times >= _TIMES else -1
        if spaced and close and times < _TIMES:
            end = _repetition_end(text, unit, at + 1 + length, times + 1)
            if end >= 0:
                return end
            spaced = False
        at += length + spaced
        times += 1
