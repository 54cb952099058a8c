"""Plots of a few hundred characters. Dagster's pages show Markdown of less than 1,000 characters without a click."""

from collections.abc import Sequence
from html import escape

from gristmill.reports.histogram import BAR, TEXT

WIDE, TALL = 288, 48
"""Width and height of the bars, in SVG units."""
MOST = 24
"""Largest number of bars."""


def draw_small(counts: Sequence[float], first: str, last: str) -> str:
    """The outline of bars as SVG, from left to right.

    Args:
        counts: their heights, at least 0; one or more, at most MOST.
        first: words below the first bar.
        last: words below the last bar.

    >>> 'd="M0 48V24h144V0h144V48z"' in draw_small([1, 2], "0", "9")
    True
    """
    top, step = max(counts) or 1, WIDE // len(counts)
    steps = "".join(f"V{TALL - max(round(TALL * each / top), int(each > 0))}h{step}" for each in counts)
    size = f'width="{WIDE}" height="{TALL + 14}" font-size="11"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><path fill="{BAR}" d="M0 {TALL}{steps}V{TALL}z"/>'
        f'<g fill="{TEXT}"><text y="{TALL + 12}">{escape(first)}</text>'
        f'<text x="{WIDE}" y="{TALL + 12}" text-anchor="end">{escape(last)}</text></g></svg>'
    )
