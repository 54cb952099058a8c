"""Rounding of many numbers at once, as Python rounds one."""

import numpy as np
from numpy.typing import NDArray

_DOUBT = 1e-13  # relative; hundreds of times the error of a product of two doubles


def rounded(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """The values as `round(value, digits)` gives them: to the nearest decimal, which `np.round` misses near a half.

    Args:
        values: shape (n,); finite, below 10^15 / 10^digits.
        digits: decimals that are kept.

    >>> rounded(np.array([0.285, 1 / 3]), 2).tolist()
    [0.28, 0.33]
    """
    scaled = values * 10**digits
    nearest: NDArray[np.float64] = np.rint(scaled) / 10**digits
    doubtful = np.abs(scaled - np.floor(scaled) - 0.5) < _DOUBT * np.maximum(np.abs(scaled), 1.0)
    for place in np.flatnonzero(doubtful):
        nearest[place] = round(float(values[place]), digits)
    return nearest
