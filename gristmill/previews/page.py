"""A preview as one HTML page, which needs no other file."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from gristmill.errors import escape_controls
from gristmill.previews.mix_preview import StreamPreview
from gristmill.previews.retention import retention_curve, rule_thresholds
from gristmill.previews.words import HEADS, overlapping_rules, reason_table_rows
from gristmill.reports.retention_plot import draw_retention
from gristmill.scores.page import STYLE, marked_html


def preview_page(title: str, previews: Sequence[StreamPreview]) -> str:
    """The page.

    Args:
        title: name of the mix or version.
        previews: one for each stream.
    """
    return "".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{_escape_html(title)}</title><style>{STYLE}</style></head><body><h1>{_escape_html(title)}</h1>",
        "<p>What a build would keep and drop. Each document counts for the first reason that drops it.</p>",
        *(_stream_section(each) for each in previews),
        "</body></html>\n",
    ])  # fmt: skip


def _stream_section(preview: StreamPreview) -> str:
    heads = "".join(f"<th>{name}</th>" for name in HEADS)
    because = {rule.name: rule.where for rule in (*preview.selection.include, *preview.selection.exclude)}
    body = "".join(_condition_row(each.cells, because.get(each.reason, "")) for each in reason_table_rows(preview))
    pairs = "".join(
        f"<tr><td>{_escape_html(a)}</td><td>{_escape_html(b)}</td><td class=n>{count:,}</td></tr>"
        for a, b, count in overlapping_rules(preview)
    )
    return "".join([
        f"<section><h2>{_escape_html(preview.title)} ({_escape_html(', '.join(preview.snapshots))})</h2>",
        f'<div class="wide"><table><tr>{heads}<th>condition</th></tr>{body}</table></div>',
        f'<p class="faint">Tokens: {_escape_html(preview.estimate_in_words)}.</p>',
        *_retention_plots(preview),
        f"<h3>Documents that two rules drop</h3><table>{pairs}</table>" if pairs else "",
        *_example_section(preview),
        "</section>",
    ])  # fmt: skip


def _condition_row(cells: Sequence[str], condition: str) -> str:
    name, *numbers = cells
    inner = "".join(f"<td class=n>{cell}</td>" for cell in numbers)
    return f"<tr><td>{_escape_html(name)}</td>{inner}<td class=t><code>{_escape_html(condition)}</code></td></tr>"


def retention_plots(preview: StreamPreview) -> dict[str, str]:
    """The retention curve of each score as SVG, by the name of its column."""
    thresholds = rule_thresholds(preview.selection)
    drawn: dict[str, str] = {}
    for name, curve in sorted(preview.tally.curves.items()):
        if curve.rows.total:
            today = [
                (f"{each.rule} {each.order} {each.number:g}", each.number) for each in thresholds if each.column == name
            ]
            legend = f"documents at or above: all {curve.rows.total:,}; dashed: the {curve.kept.total:,} that are kept"
            missing = f"; {curve.missing:,} have no value" if curve.missing else ""
            points = retention_curve(curve.rows), retention_curve(curve.kept)
            drawn[name] = draw_retention(*points, today, escape_controls(name), legend + missing)
    return drawn


def _retention_plots(preview: StreamPreview) -> list[str]:
    return [f"<div>{plot}</div>" for plot in retention_plots(preview).values()]


def _example_section(preview: StreamPreview) -> list[str]:
    parts: list[str] = []
    for reason, rows in groupby(preview.rows, lambda row: row.reason):
        lines = "".join(
            f"<tr><td class=t>{marked_html(row.excerpt, row.marks)}<br>"
            f'<span class="faint">{_escape_html(f"{row.where}  {row.id}")}</span></td></tr>'
            for row in rows
        )
        parts.append(f"<h3>{_escape_html(f'Dropped by {reason}' if reason else 'Kept')}</h3><table>{lines}</table>")
    return parts


def _escape_html(text: str) -> str:
    return escape(escape_controls(text))
