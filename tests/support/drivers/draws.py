"""How much Hypothesis draws."""

import os

_FACTOR = int(os.environ.get("GRISTMILL_DRAWS", "1"))


def draws(number: int) -> int:
    """So many examples for each commit; `make proofs` draws a multiple of them."""
    return number * _FACTOR
