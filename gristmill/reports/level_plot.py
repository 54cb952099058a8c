"""Draws numbers of the last snapshots as SVG: a panel for each number, with its level and what is expected."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from gristmill.reports.histogram import BAR, FAINT, TEXT, svg_text_at
from gristmill.reports.retention_plot import MARK

ACROSS = 3
"""Panels beside each other."""
PANEL, TALL, GAP = 236, 128, 6
"""Width and height of a panel, and the gap between panels, in SVG units."""
_TOP, _BOTTOM = 24, 18
_LETTERS = 34
"""Letters of a title."""
_LEGEND = "dashed: the level, the median of those before; grey: expected; red: outside"


@dataclass(frozen=True)
class Panel:
    """One number over the snapshots.

    Attributes:
        title: name of the number.
        values: a number for each snapshot, the newest last; None for a snapshot without one.
        level: the median of those before the newest; None without one.
        least: the least value that is expected of the newest; -inf: any.
        most: the greatest; inf: any.
        wrong: whether the newest is outside.
        words: function that makes words of a value.
    """

    title: str
    values: tuple[float | None, ...]
    level: float | None
    least: float
    most: float
    wrong: bool
    words: Callable[[float], str]


def draw_levels(panels: Sequence[Panel], snapshots: Sequence[str]) -> str:
    """The drawing: a bar for each snapshot, the newest last, the level as a dashed line, what is expected as a band.

    Args:
        panels: the numbers; one or more.
        snapshots: the keys of the snapshots, as many as each panel has values.
    """
    rows = -(-len(panels) // ACROSS)
    width, height = ACROSS * (PANEL + GAP), rows * (TALL + GAP) + 16
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">']
    for number, panel in enumerate(panels):
        down, right = divmod(number, ACROSS)
        parts.append(f'<g transform="translate({right * (PANEL + GAP)},{down * (TALL + GAP)})">')
        parts += [*_panel_svg(panel, snapshots), "</g>"]
    return "".join([*parts, svg_text_at(4, height - 4, _LEGEND), "</svg>"])


def _panel_svg(panel: Panel, snapshots: Sequence[str]) -> list[str]:
    known = [each for each in (*panel.values, panel.level) if each is not None]
    edges = [each for each in (panel.least, panel.most) if math.isfinite(each)]
    high = max([*known, *(edge for edge in edges if edge <= 3 * max(known, default=0.0)), 0.0])
    low = min([*known, 0.0])
    room, base = TALL - _TOP - _BOTTOM, TALL - _BOTTOM
    reach = (high - low) or 1.0

    def at(value: float) -> float:
        return base - room * (min(max(value, low), high) - low) / reach

    newest = panel.values[-1]
    colour = MARK if panel.wrong else TEXT
    said = "none" if newest is None else panel.words(newest)
    title = svg_text_at(4, 15, f"{_end_of_words(panel.title, _LETTERS - len(said))}: {said}", size=12)
    parts = [title.replace(f'fill="{TEXT}"', f'fill="{colour}"')]
    if edges and panel.level is not None:
        top, bottom = at(min(panel.most, high)), at(max(panel.least, low))
        parts.append(
            f'<rect x="4" y="{top:.1f}" width="{PANEL - 8}" height="{max(bottom - top, 1):.1f}" fill="{FAINT}"'
            ' fill-opacity="0.5"/>'
        )
    step = (PANEL - 8) / len(panel.values)
    for number, (key, value) in enumerate(zip(snapshots, panel.values, strict=True)):
        last = number == len(snapshots) - 1
        if value is not None:
            ends = sorted((at(value), at(0.0)))
            fill = MARK if last and panel.wrong else BAR
            parts.append(
                f'<rect x="{4 + number * step + 3:.1f}" y="{ends[0]:.1f}" width="{step - 6:.1f}"'
                f' height="{max(ends[1] - ends[0], 1):.1f}" fill="{fill}"'
                f' fill-opacity="{1 if last else 0.55}"><title>{escape(f"{key}: {panel.words(value)}")}</title></rect>'
            )
        parts.append(
            svg_text_at(4 + (number + 0.5) * step, TALL - 5, _end_of_words(key, int(step / 5)), anchor="middle", size=9)
        )
    if panel.level is not None:
        y = at(panel.level)
        parts.append(
            f'<line x1="4" y1="{y:.1f}" x2="{PANEL - 4}" y2="{y:.1f}" stroke="{TEXT}" stroke-dasharray="4 3"/>'
        )
    return [*parts, f'<line x1="4" y1="{base}" x2="{PANEL - 4}" y2="{base}" stroke="{FAINT}"/>']


def _end_of_words(words: str, room: int) -> str:
    """As much of the end of words as there is room for: it tells keys, labels and quantiles apart."""
    return words if len(words) <= room else f"…{words[1 - max(room, 2) :]}"
