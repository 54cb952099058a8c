"""Texts without punctuation and in lower case, as RedPajama and others normalize them."""

import string
import unicodedata
from dataclasses import replace
from functools import cache

import numpy as np

from gristmill.text.characters.sets import Characters
from gristmill.text.code_points import BREAK, CodePoints, Numbers

_PUNCTUATION = string.punctuation.encode()


def normalized(column: CodePoints, lines: Numbers) -> CodePoints:
    r"""The texts of a column without the punctuation of ASCII, in lower case, with marks apart from letters (NFD).

    White space stays as it is, and so do all lines: line i of the result is line i of the column, normalized.

    Args:
        column: the texts.
        lines: the number of the first line of each text, and the number of all lines (T + 1).

    >>> points = normalized(CodePoints.of(["Don't!\nÉté"]), np.array([0, 2]))
    >>> ascii("".join(map(chr, points.units.tolist()))), points.bounds.tolist()
    ("'dont\\ne\\u0301te\\u0301\\n'", [0, 11])
    """
    if column.units.itemsize == 1:
        joined = column.units.tobytes().translate(None, _PUNCTUATION).lower().decode("ascii")
    else:
        kept = column.units[~_punctuation().among(column)].astype("<u4")
        joined = unicodedata.normalize("NFD", kept.tobytes().decode("utf-32-le", "surrogatepass").lower())
    points = CodePoints.joined(joined, column.bounds)
    starts = np.zeros(int(lines[-1]) + 1, np.int64)
    starts[1:] = np.flatnonzero(points.kinds & BREAK) + 1
    return replace(points, bounds=starts[lines])


@cache
def _punctuation() -> Characters:
    return Characters.of(string.punctuation)
