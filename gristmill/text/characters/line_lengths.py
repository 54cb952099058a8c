"""The lengths of lines as `str.splitlines` cuts them, of texts of any size."""

from gristmill.text.characters.stretches import STRETCH, split_into_stretches


def line_lengths(text: str, size: int = STRETCH) -> tuple[int, int, int]:
    r"""The length of the longest line, the number of lines, and the length of all lines, without their ends.

    Args:
        text: any text.
        size: code points that are looked at together.

    >>> line_lengths("one\r\nseven\x85\n")
    (5, 3, 8)
    """
    longest = count = total = 0
    begun: int | None = None  # the length so far of a line that goes on in the next stretch
    for stretch in split_into_stretches(text, size) if text else ():
        lengths = [len(line) for line in stretch.splitlines()]
        lengths[0] += begun or 0
        begun = lengths.pop() if stretch[-1].splitlines()[0] else None
        longest = max(longest, *lengths, 0)
        count, total = count + len(lengths), total + sum(lengths)
    if begun is not None:
        longest, count, total = max(longest, begun), count + 1, total + begun
    return longest, count, total
