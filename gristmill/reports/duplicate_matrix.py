"""The plot of a resolution: who repeats whom, as a matrix; and how often units occur."""

from collections.abc import Mapping, Sequence
from html import escape
from math import log2

from gristmill.reports.histogram import BAR, FAINT, TEXT

CELL, LEFT, TOP = 64, 190, 64
"""Size of a cell and margins around the matrix, in SVG units."""
MOST = 16
"""Snapshots that are drawn; the newest, if there are more."""
_DARK = "#111"
_BARS = 180
"""Height of the drawing of occurrences."""


def draw_matrix(names: Sequence[str], totals: Sequence[int], matrix: Mapping[tuple[int, int], int], what: str) -> str:
    """A matrix with a row for each snapshot: the share of its units that occurred first in each snapshot.

    Args:
        names: names of the snapshots, by rank.
        totals: units of each snapshot that were compared.
        matrix: number of units of a rank that occurred first in a rank, by (rank, first rank).
        what: the word for the units.

    Returns:
        The drawing as SVG. The diagonal has what a snapshot brought first, and repeats within itself. Rows and columns
        begin with the rank: names may be cut, and differ where they are.
    """
    shown = range(max(0, len(names) - MOST), len(names))
    width, height = LEFT + CELL * len(shown) + 16, TOP + 32 * len(shown) + 28
    parts = [
        _svg_head(width, height),
        _svg_text(8, 18, f"share of the {what} of a row that occurred first in a column", size=13),
    ]
    for place, rank in enumerate(shown):
        middle = LEFT + CELL * (place + 0.5)
        parts.append(_svg_text(middle, TOP - 22, str(rank), anchor="middle"))
        parts.append(_svg_text(middle, TOP - 8, _shorten_words(names[rank], 9), anchor="middle"))
        parts.append(
            _svg_text(LEFT - 8, TOP + 32 * place + 20, f"{rank} {_shorten_words(names[rank], 24)}", anchor="end")
        )
        for column, first in enumerate(shown):
            units = matrix.get((rank, first), 0)
            share = units / max(totals[rank], 1)
            x, y = LEFT + CELL * column, TOP + 32 * place
            parts.append(
                f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="30" fill="{BAR}"'
                f' fill-opacity="{0.06 + 0.6 * share:.2f}"/>'
            )
            words = f"{share:.1%}" if units else "0"
            parts.append(_svg_text(x + CELL / 2 - 1, y + 19, words, anchor="middle", colour=_DARK))
    left_out = len(names) - len(shown)
    if left_out:
        parts.append(_svg_text(8, height - 10, f"{left_out} earlier snapshots are not drawn"))
    return "".join([*parts, "</svg>"])


def draw_occurrences(counts: Sequence[int], what: str, rounds: int) -> str:
    """A bar for each power of two: how many different units occur at least so often, and less than twice as often.

    Args:
        counts: number of different units that occur 2**k to 2**(k + 1) - 1 times, by k.
        what: the word for the units.
        rounds: number of rounds that are added up. A unit is in `counts` once for each round that has it.

    Returns:
        The drawing as SVG; the height of a bar is the logarithm of its number.
    """
    width = 60 + 72 * max(len(counts), 4)
    title, notes = f"different {what} by the number of their occurrences", list[str]()
    if rounds > 1:
        title = f"{what} of each of {rounds} rounds by their occurrences"
        notes.append(f"{what} that several rounds have are counted in each of them;")
        notes.append("there, an earlier snapshot that has them is one occurrence")
    parts = [_svg_head(width, _BARS + 60 + 16 * len(notes)), _svg_text(8, 18, title, size=13)]
    parts += [_svg_text(8, _BARS + 58 + 16 * line, words) for line, words in enumerate(notes)]
    highest = log2(1 + max(counts, default=0)) or 1
    for place, number in enumerate(counts):
        tall = (_BARS - 30) * log2(1 + number) / highest
        x, base = 40 + 72 * place, _BARS + 20
        parts.append(f'<rect x="{x}" y="{base - tall:.1f}" width="56" height="{tall:.1f}" fill="{BAR}"/>')
        parts.append(_svg_text(x + 28, base - tall - 5, f"{number:,}", anchor="middle"))
        parts.append(
            _svg_text(x + 28, base + 14, f"{2**place} to {2 ** (place + 1) - 1}" if place else "once", anchor="middle")
        )
    parts.append(f'<line x1="32" y1="{_BARS + 20}" x2="{width - 8}" y2="{_BARS + 20}" stroke="{FAINT}"/>')
    return "".join([*parts, "</svg>"])


def _svg_head(width: float, height: float) -> str:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'


def _svg_text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 11, colour: str = TEXT) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" fill="{colour}">{escape(words)}</text>'


def _shorten_words(words: str, most: int) -> str:
    return words if len(words) <= most else f"…{words[1 - most :]}"
