"""Neighbouring pieces of work that one item does together, because a request costs more than its bytes."""

from collections.abc import Iterator, Mapping


def neighbours(weights: Mapping[int, int], most: int) -> Iterator[tuple[int, int]]:
    """Numbers in ranges [first, last) without a gap.

    Args:
        weights: the weight of each number.
        most: the most that the numbers of a range weigh together, unless one alone weighs more.

    >>> list(neighbours({0: 1, 1: 1, 2: 5, 4: 1}, 2))
    [(0, 2), (2, 3), (4, 5)]
    """
    first = last = -1
    held = 0
    for number, weight in sorted(weights.items()):
        if number != last or held + weight > most:
            if last > first:
                yield first, last
            first, held = number, 0
        last, held = number + 1, held + weight
    if last > first:
        yield first, last
