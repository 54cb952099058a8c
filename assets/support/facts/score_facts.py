"""The metadata of an attribute set: a plot of each label, a table of shares and quantiles, and where examples are.

Dagster keeps events for good, so they hold pointers to documents and no text. Excerpts lie in the lake, where a
takedown finds them (gristmill/scores/examples.py).
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.support.facts.pictures import as_markdown, in_short, markdown_image
from gristmill.errors import GristmillError, escape_controls
from gristmill.lake.address import Place
from gristmill.lake.ledger.derived import examples_path
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.label import Score, Spans
from gristmill.reports.sizes import percentage
from gristmill.scores.described import describe_set, read_described_set
from gristmill.scores.examples import Example, read_examples, write_examples
from gristmill.scores.page import facts_of, label_histogram, small_label_histogram
from gristmill.scores.statistics import LabelStatistics

_IN_WORDS, _LETTERS = 3, 40
"""Labels that are told in words at once, and letters of their names."""


def score_facts(
    store: Store,
    place: Place,
    shards: Sequence[Shard],
    labels: Sequence[Score | Spans] | None,
    *,
    stored: bool = False,
) -> dict[str, Any]:
    """Describes a set. What is wrong with it does not undo what was published: it is told.

    Args:
        store: the lake.
        place: the partition of the set.
        shards: the rows of its ledger's table.
        labels: labels that its recipe declares; None: nothing.
        stored: whether only what the lake has already is told, and nothing is written.

    Returns:
        The metadata by name.
    """
    kinds = {label.name: label.kind for label in labels} if labels is not None else None
    examples: Sequence[Example] = ()
    try:
        described = (
            read_described_set(store, place, shards, kinds) if stored else describe_set(store, place, shards, kinds)
        )
        if described is None:
            return {"scores": "not described yet: Materialize describes it, and makes no shard again"}
        examples = (read_examples(store, place, shards) or ()) if stored else write_examples(store, described, shards)
    except GristmillError as error:
        return {"scores": f"not described: {escape_controls(str(error))}; `gristmill report` tries again"}
    if not described.labels:
        return {}
    plots = [markdown_image(label.name, label_histogram(label, described.rows)) for label in described.shown_labels]
    return {
        "scores in short": short_facts(described.shown_labels),
        "scores": dg.MetadataValue.md("\n\n".join(plots)),
        "labels": _table(
            without_empty_columns(
                [
                    label_table_row(each, described.rows, undeclared=each.name in described.undeclared)
                    for each in described.shown_labels
                ]
            )
        ),
        **(_examples(store, place, examples) if examples or not stored else {}),
        "labels in all": len(described.labels),
    }


def short_facts(labels: Sequence[LabelStatistics]) -> dg.MarkdownMetadataValue:
    """A small plot of the label that most rows have, and a few labels in words, the commonest first.

    Args:
        labels: their statistics; at least one.
    """
    common = sorted(labels, key=lambda label: -label.rows)
    return in_short(in_words(common[:_IN_WORDS]), common[0].name[:_LETTERS], small_label_histogram(common[0]))


def in_words(labels: Sequence[LabelStatistics]) -> str:
    """A paragraph for each label. Its words are true of any ties: all rows may have one score.

    Args:
        labels: their statistics. Quantiles are near to the exact ones, so the words say "about".
    """
    lines = [
        f"**{as_markdown(label.name[:_LETTERS])}**: at least half of {label.rows:,} rows are about {at['50%']} or less,"
        f" at least 1 in 20 about {at['95%']} or more"
        for label in labels
        for at in [facts_of(label, label.rows)]
    ]
    return "\n\n".join(lines)


def _examples(store: Store, place: Place, examples: Sequence[Example]) -> dict[str, Any]:
    rows = [
        {"label": escape_controls(e.label), "end": e.end, "value": e.value, "shard": e.shard, "row": e.row}
        for e in examples
    ]
    return {"extremes": _table(rows), "examples": dg.MetadataValue.path(f"{store.url}/{examples_path(place)}")}


def label_table_row(label: LabelStatistics, rows: int, *, undeclared: bool = False) -> dict[str, Any]:
    """A row of the table of labels: numbers of rows with and without it, the share with spans, then quantiles.

    Args:
        label: its statistics.
        rows: rows of the set.
        undeclared: whether no recipe declares the label, as for facts_of().
    """
    facts = facts_of(label, rows, undeclared=undeclared)
    for words in ("rows with it", "rows with spans"):  # numbers say it here
        facts.pop(words)
    return {
        "label": facts.pop("label"),
        "rows": label.rows,
        "nulls": rows - label.rows,
        "rows with spans (%)": percentage(label.with_spans, rows) if label.kind == "spans" else None,
        **facts,
    }


def without_empty_columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without the columns that are empty in all of them: only spans have a share of rows with spans.

    Args:
        rows: rows of a table; all have the same columns.
    """
    return [
        {name: value for name, value in row.items() if any(each[name] not in {"", None} for each in rows)}
        for row in rows
    ]


def _table(rows: list[dict[str, Any]]) -> Any:
    first = rows[0] if rows else {}
    columns = [dg.TableColumn(name, "string" if isinstance(value, str) else "float") for name, value in first.items()]
    return dg.MetadataValue.table(records=[dg.TableRecord(row) for row in rows], schema=dg.TableSchema(columns=columns))
