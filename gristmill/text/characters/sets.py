"""Characters: sets of code points, such as all capitals, by the tables of Unicode 14.0 (text/unicode/assigned.py)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import CodePoints, Numbers
from gristmill.text.unicode.assigned import assigned

Kind = TypeVar("Kind", np.bool_, np.uint8)

SMALL_SINCE_15 = "\u10fc\ua7f2\ua7f3\ua7f4\uab69"
"""Characters of Unicode 14.0 that are small letters since 15.0, so for Python 3.12."""

NUMERIC_SINCE_15_1 = "\u4e24\u4eac\u4fe9\u5006\u62d0\u6d1e\u7695\u79ed\u920e\u94a9"
"""Characters of Unicode 14.0 that are numeric since 15.1, so for Python 3.13."""

Chosen = NDArray[np.bool_]
"""For each code point of a column whether it was chosen (U)."""


@dataclass(frozen=True)
class Characters:
    """A set of characters, looked up in a table.

    Args:
        table: flags: for each code point whether it is in the set (0x110000).

    >>> column = CodePoints.of(["To Be", "OR"])
    >>> uppercase_characters().count(column).tolist(), uppercase_characters().among(column).tolist()
    ([2, 2], [True, False, False, True, False, False, True, True, False])
    """

    table: NDArray[np.bool_]

    @classmethod
    def that(cls, test: Callable[[NDArray[np.str_]], NDArray[np.bool_]]) -> "Characters":
        """The characters of Unicode 14.0 that pass a test, such as `numpy.strings.isupper`."""
        return cls(test(np.arange(0x110000, dtype=np.uint32).view("U1")) & assigned())

    @classmethod
    def of(cls, characters: str, ranges: Iterable[tuple[int, int]] = ()) -> "Characters":
        """The set of some characters.

        Args:
            characters: some of them.
            ranges: the first and the last code point of more of them.
        """
        table = np.zeros(0x110000, np.bool_)
        table[[ord(each) for each in characters]] = True
        for first, last in ranges:
            table[first : last + 1] = True
        return cls(table)

    def among(self, column: CodePoints) -> Chosen:
        """Whether each code point of a column is in the set (U)."""
        return self.among_units(column.units)

    def among_units(self, units: NDArray[np.integer]) -> Chosen:
        """Whether each of these code points is in the set; shape (n,), as that of `units`."""
        return look_up_kinds(units, self.table)

    def count(self, column: CodePoints) -> Numbers:
        """The number of code points of each text that are in the set (T)."""
        return count_chosen(column, self.among(column))


def look_up_kinds(units: NDArray[np.integer], table: NDArray[Kind]) -> NDArray[Kind]:
    """The entries of a table of one byte for each code point; shape (n,), as that of `units`.

    Args:
        units: code points (n).
        table: numbers of one byte, one for each code point (0x110000).

    >>> look_up_kinds(np.frombuffer(b"a.b", np.uint8), Characters.of(".").table).tolist()
    [False, True, False]
    """
    if units.itemsize == 1:  # five times faster than take
        return np.frombuffer(units.tobytes().translate(table[:256].tobytes()), table.dtype)
    return table.take(units)


def count_chosen(column: CodePoints, chosen: Chosen) -> Numbers:
    """The number of chosen code points of each text (T).

    Args:
        column: the texts.
        chosen: whether each code point is chosen (U).
    """
    return np.add.reduceat(chosen.view(np.uint8), column.bounds[:-1], dtype=np.int64)


def running_sums(values: NDArray[np.bool_] | Numbers) -> Numbers:
    """The sum of all values before each index, and the sum of all values at last (one longer than `values`).

    >>> running_sums(np.array([2, 3])).tolist()
    [0, 2, 5]
    """
    found = np.zeros(len(values) + 1, np.int64)
    found[1:] = values
    return np.cumsum(found, out=found)  # from int64 to int64: ten times faster than from truth values


@cache
def uppercase_characters() -> Characters:
    """The characters of `str.isupper`."""
    return Characters.that(np.strings.isupper)


@cache
def small_letters() -> Characters:
    """The characters of `str.islower`, and titlecase letters such as `ǅ`. A word in capitals has none of them."""
    return Characters.that(
        lambda every: (np.strings.islower(every) | _is_titlecase(every)) & ~np.isin(every, list(SMALL_SINCE_15))
    )


@cache
def numeric_characters() -> Characters:
    """The characters of `str.isnumeric`: digits, fractions, Roman and Chinese numerals."""
    return Characters.that(lambda every: np.strings.isnumeric(every) & ~np.isin(every, list(NUMERIC_SINCE_15_1)))


@cache
def digit_characters() -> Characters:
    """The characters of `str.isdigit`."""
    return Characters.that(np.strings.isdigit)


@cache
def alphanumeric_characters() -> Characters:
    r"""The characters of `\w` in a regular expression of Python: letters, numbers, and the low line."""
    return Characters.that(lambda all_of_them: np.strings.isalnum(all_of_them) | (all_of_them == "_"))


def _is_titlecase(characters: NDArray[np.str_]) -> NDArray[np.bool_]:
    return np.strings.istitle(characters) & ~np.strings.isupper(characters)
