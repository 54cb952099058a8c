"""A report with plots and tables as one HTML page, which needs no other file."""

from collections.abc import Mapping, Sequence
from html import escape

from gristmill.errors import escape_controls

_STYLE = (
    "body{font:14px sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#24292f;background:#fff}"
    "table{border-collapse:collapse}td,th{border-bottom:1px solid #d0d7de;padding:.2rem .6rem;text-align:left;"
    "vertical-align:top;overflow-wrap:anywhere}div{overflow-x:auto;margin-top:1.5rem}section{margin-top:2.5rem}"
)


def page_of_tables(
    title: str, lead: str, plots: Sequence[str], tables: Mapping[str, Sequence[Mapping[str, str]]]
) -> str:
    """The page.

    Args:
        title: its title.
        lead: a paragraph below the title.
        plots: drawings as SVG, as gristmill.reports makes them.
        tables: the rows of each table by its heading; all rows of a table have the same columns. Names and cells may
            be texts of the data: markup in them is shown, and not obeyed.

    >>> page = page_of_tables("wiki", "", [], {"rows": [{"text": "<b>"}]})
    >>> "<td>&lt;b&gt;</td>" in page
    True
    """
    return "".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{_escape_html(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_escape_html(title)}</h1><p>{_escape_html(lead)}</p>",
        *(f"<div>{plot}</div>" for plot in plots),
        *(
            f"<section><h2>{_escape_html(name)}</h2><div>{_html_table(rows)}</div></section>"
            for name, rows in tables.items()
        ),
        "</body></html>\n",
    ])  # fmt: skip


def _html_table(rows: Sequence[Mapping[str, str]]) -> str:
    if not rows:
        return "none"
    head = "".join(f"<th>{_escape_html(name)}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{_escape_html(cell)}</td>' for cell in row.values())}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _escape_html(text: str) -> str:
    return escape(escape_controls(text.replace("\n", " ").replace("\t", " ")))
