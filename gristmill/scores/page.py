"""The report of an attribute set as one HTML page, which needs no other file; and the plots that Dagster shows too."""

from collections.abc import Mapping, Sequence
from html import escape

from gristmill.errors import escape_controls
from gristmill.reports.score_plot import BINS, draw_scores, short_number
from gristmill.reports.small_plot import MOST, draw_small
from gristmill.scores.described import Described
from gristmill.scores.examples import Example
from gristmill.scores.sketch import HUGE
from gristmill.scores.statistics import GREATEST, LabelStatistics

_LONG_TAIL = 5
"""How often the greatest number is the quantile of 95% where a plot is logarithmic."""

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)

_UNDECLARED = (
    "A label is undeclared if no tagger on the shelves declares it: its values count as spans, also if they are scores."
    " Name the package that has the tagger with --shelves."
)

STYLE = (
    "body{font:14px sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#24292f;background:#fff}"
    "table{border-collapse:collapse}td,th{border-bottom:1px solid #d0d7de;padding:.2rem .6rem;text-align:left;"
    "vertical-align:top}td.n{text-align:right;white-space:nowrap}td.t{overflow-wrap:anywhere}mark{background:#ffe08a;"
    "box-shadow:inset 0 0 0 1px #d4a72c}div.wide{overflow-x:auto}div.wide td{white-space:nowrap}"
    "section{margin-top:2.5rem}.faint{color:#57606a}"
)


def label_histogram(label: LabelStatistics, rows: int) -> str:
    """The histogram of a label as SVG.

    Args:
        label: its statistics.
        rows: rows of the set.
    """
    skewed = label.least >= 0 and label.most > _LONG_TAIL * label.quantile(0.95) > 0
    edges, counts = label.sketch.binned_counts(BINS, label.least, label.most, doubling=skewed)
    unit = ("spans in a row" if label.kind == "spans" else "score") + (", logarithmic" if skewed else "")
    return draw_scores(edges, counts, escape_controls(label.name), f"{unit}; {label.rows:,} of {rows:,} rows")


def small_label_histogram(label: LabelStatistics) -> str:
    """A histogram of a label as an SVG of a few hundred characters.

    Args:
        label: its statistics.
    """
    edges, counts = label.sketch.binned_counts(MOST, label.least, label.most)
    return draw_small(counts, short_number(edges[0]), short_number(edges[-1]))


def facts_of(label: LabelStatistics, rows: int, *, undeclared: bool = False) -> dict[str, str | int | float]:
    """A row of the table of labels: shares and quantiles, in words.

    Args:
        label: its statistics.
        rows: rows of the set.
        undeclared: whether it counts as spans only because no tagger declares its kind.
    """
    share = label.rows / rows if rows else 0.0
    quantiles = {f"{round(100 * q)}%": _quantile_in_words(label, q) for q in QUANTILES}
    return {
        "label": escape_controls(label.name),
        "kind": "undeclared" if undeclared else label.kind,
        "rows with it": f"{share:.2%}",
        "rows with spans": f"{label.with_spans / rows if rows else 0:.2%}" if label.kind == "spans" else "",
        "least": short_number(label.least),
        "mean": short_number(float(f"{label.mean:.6g}")) if abs(label.total) < GREATEST else "unknown",
        "most": short_number(label.most),
        **quantiles,
    }


def _quantile_in_words(label: LabelStatistics, share: float) -> str:
    """A quantile in words: a range if the sketch knows no more."""
    number = label.quantile(share)
    low, high = (number, label.most) if number > 0 else (label.least, number)
    return short_number(number) if abs(number) < HUGE or low == high else f"{short_number(low)} to {short_number(high)}"


def score_page(described: Described, examples: Sequence[Example], meanings: Mapping[str, str] | None = None) -> str:
    """The page.

    Args:
        described: the statistics of the set.
        examples: excerpts of documents at the extremes.
        meanings: meanings of labels by name, as the tagger declares them.
    """
    title = f"{described.place.asset} ({described.place.snapshot})"
    shown = described.shown_labels
    others = len(described.labels) - len(shown)
    facts = [
        facts_of(label, described.rows, undeclared=label.name in described.undeclared) for label in described.labels
    ]
    head = "".join(f"<th>{escape(name)}</th>" for name in (facts[0] if facts else {}))
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in each.values())}</tr>" for each in facts)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(escape_controls(title))}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(escape_controls(title))}</h1><p>{described.rows:,} rows, {len(described.labels):,} labels.",
        f" Plots and examples are of the {len(shown)} labels that most rows have." if others else "",
        f" {described.left_out:,} labels of shards with too many are left out." if described.left_out else "",
        " Numbers of a label with spans are how many spans a row has." if _has_spans(described) else "",
        f" {_UNDECLARED}" if described.undeclared else "",
        ' <span class="faint">Quantiles are at most 1.6% (or 1e-12) nearer to 0 than the exact ones.</span></p>',
        f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>',
        *(
            _label_section(
                label,
                described.rows,
                [each for each in examples if each.label == label.name],
                (meanings or {}).get(label.name, ""),
            )
            for label in shown
        ),
        "</body></html>\n",
    ]
    return "".join(parts)


def _has_spans(described: Described) -> bool:
    return any(label.kind == "spans" for label in described.labels)


def _label_section(label: LabelStatistics, rows: int, examples: Sequence[Example], meaning: str) -> str:
    lines = "".join(
        f"<tr><td>{each.end}</td><td class=n>{escape(short_number(each.value))}</td><td class=t>{_marked_excerpt(each)}"
        f'<br><span class="faint">{escape(escape_controls(f"{each.shard} row {each.row}  {each.id}"))}</span></td></tr>'
        for each in examples
    )
    head = f"<h2>{escape(escape_controls(label.name))}</h2>"
    said = f"<p>{escape(escape_controls(meaning))}</p>" if meaning else ""
    return f"<section>{head}{said}{label_histogram(label, rows)}<table>{lines}</table></section>"


def _marked_excerpt(example: Example) -> str:
    """The excerpt with its spans marked. Control characters are escaped after the cuts: offsets are code points."""
    return marked_html(example.excerpt, sorted([*([example.marks] if example.marks else []), *example.others]))


def marked_html(text: str, marks: Sequence[tuple[int, int]]) -> str:
    """An excerpt as HTML on one line, with stretches of it marked.

    Args:
        text: the excerpt; it may be any text.
        marks: begin and end of each stretch, in order, without overlaps.

    >>> marked_html("<b> 555", [(4, 7)])
    '&lt;b&gt; <mark>555</mark>'
    """
    at, parts = 0, list[str]()
    for start, end in marks:
        parts.append(f"{_escape_html(text[at:start])}<mark>{_escape_html(text[start:end])}</mark>")
        at = end
    return "".join([*parts, _escape_html(text[at:])])


def _escape_html(text: str) -> str:
    return escape(escape_controls(text.replace("\n", " ").replace("\t", " ")))
