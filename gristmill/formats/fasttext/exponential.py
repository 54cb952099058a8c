"""The exponential function of floats, with the bits that the GNU C library gives. fastText calls that library.

numpy's own differs in the last bit, and differs from processor to processor.
"""

from decimal import Decimal, localcontext
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_STEPS = 32  # 2**(i / 32) comes from a table, and a polynomial does the rest
_PER_STEP = float.fromhex("0x1.71547652b82fep+0") * _STEPS  # steps in 1.0: 32 / ln 2
_CUBIC = float.fromhex("0x1.c6af84b912394p-5") / _STEPS**3
_SQUARE = float.fromhex("0x1.ebfce50fac4f3p-3") / _STEPS**2
_LINEAR = float.fromhex("0x1.62e42ff0c52d6p-1") / _STEPS
_MOST = 87.0  # e**87 is nearly the largest float


def exponential(values: Floats) -> Floats:
    """The exponential function of each value. Values are limited to -87 ... 87 before.

    Source: S. Nagy, "Optimized Routines" of Arm (`expf`), which the GNU C library has since version 2.27: a table
    of 32 steps, and a polynomial of three terms. Sums, products and powers of two give the same bits on each processor.

    >>> exponential(np.array([0.0, 1.0, -1.0], np.float32)).tolist()
    [1.0, 2.7182817459106445, 0.3678794503211975]
    """
    scaled = values.astype(np.float64)
    np.clip(scaled, -_MOST, _MOST, out=scaled)
    scaled *= _PER_STEP
    steps = np.rint(scaled)
    scaled -= steps
    whole = steps.astype(np.int32)
    found = scaled * _CUBIC
    found += _SQUARE
    found *= scaled * scaled
    scaled *= _LINEAR
    scaled += 1.0
    found += scaled
    found *= np.ldexp(_powers().take(whole & (_STEPS - 1)), whole >> 5)
    return found.astype(np.float32)


@cache
def _powers() -> NDArray[np.float64]:
    """2**(i / 32) for i below 32, each the nearest double."""
    with localcontext(prec=50):
        return np.array([float(Decimal(2) ** (Decimal(step) / _STEPS)) for step in range(_STEPS)])
