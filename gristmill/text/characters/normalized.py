"""Texts without punctuation and in lower case, as RedPajama and others normalize them."""

import re
import string
import unicodedata
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np

from gristmill.text.characters.sets import Characters, Chosen, look_up_kinds
from gristmill.text.code_points import BREAK, CodePoints, Numbers

_PUNCTUATION = string.punctuation.encode()

_MARKS = 30
"""Combining marks that are put in order together. UAX #15 allows a text so many in a row (Stream-Safe Text Format)."""


def normalize_column(column: CodePoints, lines: Numbers) -> CodePoints:
    r"""The texts of a column without the punctuation of ASCII, in lower case, with marks apart from letters (NFD).

    White space stays as it is, and so do all lines: line i of the result is line i of the column, normalized. Of more
    than 30 combining marks in a row, each 30 are put in order.

    Args:
        column: the texts.
        lines: the number of the first line of each text, and the number of all lines (T + 1).

    >>> points = normalize_column(CodePoints.of(["Don't!\nÉté"]), np.array([0, 2]))
    >>> ascii("".join(map(chr, points.units.tolist()))), points.bounds.tolist()
    ("'dont\\ne\\u0301te\\u0301\\n'", [0, 11])
    """
    if column.units.itemsize == 1:
        joined = column.units.tobytes().translate(None, _PUNCTUATION).lower().decode("ascii")
    else:
        kept = column.units[~_ascii_punctuation().among(column)].astype("<u4")
        joined = normalize_unicode("NFD", kept.tobytes().decode("utf-32-le", "surrogatepass").lower())
    points = CodePoints.joined(joined, column.bounds, wide=column.units.dtype.itemsize == _WIDE)
    starts = np.zeros(int(lines[-1]) + 1, np.int64)
    starts[1:] = np.flatnonzero(points.kinds & BREAK) + 1
    return replace(points, bounds=starts[lines])


_WIDE = 4


def normalize_unicode(form: Literal["NFC", "NFD"], text: str) -> str:
    """A text in a normal form of Unicode, in time that grows with its length.

    `unicodedata.normalize` puts n marks in a row in order in n * n steps.

    Args:
        form: `NFD` or `NFC`.
        text: any text.

    >>> normalize_unicode("NFC", "Mu" + chr(0x308) + "hle")
    'Mühle'
    """
    marks = np.flatnonzero(
        look_up_kinds(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4"), _is_combining_mark())
    )
    if not (marks[_MARKS:] - marks[:-_MARKS] == _MARKS).any():
        return unicodedata.normalize(form, text)
    ends = [0, *(found.end() for found in _combining_run_pattern().finditer(text)), len(text)]
    return "".join([unicodedata.normalize(form, text[start:end]) for start, end in pairwise(ends)])


@cache
def _is_combining_mark() -> Chosen:
    """For each code point whether it is a combining mark: of another class than 0 (0x110000)."""
    return np.fromiter((unicodedata.combining(chr(code)) > 0 for code in range(0x110000)), np.bool_, 0x110000)


@cache
def _combining_run_pattern() -> re.Pattern[str]:
    """Finds 30 combining marks in a row."""
    marks = "".join(chr(code) for code in np.flatnonzero(_is_combining_mark()).tolist())
    return re.compile(f"[{marks}]{{{_MARKS}}}")


@cache
def _ascii_punctuation() -> Characters:
    return Characters.of(string.punctuation)
