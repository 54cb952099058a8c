"""Huge texts in stretches, so that what is computed of them takes little memory."""

from collections.abc import Iterator

STRETCH = 1 << 20
"""Code points of a stretch."""


def split_into_stretches(text: str, size: int = STRETCH) -> Iterator[str]:
    r"""A text in pieces of about `size` code points. A carriage return and its line feed are never parted.

    Args:
        text: any text.
        size: code points of a piece, 1 at least.

    Yields:
        Pieces that make the text; one empty piece for the empty text.

    >>> list(split_into_stretches("ab\r\nc", 3))
    ['ab\r\n', 'c']
    """
    if len(text) <= size:
        yield text
        return
    first = 0
    while first < len(text):
        last = first + size
        if text[last - 1 : last + 1] == "\r\n":
            last += 1
        yield text[first:last]
        first = last
