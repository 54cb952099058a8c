"""Histograms: counts of numbers by bin, and their drawing as SVG."""

from collections.abc import Sequence
from html import escape

import msgspec
import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 200, 64, 28, 40
"""Size of a drawing and margins around its bars, in SVG units."""

BAR, TEXT, FAINT = "#4f6bed", "#57606a", "#d0d7de"
"""Colours that are visible on white and on black."""


class Histogram(msgspec.Struct, frozen=True):
    """The count of numbers in each of B bins.

    Attributes:
        edges: bin i holds the numbers from edges[i] to before edges[i + 1]; ascending (B + 1).
        counts: number of values in each bin (B).
    """

    edges: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def value_count(self) -> int:
        """The number of values in all bins."""
        return sum(self.counts)


class Tallies:
    """Counts numbers for a histogram.

    Args:
        edges: edges of the bins, as in Histogram. The first bin also counts lower numbers, the last higher ones.
    """

    def __init__(self, edges: Sequence[int]) -> None:
        self._edges = np.array(edges, np.int64)
        self._counts = np.zeros(len(edges) - 1, np.int64)

    def add(self, numbers: npt.NDArray[np.int64], times: int = 1) -> None:
        """Adds numbers to the counts.

        Args:
            numbers: numbers to count (n).
            times: number of times that each of them counts.
        """
        bins = np.searchsorted(self._edges[1:-1], numbers, "right")
        self._counts += times * np.bincount(bins, minlength=len(self._counts))

    def build_histogram(self) -> Histogram:
        """The histogram of all numbers so far."""
        return Histogram(tuple(self._edges.tolist()), tuple(self._counts.tolist()))


def doubling_edges(limit: int) -> list[int]:
    """The edges 0, 1, 2, 4, 8, ... up to the first power of two above the limit. They suit lengths.

    >>> doubling_edges(5)
    [0, 1, 2, 4, 8]
    """
    return [0, *(1 << power for power in range(limit.bit_length() + 1))]


def trim_histogram(histogram: Histogram) -> Histogram:
    """The histogram without the empty bins at its end; one bin always remains.

    >>> trim_histogram(Histogram((0, 1, 2, 4), (3, 0, 0)))
    Histogram(edges=(0, 1), counts=(3,))
    """
    last = max((i for i, count in enumerate(histogram.counts) if count), default=0)
    return Histogram(histogram.edges[: last + 2], histogram.counts[: last + 1])


def draw_histogram(histogram: Histogram, title: str, unit: str) -> str:
    """A histogram as SVG: one bar for each bin, with the bin's lower edge below the bar.

    Args:
        histogram: histogram to draw; one bin or more.
        title: text above the bars.
        unit: unit of the numbers, for the legend below the bars.
    """
    most = max(histogram.counts, default=0) or 1
    room = HEIGHT - TOP - BOTTOM
    step = (WIDTH - LEFT - 8) / len(histogram.counts)
    base = HEIGHT - BOTTOM
    parts = svg_drawing_head(title, most)
    every = -(-len(histogram.counts) // 14)  # labels must not overlap
    for number, count in enumerate(histogram.counts):
        left, tall = LEFT + number * step, room * count / most
        name = f"{histogram.edges[number]:,} to {histogram.edges[number + 1]:,}: {count:,}"
        parts.append(
            f'<rect x="{left + 1:.1f}" y="{base - tall:.1f}" width="{max(step - 2, 1):.1f}" height="{tall:.1f}"'
            f' fill="{BAR}"><title>{name}</title></rect>'
        )
        if number % every == 0:
            parts.append(svg_text_at(left, base + 14, _binary_unit_number(histogram.edges[number])))
    parts.append(svg_text_at(LEFT, HEIGHT - 8, f"{unit}; {histogram.value_count:,} in all"))
    return "".join([*parts, "</svg>"])


def svg_drawing_head(title: str, most: int) -> list[str]:
    """The first elements of a drawing of bars as SVG: its title, its scale and the line below the bars.

    Args:
        title: text above the bars.
        most: number that the highest bar stands for.

    Returns:
        The elements; the first one opens `<svg>`. The caller adds the bars, other elements and `</svg>`.
    """
    base = HEIGHT - BOTTOM
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        svg_text_at(8, 16, title, size=13),
        svg_text_at(LEFT - 6, TOP + 8, f"{most:,}", anchor="end"),
        svg_text_at(LEFT - 6, base, "0", anchor="end"),
        f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - 8}" y2="{base}" stroke="{FAINT}"/>',
    ]


def svg_text_at(x: float, y: float, words: str, *, anchor: str = "start", size: int = 11) -> str:
    """The SVG of words in a drawing.

    Args:
        x: horizontal position of the words, in SVG units.
        y: vertical position of their baseline, in SVG units.
        words: any text; it is escaped.
        anchor: part of the words that is at `x`: `start`, `middle` or `end`.
        size: size of the letters, in SVG units.
    """
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{TEXT}"'
    return f"<text {where}>{escape(words)}</text>"


def _binary_unit_number(number: int) -> str:
    """A number with the largest binary unit that divides it: 1024 is 1k, 1048576 is 1M, but 1500 stays 1500."""
    for power, letter in ((30, "G"), (20, "M"), (10, "k")):
        if number and number % (1 << power) == 0:
            return f"{number >> power}{letter}"
    return str(number)
