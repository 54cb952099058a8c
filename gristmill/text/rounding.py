"""Rounding of many numbers at once, as Python rounds one."""

import math

import numpy as np
from numpy.typing import NDArray

_DOUBT = 1e-13  # relative; hundreds of times the error of a product of two doubles
_HUGE = 1e15  # a product of this size may not be exact any more


def round_like_python(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """The values as `round(value, digits)` gives them, digit for digit; `np.round` differs near a half.

    Args:
        values: float64 array, shape (n,); not changed. One that is not finite stays as it is.
        digits: decimals that are kept.

    Returns:
        Shape (n,).

    >>> round_like_python(np.array([0.285, 1 / 3]), 2).tolist()
    [0.28, 0.33]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * 10.0**digits
        nearest = np.rint(scaled)
        written: NDArray[np.float64] = nearest / 10.0**digits
        doubtful = np.abs(np.abs(scaled - nearest) - 0.5) < _DOUBT * np.maximum(np.abs(scaled), 1.0)
        doubtful |= ~(np.abs(scaled) < _HUGE)
    for place in np.flatnonzero(doubtful):
        value = float(values[place])
        written[place] = round(value, digits) if math.isfinite(value) else value
    return written
