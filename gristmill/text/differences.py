"""Differences of two texts, for people: what was there, and what is there now."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

_LINES = 400
"""Most lines of either text that are aligned with each other, because that takes quadratic time."""
_SHOWN = 400
_CONTEXT = 20
"""Characters that are shown before and after what differs."""


class Difference(NamedTuple):
    """A part of a text that differs in another text.

    Attributes:
        start: its first code point in the first text.
        before: it, in the first text, with some characters around it.
        after: part of the other text that is in its place, with the same characters around it.
    """

    start: int
    before: str
    after: str


def find_text_differences(before: str, after: str) -> Iterator[Difference]:
    r"""The parts that differ, in order. Lines are aligned with each other; of changed lines the equal ends are cut.

    Texts that differ in more than 400 lines, from the first to the last that does, have one difference.

    Args:
        before: a text.
        after: another text.

    >>> list(find_text_differences("To be,\nor not\nto be.", "To be,\nor not\nto bee."))
    [Difference(start=19, before='to be.', after='to bee.')]
    """
    if before == after:
        return
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = _common_prefix_length(old, new)
    tail = _common_prefix_length(old[head:][::-1], new[head:][::-1])
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    start = sum(map(len, old[:head]))
    if max(len(old_middle), len(new_middle)) > _LINES:
        yield _trim_equal_ends(start, "".join(old_middle), "".join(new_middle))
        return
    starts = [start]
    for line in old_middle:
        starts.append(starts[-1] + len(line))
    for kind, a, b, c, d in SequenceMatcher(None, old_middle, new_middle, autojunk=False).get_opcodes():
        if kind != "equal":
            yield _trim_equal_ends(starts[a], "".join(old_middle[a:b]), "".join(new_middle[c:d]))


def first_differences(before: str, after: str, most: int = 5) -> tuple[Difference, ...]:
    """The first parts that differ, each with at most 400 characters of both texts.

    Args:
        before: a text.
        after: another text.
        most: largest number of parts.
    """
    return tuple(
        Difference(each.start, each.before[:_SHOWN], each.after[:_SHOWN])
        for each in islice(find_text_differences(before, after), most)
    )


def _trim_equal_ends(start: int, old: str, new: str) -> Difference:
    """A difference without the equal beginnings and ends."""
    same = _common_prefix_length(old, new)
    rest, other = old[same:], new[same:]
    equal = _common_prefix_length(rest[::-1], other[::-1])
    first = max(0, same - _CONTEXT)
    last = len(old) - max(0, equal - _CONTEXT), len(new) - max(0, equal - _CONTEXT)
    return Difference(start + same, old[first : last[0]], new[first : last[1]])


def _common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items two sequences have in common at their beginning."""
    found = (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(found, min(len(one), len(other)))
