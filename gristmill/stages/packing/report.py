"""Report on the examples of a token cache at one length: how full they are, and which documents they do not hold."""

from collections.abc import Iterator
from typing import Literal

import msgspec
import numpy as np

from gristmill.recipes.row_format import Format, Prebuilt, Slice
from gristmill.reports.histogram import Histogram, Tallies, doubling_edges, trim_histogram
from gristmill.stages.packing.packer import Integers, Lengths, Packing, PackingRule, pack_blocks, packing_rule_of_format
from gristmill.stages.token_cache.token_stream import TokenStream

Kind = Literal["windows", "packed", "rows"]
"""How documents become examples.

`windows`: all documents are one stream, cut every `length` tokens. `packed`: whole documents share an example. `rows`:
each row is one example.
"""

LONGEST = 1 << 40
"""In tokens: the histogram of document lengths ends there."""


class Report(msgspec.Struct, frozen=True):
    """What the examples of one split hold.

    Each token of the split is in an example, or is counted as truncated, dropped or unfit:
    `tokens = filled + truncated_tokens + dropped_tokens + unfit_tokens`.

    Attributes:
        kind: kind of an example: how documents become examples, see Kind.
        length: tokens of one example.
        segments: the largest number of documents in one example; None if they are not packed.
        slice_strategy: choice for documents longer than one example; None if they are not packed.
        documents: number of rows of the split.
        tokens: number of tokens of the split.
        examples: number of examples.
        filled: number of tokens in the examples.
        padding: number of positions in the examples that hold no token.
        truncated_documents: number of documents of which one end was cut off.
        truncated_tokens: number of tokens cut off from these.
        dropped_documents: number of documents of which no token is in an example; empty documents are not counted.
        dropped_tokens: number of their tokens.
        split_documents: number of documents that span more than one example.
        unfit_documents: number of prebuilt rows of another length. A trainer with this length stops at such a row.
        unfit_tokens: number of their tokens.
        lengths: histogram of the documents' lengths in tokens.
        fill: histogram of the tokens per example; the last bin holds the full examples.
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
        """The share of the examples' positions that hold a token, from 0 to 1. 1 if there are no examples."""
        return self.filled / (self.filled + self.padding) if self.examples else 1.0

    def is_by(self, rule: PackingRule | None) -> bool:
        """Whether the documents were packed by a rule; None: they were not packed."""
        packed = (self.segments, self.slice_strategy)
        return packed == ((rule.segments, rule.slice) if rule else (None, None))


def token_ids_field(form: Format) -> str:
    """The name of the cache field that holds the token ids.

    Args:
        form: the format of the rows.

    Returns:
        The field's name.

    Example:
        >>> token_ids_field(Prebuilt(input_ids_key="tokens"))
        'tokens'
    """
    return form.input_ids_key if isinstance(form, Prebuilt) else "input_ids"


def report_on_packing(stream: TokenStream, form: Format, length: int) -> tuple[Report, Packing | None]:
    """Reports on the examples that a split gives at one length. Reads the rows' lengths, not their tokens.

    Args:
        stream: the split.
        form: the format of its rows.
        length: tokens of one example.

    Returns:
        The report; and the packing plan, or None if documents of this format are not packed.

    Raises:
        DataError: the cache is damaged or has another format, or a document is too long and must not be cut.
        RecipeError: the length is less than 1.
    """
    rule = packing_rule_of_format(form, length)
    counts = _Counts(length)
    if rule is not None:
        firsts: list[Integers] = []
        numbers: list[Integers] = []
        for first, number, elements in pack_blocks(
            counts.count_long_documents(stream.lengths(*form.dtypes), rule), rule, stream.path
        ):
            firsts.append(first)
            numbers.append(number)
            counts.count_examples(elements)
        empty = np.empty(0, np.int64)
        made = Packing(rule, np.concatenate([empty, *firsts]), np.concatenate([empty, *numbers]))
        return counts.packing_report("packed", rule), made
    if isinstance(form, Prebuilt):
        counts.rows(stream.lengths(token_ids_field(form)))
        return counts.packing_report("rows", None), None
    counts.windows(stream.lengths(token_ids_field(form)), stream.count(token_ids_field(form)))
    return counts.packing_report("windows", None), None


class _Counts:
    """Adds up the numbers of a report, block by block."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._lengths = Tallies(doubling_edges(LONGEST))
        self._fill = Tallies(sorted({length * part // 20 for part in range(21)} | {length + 1}))
        self._documents = self._tokens = self._examples = self._filled = self._split = 0
        self._truncated, self._dropped, self._unfit = [0, 0], [0, 0], [0, 0]

    def count_long_documents(self, blocks: Iterator[list[Integers]], rule: PackingRule) -> Iterator[Lengths]:
        """Passes the blocks through unchanged; counts the documents that are too long."""
        counter = self._dropped if rule.slice == "drop" else self._truncated
        for block in blocks:
            self._documents_seen(block[0])
            longer = np.zeros(len(block[0]), np.bool_)
            for field in block:
                longer |= field > rule.length
            counter[0] += int(longer.sum())
            lost = block[0] if rule.slice == "drop" else np.maximum(block[0] - rule.length, 0)
            counter[1] += int(lost[longer].sum())
            yield block

    def windows(self, blocks: Iterator[list[Integers]], total: int) -> None:
        """Counts the documents of one stream that is cut into examples. Tokens left over at its end are not used."""
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
        """Counts prebuilt rows: each row of the right length is one example."""
        for (lengths,) in blocks:
            self._documents_seen(lengths)
            fits = lengths == self._length
            self.count_examples(lengths[fits])
            self._unfit = [self._unfit[0] + int((~fits).sum()), self._unfit[1] + int(lengths[~fits].sum())]

    def count_examples(self, elements: Integers) -> None:
        """Counts examples; `elements` has the number of tokens of each."""
        self._fill.add(elements)
        self._examples += len(elements)
        self._filled += int(elements.sum())

    def _documents_seen(self, lengths: Integers) -> None:
        self._lengths.add(lengths)
        self._documents += len(lengths)
        self._tokens += int(lengths.sum())

    def packing_report(self, kind: Kind, rule: PackingRule | None) -> Report:
        """The report of everything counted so far."""
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
            lengths=trim_histogram(self._lengths.build_histogram()),
            fill=self._fill.build_histogram(),
        )
