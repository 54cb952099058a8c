"""The report on a classifier: its threshold curve and its confusion matrix as SVG, and a page with both."""

from collections.abc import Sequence
from html import escape
from typing import Protocol

from gristmill.reports.histogram import BAR, FAINT, TEXT

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 260, 48, 44, 40
"""Size of a drawing and margins around the curve, in SVG units."""
_CURVE = 360
_OTHER = "#d97706"
_DARK = "#111"
"""Of text on a coloured ground."""
_LABELS = 6
"""Labels of a matrix that are drawn; more would be too small to read."""


class Point(Protocol):
    """A threshold; see gristmill.stages.models.metrics.Threshold."""

    @property
    def at(self) -> float: ...
    @property
    def precision(self) -> float | None: ...
    @property
    def recall(self) -> float: ...
    @property
    def flagged(self) -> float: ...


class Measured(Protocol):
    """The measures of a classifier; see gristmill.stages.models.metrics.Metrics."""

    @property
    def positive(self) -> str: ...
    @property
    def texts(self) -> int: ...
    @property
    def positives(self) -> int: ...
    @property
    def auc(self) -> float: ...
    @property
    def baseline(self) -> float: ...
    @property
    def accuracy(self) -> float: ...
    @property
    def commonest(self) -> float: ...
    @property
    def labels(self) -> Sequence[str]: ...
    @property
    def confusion(self) -> Sequence[Sequence[int]]: ...
    @property
    def thresholds(self) -> Sequence[Point]: ...


def draw_classifier(metrics: Measured, title: str) -> str:
    """Precision and recall by threshold, and the confusion matrix beside them, as SVG.

    Args:
        metrics: the measures.
        title: text above the drawing.

    Returns:
        The drawing.
    """
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    words = f"{title}: AUC {metrics.auc:.3f} for {metrics.positive} on {metrics.texts:,} held-out texts"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        _svg_text(8, 18, words, size=13),
        *_precision_recall_plot(metrics.thresholds),
        *_confusion_table(metrics),
        "</svg>",
    ]
    return "".join(parts)


def _precision_recall_plot(points: Sequence[Point]) -> list[str]:
    base, room, wide = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP, _CURVE - LEFT
    parts: list[str] = []
    for step in range(5):
        y, x = base - room * step / 4, LEFT + wide * step / 4
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{_CURVE}" y2="{y:.1f}" stroke="{FAINT}"/>')
        parts.append(_svg_text(LEFT - 6, y + 4, f"{step / 4:g}", anchor="end"))
        parts.append(_svg_text(x, base + 14, f"{step / 4:g}", anchor="middle"))
    kinds: tuple[tuple[str, str, list[float | None]], ...] = (
        ("precision", BAR, [p.precision for p in points]),
        ("recall", _OTHER, [p.recall for p in points]),
    )
    for number, (name, colour, values) in enumerate(kinds):
        places = " ".join(
            f"{LEFT + wide * p.at:.1f},{base - room * value:.1f}"
            for p, value in zip(points, values, strict=True)
            if value is not None
        )
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_svg_text(LEFT + 8 + 70 * number, TOP - 8, name, colour=colour))
    parts.append(_svg_text(LEFT, HEIGHT - 8, "threshold of the score"))
    return parts


def _confusion_table(metrics: Measured) -> list[str]:
    """The confusion matrix: a row for each label of the texts, a column for each likeliest label."""
    count = len(metrics.labels)
    left, top = _CURVE + 110, TOP + 24
    parts = [_svg_text(left, TOP - 8, "likeliest label, by label of the text")]
    if count > _LABELS:
        return [*parts, _svg_text(left, top, f"{count} labels: see metrics.json")]
    wide, tall = (WIDTH - left - 8) / count, (HEIGHT - BOTTOM - top) / count
    for row, (name, values) in enumerate(zip(metrics.labels, metrics.confusion, strict=True)):
        parts.append(_svg_text(left - 6, top + tall * (row + 0.5) + 4, _shorten_name(name), anchor="end"))
        parts.append(_svg_text(left + wide * (row + 0.5), top - 6, _shorten_name(name), anchor="middle"))
        for column, value in enumerate(values):
            share = value / max(sum(values), 1)
            x, y = left + wide * column, top + tall * row
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide - 2:.1f}" height="{tall - 2:.1f}" fill="{BAR}"'
                f' fill-opacity="{0.08 + 0.6 * share:.2f}"/>'
            )
            words = f"{value:,} ({share:.0%})"
            parts.append(_svg_text(x + wide / 2 - 1, y + tall / 2 + 3, words, anchor="middle", colour=_DARK))
    return parts


def classifier_page(metrics: Measured, title: str, trained_on: str, plot: str) -> str:
    """The report as a page of HTML that needs no other file.

    Args:
        metrics: the measures.
        title: name of the model.
        trained_on: address of the labelled set.
        plot: drawing that draw_classifier() gave.
    """
    rows = "".join(
        f"<tr><td>{p.at:.2f}</td><td>{'' if p.precision is None else f'{p.precision:.3f}'}</td>"
        f"<td>{p.recall:.3f}</td><td>{p.flagged:.3f}</td></tr>"
        for p in metrics.thresholds
    )
    facts = (
        f"AUC of the probability of <b>{escape(metrics.positive)}</b>: {metrics.auc:.4f}. AUC of the number of words"
        f" alone: {metrics.baseline:.4f}. Accuracy: {metrics.accuracy:.4f}; of always saying the commonest label:"
        f" {metrics.commonest:.4f}. Held-out texts: {metrics.texts:,}, of which {metrics.positives:,} are"
        f" {escape(metrics.positive)}."
    )
    style = "body{font-family:sans-serif;margin:2em;max-width:60em}td,th{padding:2px 12px;text-align:right}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{style}</style>'
        f"<h1>{escape(title)}</h1><p>Trained on {escape(trained_on)}.</p><p>{facts}</p>{plot}"
        f"<table><tr><th>threshold</th><th>precision</th><th>recall</th><th>share of texts</th></tr>{rows}</table>"
        "</html>\n"
    )


def _shorten_name(name: str) -> str:
    return name if len(name) <= 14 else f"{name[:13]}…"


def _svg_text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 11, colour: str = TEXT) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f"<text {where}>{escape(words)}</text>"
