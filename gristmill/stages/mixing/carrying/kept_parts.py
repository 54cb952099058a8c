"""KeptParts: the parts of a text that a change leaves as they are, and the spans of the text inside of them."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from gristmill.recipes.edits.edit import Edit
from gristmill.stages.mixing.edits.stretches import Stretch

Span = tuple[int, int, float]


class KeptPart(NamedTuple):
    """A part of a text that stays: its first code point before and after the change, and its length."""

    before: int
    after: int
    length: int


def left_by_edits(edits: Sequence[Edit], stretches: Iterable[Stretch], length: int) -> list[KeptPart]:
    """The parts of a text between the stretches that edits change.

    Args:
        edits: the edits.
        stretches: stretches that the edits change, sorted, without overlaps.
        length: length of the text, in code points.

    >>> left_by_edits([Edit(spans="pii-1__email", replacement="E")], [Stretch(3, 7, 0)], 9)
    [KeptPart(before=0, after=0, length=3), KeptPart(before=7, after=4, length=2)]
    """
    parts: list[KeptPart] = []
    before = after = 0
    for stretch in stretches:
        kept = stretch.start - before
        parts.append(KeptPart(before, after, kept))
        before = stretch.end
        after += kept + len(edits[stretch.edit].written(stretch.end - stretch.start))
    return [*parts, KeptPart(before, after, length - before)]


def left_by_change(before: str, after: str) -> list[KeptPart]:
    r"""The parts of a text that are in another one too, in the same order, for a change that does not say what it
    moved.

    These are the lines that occur once in both texts; between these, the words that occur once in both; and what is
    equal beside them. Other parts may have stayed, too: a part is missing rather than wrong. The time grows with the
    length, and not with its square.

    Args:
        before: the text.
        after: the other text.

    >>> left_by_change("Title\n\nto be  or not\n", "to be or not\n")
    [KeptPart(before=7, after=0, length=6), KeptPart(before=14, after=6, length=7)]
    """
    return _join_adjacent_parts(_find_kept_parts(before, after, 0, 0, (_split_into_lines, _split_into_words)))


_Cut = Callable[[str], list[str]]


def _split_into_lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _split_into_words(text: str) -> list[str]:
    return re.findall(r"\s+|\S+", text)


def _find_kept_parts(before: str, after: str, one: int, other: int, cuts: Sequence[_Cut]) -> Iterator[KeptPart]:
    """The kept parts of two texts, cut first into large pieces and then into small ones.

    `one` and `other`: where the texts begin.
    """
    if not before or not after:
        return
    if not cuts:
        yield from _common_prefix_and_suffix(before, after, one, other)
        return
    here = there = 0
    for part in [*_common_unique_pieces(cuts[0](before), cuts[0](after)), KeptPart(len(before), len(after), 0)]:
        yield from _find_kept_parts(
            before[here : part.before], after[there : part.after], one + here, other + there, cuts[1:]
        )
        yield KeptPart(one + part.before, other + part.after, part.length)
        here, there = part.before + part.length, part.after + part.length


def _common_unique_pieces(pieces: Sequence[str], others: Sequence[str]) -> Iterator[KeptPart]:
    """The pieces that occur once in each text, as many of them as have the same order in both."""
    starts, other_starts = ([0, *accumulate(map(len, each))] for each in (pieces, others))
    counts, other_counts = Counter(pieces), Counter(others)
    where = {piece: number for number, piece in enumerate(others) if other_counts[piece] == 1}
    pairs = [(i, where[piece]) for i, piece in enumerate(pieces) if counts[piece] == 1 and piece in where]
    for i, j in _longest_rising_chain(pairs):
        yield KeptPart(starts[i], other_starts[j], len(pieces[i]))


def _longest_rising_chain(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest chain of pairs whose second numbers rise; the first ones do."""
    ends: list[int] = []  # the smallest second number with which a chain of each length ends
    last: list[int] = []  # the index of its pair
    above: list[int] = []  # for each pair, the index of the pair before it in its chain
    for index, (_, number) in enumerate(pairs):
        length = bisect_left(ends, number)
        above.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [number], [index]
    chain: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = above[index]
    return chain[::-1]


def _common_prefix_and_suffix(before: str, after: str, one: int, other: int) -> list[KeptPart]:
    """What two texts begin with and end with. `one` and `other`: where they begin."""
    head = _common_prefix_length(before, after)
    tail = _common_prefix_length(before[head:][::-1], after[head:][::-1])
    end = KeptPart(one + len(before) - tail, other + len(after) - tail, tail)
    return [KeptPart(one, other, head), end]


def _common_prefix_length(one: str, other: str) -> int:
    """The number of code points with which both texts begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _join_adjacent_parts(parts: Iterable[KeptPart]) -> list[KeptPart]:
    """The parts, with those as one that follow each other in both texts."""
    joined: list[KeptPart] = []
    for part in parts:
        last = joined[-1] if joined else KeptPart(0, 0, 0)
        if joined and (last.before + last.length, last.after + last.length) == part[:2]:
            joined[-1] = KeptPart(last.before, last.after, last.length + part.length)
        elif part.length:
            joined.append(part)
    return joined


def move_spans(spans: Iterable[Span], parts: Sequence[KeptPart]) -> list[Span]:
    """The spans that lie in one kept part, with their offsets after the change.

    A span of which one code point changed is left out, and so is one inside of which something was put.

    Args:
        spans: spans of the text before the change.
        parts: parts that the change keeps, sorted.

    >>> move_spans([(0, 2, 1.0), (2, 5, 1.0), (7, 9, 0.5)], [KeptPart(0, 0, 3), KeptPart(7, 4, 2)])
    [(0, 2, 1.0), (4, 6, 0.5)]
    """
    begins = [part.before for part in parts]
    found: list[Span] = []
    for start, end, score in spans:
        part = parts[max(bisect_right(begins, start) - 1, 0)] if parts else KeptPart(0, 0, -1)
        if part.before <= start <= end <= part.before + part.length:
            found.append((start + part.after - part.before, end + part.after - part.before, score))
    return found
