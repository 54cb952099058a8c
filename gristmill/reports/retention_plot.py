"""Draws which share of documents is left at each threshold of a score, as SVG."""

import math
from collections.abc import Callable, Sequence

from gristmill.reports.histogram import BAR, BOTTOM, FAINT, HEIGHT, LEFT, TEXT, TOP, WIDTH, svg_text_at
from gristmill.reports.score_plot import short_number

MARK = "#cf222e"
"""Colour of thresholds."""

Curve = Sequence[tuple[float, float]]
"""(threshold, share of the documents that are at or above it), in ascending order of thresholds."""


def draw_retention(every: Curve, kept: Curve, thresholds: Sequence[tuple[str, float]], title: str, legend: str) -> str:
    """A drawing of two curves as SVG, with a line for each threshold.

    Args:
        every: curve of all documents; one point or more.
        kept: curve of the documents that are kept today; it may be empty.
        thresholds: words and number of each line.
        title: text above the curves.
        legend: text below them.
    """
    least, most = every[0][0], every[-1][0]
    across = _axis_scale(least, most, every)
    base, room = HEIGHT - BOTTOM, HEIGHT - TOP - BOTTOM
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        svg_text_at(8, 16, title, size=13),
    ]
    for share in (0, 0.5, 1):
        y = base - share * room
        parts.append(svg_text_at(LEFT - 6, y + 4, f"{share:.0%}", anchor="end"))
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - 8}" y2="{y}" stroke="{FAINT}"/>')
    for curve, colour, dashes in ((every, BAR, ""), (kept, TEXT, ' stroke-dasharray="5 3"')):
        steps = " ".join(f"{across(at):.1f},{base - share * room:.1f}" for at, share in curve)
        parts.append(f'<polyline points="{steps}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
    for number, (words, at) in enumerate(thresholds):
        if least <= at <= most:
            x = across(at)
            right = x > WIDTH * 2 / 3
            parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{base}" stroke="{MARK}"/>')
            # The words stand where no curve is: below it as long as most documents are above the threshold.
            high = next(share for point, share in every if point >= at) > 0.5
            y = base - 6 - 13 * (number % 8) if high else TOP + 10 + 13 * (number % 8)
            parts.append(svg_text_at(x + (-4 if right else 4), y, words, anchor="end" if right else "start"))
    shown = [each for each, _ in every]
    ticks = shown if len(shown) <= 6 else [shown[round(part * (len(shown) - 1) / 5)] for part in range(6)]
    parts += [  # a number at the right edge would be cut
        svg_text_at(min(across(at), WIDTH - 4 * len(short_number(at))), base + 14, short_number(at), anchor="middle")
        for at in ticks
    ]
    parts.append(svg_text_at(LEFT, HEIGHT - 8, legend))
    return "".join([*parts, "</svg>"])


def _axis_scale(least: float, most: float, every: Curve) -> Callable[[float], float]:
    """Where a number lies across the drawing: by its logarithm if few numbers are large."""
    skewed = least >= 0 and most > 5 * next((at for at, share in every if share <= 0.05), most) > 0
    bend = (lambda at: math.log1p(max(at, 0.0))) if skewed else (lambda at: at)
    width = (bend(most) - bend(least)) or 1.0
    return lambda at: LEFT + (bend(at) - bend(least)) / width * (WIDTH - LEFT - 16)
