"""How much Hypothesis draws."""

import os

from hypothesis import settings

_FACTOR = int(os.environ.get("GRISTMILL_DRAWS", "1"))


def draws(number: int) -> int:
    """So many examples for each commit; `make proofs` draws a multiple of them."""
    return number * _FACTOR


def same_draws() -> None:
    """Makes Hypothesis draw the same at each run, whatever time it takes, so that a commit is green or red.

    `make proofs` draws anew.
    """
    settings.register_profile("same", derandomize=_FACTOR == 1, deadline=None)
    settings.load_profile("same")
