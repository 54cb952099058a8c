"""A preview as lines of text."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gristmill.errors import shorten
from gristmill.lake.asset_kinds import MIX
from gristmill.previews.mix_preview import StreamPreview
from gristmill.previews.retention import retention_curve, rule_thresholds
from gristmill.previews.tally import NOTHING, Amount
from gristmill.recipes.drift.drop_reasons import BLOCKED, SAMPLED_OUT
from gristmill.reports.score_plot import exact_number

MOST_PAIRS = 10
"""Pairs of rules that are listed."""
HEADS = ("", "documents", "share", "bytes", "tokens", "only this rule")
"""Of the cells of a ReasonRow."""
_EXCERPT = 160


class ReasonRow(NamedTuple):
    """A row of the table of reasons.

    Attributes:
        reason: reason why documents are dropped; or `all`, or `kept`.
        documents: number of documents.
        share: their part of all documents, from 0 to 1.
        bytes: size of their lines in the shards, unpacked.
        tokens: estimated number of tokens of their texts.
        alone: number of documents that this rule drops and no other rule; None without such a document.
    """

    reason: str
    documents: int
    share: float
    bytes: int
    tokens: int
    alone: int | None

    @property
    def cells(self) -> tuple[str, ...]:
        """The row in words, below HEADS."""
        alone = "" if self.alone is None else f"{self.alone:,}"
        return self.reason, f"{self.documents:,}", f"{self.share:.2%}", f"{self.bytes:,}", f"{self.tokens:,}", alone


def reason_table_rows(preview: StreamPreview) -> list[ReasonRow]:
    """The table of reasons: all documents, those that are kept, and those that each reason drops."""
    tally = preview.tally

    def row(name: str, amount: Amount, alone: Amount | None = None) -> ReasonRow:
        share = amount.documents / tally.rows.documents if tally.rows.documents else 0.0
        tokens = preview.estimate_tokens(amount)
        return ReasonRow(name, amount.documents, share, amount.bytes, tokens, alone and alone.documents)

    dropped = [row(each, tally.dropped.get(each, NOTHING), tally.alone.get(each)) for each in preview.reasons]
    return [row("all", tally.rows), row("kept", tally.kept), *dropped]


def overlapping_rules(preview: StreamPreview) -> list[tuple[str, str, int]]:
    """The pairs of rules that would drop the same documents: both names and how many; the most first."""
    found = [(a, b, count) for (a, b), count in preview.tally.both.items()]
    return sorted(found, key=lambda pair: (-pair[2], pair[0], pair[1]))[:MOST_PAIRS]


def preview_lines(preview: StreamPreview) -> Iterator[str]:
    """The lines that the command shows about a stream."""
    yield f"{preview.title} ({', '.join(preview.snapshots)})"
    yield from _align_columns([HEADS, *(each.cells for each in reason_table_rows(preview))])
    yield f"  tokens: {preview.estimate_in_words}"
    if SAMPLED_OUT in preview.reasons:
        yield f"  {SAMPLED_OUT}: the rate {preview.selection.rate:g} leaves them out; no rule does"
    if keeps_nothing(preview):
        yield "  no document is kept: the index of the mix will fail; correct the rules, or leave the stream out"
    thresholds = rule_thresholds(preview.selection)
    for name, curve in sorted(preview.tally.curves.items()):
        if curve.rows.total:
            points = ", ".join(f"{exact_number(at)}: {share:.0%}" for at, share in retention_curve(curve.rows, 8))
            today = "".join(
                f"; {each.rule}: {each.order} {each.number:g}" for each in thresholds if each.column == name
            )
            missing = f"; {curve.missing:,} without it" if curve.missing else ""
            yield f"  {name}, documents at or above: {points}{missing}{today}"
    for a, b, count in overlapping_rules(preview):
        yield f"  {a} and {b} both drop {count:,} documents"
    for row in preview.rows:
        yield f"  {f'dropped by {row.reason}' if row.reason else 'kept'}: {row.where}  {row.id}"
        yield f"    | {mark_excerpt(row.excerpt, row.marks)}"


def keeps_nothing(preview: StreamPreview) -> bool:
    """Whether a stream of a mix has documents and keeps none, not only because of blocklists."""
    dropped = [reason for reason in preview.tally.dropped if not reason.startswith(BLOCKED.format(""))]
    return bool(dropped) and not preview.tally.kept.documents and preview.title.startswith(MIX.top_folder)


def mark_excerpt(excerpt: str, marks: Sequence[tuple[int, int]]) -> str:
    """An excerpt on one line, with its spans in brackets.

    >>> mark_excerpt("call 555 now", [(5, 8)])
    'call [[555]] now'
    """
    parts, at = [], 0
    for start, end in marks:
        parts += [excerpt[at:start], f"[[{excerpt[start:end]}]]"]
        at = end
    return shorten(" ".join("".join([*parts, excerpt[at:]]).split()), _EXCERPT)


def _align_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[number]) for row in rows) for number in range(len(rows[0]))]
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        yield f"  {'  '.join(cells)}".rstrip()
