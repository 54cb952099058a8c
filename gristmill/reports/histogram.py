"""Histograms: how numbers are spread over bins, and a drawing of that for people."""

from collections.abc import Sequence
from html import escape

import msgspec
import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 200, 64, 28, 40
"""Of a drawing, in its own units: the whole, and what lies around the bars."""

BAR, TEXT, FAINT = "#4f6bed", "#57606a", "#d0d7de"
"""Colours that can be seen on white and on black."""


class Histogram(msgspec.Struct, frozen=True):
    """Counts by bin.

    Attributes:
        edges: bin i is from edges[i] up to, but not including, edges[i + 1]; rising.
        counts: how many numbers fell into each; one less than there are edges.
    """

    edges: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """All numbers."""
        return sum(self.counts)


class Tally:
    """A histogram while its numbers come in.

    Args:
        edges: see Histogram. A number outside of them counts in the first or the last bin.
    """

    def __init__(self, edges: Sequence[int]) -> None:
        self._edges = np.array(edges, np.int64)
        self._counts = np.zeros(len(edges) - 1, np.int64)

    def add(self, numbers: npt.NDArray[np.int64], times: int = 1) -> None:
        """Counts numbers, each so many times."""
        bins = np.searchsorted(self._edges[1:-1], numbers, "right")
        self._counts += times * np.bincount(bins, minlength=len(self._counts))

    def done(self) -> Histogram:
        """What was counted."""
        return Histogram(tuple(self._edges.tolist()), tuple(self._counts.tolist()))


def doubling(limit: int) -> list[int]:
    """Edges 0, 1, 2, 4, 8, ... up to the first power of two beyond the limit: for lengths of documents."""
    return [0, *(1 << power for power in range(limit.bit_length() + 1))]


def trimmed(histogram: Histogram) -> Histogram:
    """Without the empty bins at its end; one bin stays."""
    last = max((i for i, count in enumerate(histogram.counts) if count), default=0)
    return Histogram(histogram.edges[: last + 2], histogram.counts[: last + 1])


def draw(histogram: Histogram, title: str, unit: str) -> str:
    """A histogram as SVG: a bar a bin, its lower edge below it.

    Args:
        histogram: what to draw.
        title: above it.
        unit: of the numbers, for the legend below.
    """
    most = max(histogram.counts, default=0) or 1
    room = HEIGHT - TOP - BOTTOM
    step = (WIDTH - LEFT - 8) / len(histogram.counts)
    base = HEIGHT - BOTTOM
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        _text(8, 16, title, size=13),
        _text(LEFT - 6, TOP + 8, f"{most:,}", anchor="end"),
        _text(LEFT - 6, base, "0", anchor="end"),
        f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - 8}" y2="{base}" stroke="{FAINT}"/>',
    ]
    every = -(-len(histogram.counts) // 14)  # labels that do not run into each other
    for number, count in enumerate(histogram.counts):
        left, tall = LEFT + number * step, room * count / most
        name = f"{histogram.edges[number]:,} to {histogram.edges[number + 1]:,}: {count:,}"
        parts.append(
            f'<rect x="{left + 1:.1f}" y="{base - tall:.1f}" width="{max(step - 2, 1):.1f}" height="{tall:.1f}"'
            f' fill="{BAR}"><title>{name}</title></rect>'
        )
        if number % every == 0:
            parts.append(_text(left, base + 14, _short(histogram.edges[number])))
    parts.append(_text(LEFT, HEIGHT - 8, f"{unit}; {histogram.total:,} in all"))
    return "".join([*parts, "</svg>"])


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 11) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{TEXT}"'
    return f"<text {where}>{escape(words)}</text>"


def _short(number: int) -> str:
    """1024 is 1k (binary), 1048576 is 1M; what is no multiple is written out."""
    for power, letter in ((30, "G"), (20, "M"), (10, "k")):
        if number and number % (1 << power) == 0:
            return f"{number >> power}{letter}"
    return str(number)
