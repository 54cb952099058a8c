"""What examples of one length hold of a token cache: how full they are, and what of its documents is in none."""

from collections.abc import Iterator
from typing import Literal

import msgspec
import numpy as np

from gristmill.recipes.row_format import Format, Prebuilt, Slice
from gristmill.reports.histogram import Histogram, Tally, doubling, trimmed
from gristmill.stages.packing.packer import Integers, Lengths, Plan, Rule, packs, rule_of
from gristmill.stages.token_cache.token_stream import TokenStream

Kind = Literal["windows", "packed", "rows"]
"""How documents become examples: one stream, cut every so many tokens; whole documents, packed; each row one."""

LONGEST = 1 << 40
"""Tokens; the last bin of documents' lengths ends there."""


class Report(msgspec.Struct, frozen=True):
    """Every token of a split is in an example, or stands under truncated, dropped or unfit.

    Attributes:
        kind: see Kind.
        length: tokens of an example.
        segments: documents an example, at the most, where they are packed.
        slice_strategy: of documents that are longer, where they are packed.
        documents: rows of the split.
        tokens: all of them.
        examples: how many there are.
        filled: tokens in them.
        padding: places in them without a token.
        truncated_documents: of which the beginning or the end alone is in an example.
        truncated_tokens: what of these is not.
        dropped_documents: of which nothing is in an example; empty ones are not counted.
        dropped_tokens: theirs.
        split_documents: that lie in more than one example.
        unfit_documents: rows that are examples of another length: a trainer of this length stops at them.
        unfit_tokens: theirs.
        lengths: documents by their length in tokens.
        fill: examples by their tokens; the last bin is the full ones.
    """

    kind: Kind
    length: int
    segments: int | None
    slice_strategy: Slice | None
    documents: int
    tokens: int
    examples: int
    filled: int
    padding: int
    truncated_documents: int
    truncated_tokens: int
    dropped_documents: int
    dropped_tokens: int
    split_documents: int
    unfit_documents: int
    unfit_tokens: int
    lengths: Histogram
    fill: Histogram

    @property
    def fill_rate(self) -> float:
        """The share of the examples' places that hold a token; 1 if there is no example."""
        return self.filled / (self.filled + self.padding) if self.examples else 1.0


def ids_of(form: Format) -> str:
    """The field with the token ids."""
    return form.input_ids_key if isinstance(form, Prebuilt) else "input_ids"


def examine(stream: TokenStream, form: Format, length: int) -> tuple[Report, Plan | None]:
    """How a split becomes examples of a length, and the plan where documents are packed. No token is read.

    Raises:
        DataError: the cache is damaged or of another format, or a document is too long and must not be cut.
        RecipeError: the length is none.
    """
    rule = rule_of(form, length)
    counts = _Counts(length)
    if rule is not None:
        firsts: list[Integers] = []
        numbers: list[Integers] = []
        for first, number, elements in packs(counts.packed(stream.lengths(*form.dtypes), rule), rule):
            firsts.append(first)
            numbers.append(number)
            counts.examples(elements)
        empty = np.empty(0, np.int64)
        made = Plan(rule, np.concatenate([empty, *firsts]), np.concatenate([empty, *numbers]))
        return counts.report("packed", rule), made
    if isinstance(form, Prebuilt):
        counts.rows(stream.lengths(ids_of(form)))
        return counts.report("rows", None), None
    counts.windows(stream.lengths(ids_of(form)), stream.count(ids_of(form)))
    return counts.report("windows", None), None


class _Counts:
    """A report while its numbers come in."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._lengths = Tally(doubling(LONGEST))
        self._fill = Tally(sorted({length * part // 20 for part in range(21)} | {length + 1}))
        self._documents = self._tokens = self._examples = self._filled = self._split = 0
        self._truncated, self._dropped, self._unfit = [0, 0], [0, 0], [0, 0]

    def packed(self, blocks: Iterator[list[Integers]], rule: Rule) -> Iterator[Lengths]:
        """Hands the blocks on; counts documents that are too long."""
        spot = self._dropped if rule.slice == "drop" else self._truncated
        for block in blocks:
            self._documents_seen(block[0])
            longer = np.zeros(len(block[0]), np.bool_)
            for each in block:
                longer |= each > rule.length
            spot[0] += int(longer.sum())
            lost = block[0] if rule.slice == "drop" else np.maximum(block[0] - rule.length, 0)
            spot[1] += int(lost[longer].sum())
            yield block

    def windows(self, blocks: Iterator[list[Integers]], total: int) -> None:
        """Counts documents of one stream that is cut; what is left at its end is no example."""
        size = self._length
        number, begin = total // size, 0
        end = number * size
        for (lengths,) in blocks:
            self._documents_seen(lengths)
            stops = np.cumsum(lengths) + begin
            starts = stops - lengths
            begin += int(lengths.sum())
            self._split += int(((starts // size < (np.minimum(stops, end) - 1) // size) & (lengths > 0)).sum())
            behind = (starts >= end) & (lengths > 0)
            across = (starts < end) & (stops > end)
            self._dropped = [self._dropped[0] + int(behind.sum()), self._dropped[1] + int(lengths[behind].sum())]
            lost = int((stops[across] - end).sum())
            self._truncated = [self._truncated[0] + int(across.sum()), self._truncated[1] + lost]
        self._fill.add(np.array([size]), number)
        self._examples, self._filled = number, end

    def rows(self, blocks: Iterator[list[Integers]]) -> None:
        """Counts rows that are examples as they stand."""
        for (lengths,) in blocks:
            self._documents_seen(lengths)
            fits = lengths == self._length
            self.examples(lengths[fits])
            self._unfit = [self._unfit[0] + int((~fits).sum()), self._unfit[1] + int(lengths[~fits].sum())]

    def examples(self, elements: Integers) -> None:
        """Counts examples by the tokens in each."""
        self._fill.add(elements)
        self._examples += len(elements)
        self._filled += int(elements.sum())

    def _documents_seen(self, lengths: Integers) -> None:
        self._lengths.add(lengths)
        self._documents += len(lengths)
        self._tokens += int(lengths.sum())

    def report(self, kind: Kind, rule: Rule | None) -> Report:
        """What was counted."""
        return Report(
            kind=kind,
            length=self._length,
            segments=rule.segments if rule else None,
            slice_strategy=rule.slice if rule else None,
            documents=self._documents,
            tokens=self._tokens,
            examples=self._examples,
            filled=self._filled,
            padding=self._examples * self._length - self._filled,
            truncated_documents=self._truncated[0],
            truncated_tokens=self._truncated[1],
            dropped_documents=self._dropped[0],
            dropped_tokens=self._dropped[1],
            split_documents=self._split,
            unfit_documents=self._unfit[0],
            unfit_tokens=self._unfit[1],
            lengths=trimmed(self._lengths.done()),
            fill=self._fill.done(),
        )
