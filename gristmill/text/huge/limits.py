"""What a document may have at most, so that a document of 100 MB is tagged in 1 GB of memory, whatever it holds."""

from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

from gristmill.errors import DataError

MOST_SPANS = 1_000_000
"""Spans of one label."""

MOST_COMPARED = 18_000_000
"""Words, or lines, that are compared with each other. A text of 100 MB has more only if they are unusually short."""

MEND = (
    "leave the document out of the version that is tagged: a rule of its revision can read `lines` or `chars` of "
    "length-1"
)
"""What a person can do about it."""

T = TypeVar("T")


class TooManySpans(DataError):  # noqa: N818 - as in gristmill.errors
    """A document has too many spans of a label.

    Attributes:
        label: name of the label.
        number: index of the document among those that the tagger was given.
    """

    def __init__(self, label: str, number: int = 0) -> None:
        self.label, self.number = label, number
        super().__init__(f"label {label!r}: more than {MOST_SPANS:,} spans, the most that one document may have")

    def __reduce__(self) -> tuple[type["TooManySpans"], tuple[str, int]]:
        return type(self), (self.label, self.number)


def bounded(spans: Iterable[T], label: str, number: int = 0, most: int = MOST_SPANS) -> list[T]:
    """The spans as a list.

    Args:
        spans: spans of one document and label.
        label: its name.
        number: index of the document among those that the tagger was given.
        most: largest number of spans.

    Raises:
        TooManySpans: there are more. They are not all looked for.

    >>> bounded(iter([(0, 2, 1), (3, 5, 1)]), "hits")
    [(0, 2, 1), (3, 5, 1)]
    """
    found = list(islice(spans, most + 1))
    if len(found) > most:
        raise TooManySpans(label, number)
    return found
