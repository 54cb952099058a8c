"""RowFilter: it decides which rows of a shard a selection keeps, and names the reason for each dropped row.

The documents are joined row by row with their attribute sets. Then an Editor changes the rows that are kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.address import Place, attributes_beside
from gristmill.lake.identity import Pair, PairDigest
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.counts import add_counts
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.attribute import AttributeRow, parse_rows
from gristmill.lake.rows.batches import check_same_ids, decode_rows
from gristmill.lake.rows.blocklists.blocklist import Blocklist
from gristmill.lake.rows.draw import draw_fraction
from gristmill.lake.store.protocol import Store
from gristmill.recipes.drift.drop_reasons import BLOCKED, NOT_CHOSEN, SAMPLED_OUT
from gristmill.recipes.edits.transform import Transform
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing.columns.chosen_labels import read_labels
from gristmill.stages.mixing.columns.column_reader import ColumnReader
from gristmill.stages.mixing.edits.editor import Editor
from gristmill.stages.mixing.edits.text_lengths import TextLengths
from gristmill.stages.mixing.filtered_block import FilteredBlock
from gristmill.stages.mixing.rule_engine import RuleEngine, RuleFailed, RulesStopped, ValueRefused

WRONG_TYPE = (
    "if the file is right, the selection declares the column with another type than its values have: change that type,"
    " or leave the column out"
)
"""The mend for a row that is valid JSON, but not of the declared types."""
ABSENT = "absent: "
"""A count of rows that lack a column, by its key, has the name of the column after this. Rules read NULL there."""
NULL = "null: "
"""A count of the other rows for which rules read NULL: a null of JSON, or a score without a span."""


class AttributeFeed(Protocol):
    """The rows of one attribute set, in order."""

    path: str

    def next_rows(self, count: int, beside: str) -> list[bytes]:
        """See RowFeed."""


class _BlockOrigin(NamedTuple):
    """Where a block is, for messages: the shard's path, and the number of the block's first row in the shard."""

    path: str
    first: int


def locate_rule_error(path: str, first: int, error: ValueRefused | RuleFailed | RulesStopped) -> DataError:
    """The error of a rule, with the file and the row that it is about.

    Args:
        path: path of the file.
        first: number of the batch's first row in the file.
        error: exception of the rule engine, with a row of the batch.
    """
    if isinstance(error, RulesStopped):
        rows = f"rows {first + error.rows[0]} to {first + error.rows[1]}"
        return DataError(
            f"{path}: {rows}: rule {error.rule!r} {error.reason}; no row was judged. Make the rule cheaper, such as"
            " left(text, 10000) in place of text, or let a tagger compute a score"
        )
    if isinstance(error, ValueRefused):
        what, mend = f"column {error.column!r}: {error.reason}", "mend the data, the rule or the column"
    else:
        reason = error.reason.partition(" Use TRY(")[0]  # DuckDB's advice is about a setting that rules cannot have
        what = f"rule {error.rule!r}: {reason}"
        zero = "Division by zero" in reason
        mend = "divide by nullif(..., 0)" if zero else "mend the data, the rule or the column"
    return MalformedRow(path, first + error.row, what, mend)


class RowFilter:
    """A selection over one snapshot of a dataset version. One filter is used for many shards.

    Args:
        store: the lake.
        documents: the partition that is read. The attribute sets are those of this partition.
        selection: the recipe.
        blocklists: the blocklists that the selection names.
        transforms: the transforms that the selection names, in its order.
        chosen: function that tells which rows of a block, by their pairs, are looked at; it is asked once a block, in
            order. The others are dropped. It is given where finished rows are made again. None: all are looked at.

    Raises:
        RecipeError: two columns contradict each other, or the transforms are not those of the selection.
    """

    def __init__(
        self,
        store: Store,
        documents: Place,
        selection: Selection,
        blocklists: Sequence[Blocklist],
        transforms: Sequence[Transform] = (),
        chosen: Callable[[Sequence[Pair]], NDArray[np.bool_]] | None = None,
    ) -> None:
        self._store, self._documents = store, documents
        self._chosen = chosen
        self._rate, self._seed = selection.rate, selection.seed
        self._reader = ColumnReader(selection.read_columns)
        self._merge = frozenset(selection.merge)
        ruled = selection.include or selection.exclude
        self._engine = RuleEngine(selection.columns, selection.include, selection.exclude) if ruled else None
        self._ruled = [column.name for column in selection.columns]
        self._blocklists = sorted(blocklists, key=lambda blocklist: blocklist.name)
        self._editor = Editor(selection, transforms, documents) if selection.changes_rows else None

    def blocks(self, shard: Shard, sets: Mapping[str, Shard], counts: dict[str, int]) -> Iterator[FilteredBlock]:
        """The blocks of a shard with their decisions, in order.

        Args:
            shard: the shard, as the documents' table has it.
            sets: its shard of each attribute set, by the set's name.
            counts: counter that receives further counts: absent values, attribute rows without a source, and what edits
                changed.

        Raises:
            DataError: the rows of a set do not match the documents, a value is wrong, or a rule fails on a row; or the
                shard has other rows or ids than its ledger says, which is raised after its last block.
            StoreError: an object is not the one that its ledger names; this is raised after its last block.
        """
        file = open_shard(self._store, self._documents, shard)
        feeds = {
            name: open_shard(self._store, attributes_beside(self._documents, name), beside).open_row_feed()
            for name, beside in sorted(sets.items())
        }
        ids = PairDigest()
        for block in file.blocks():
            filtered = self.decide_block_rows(block, feeds, file.path, ids.rows, counts, shard.name)
            ids.update(filtered.pairs)
            yield filtered
        for feed in feeds.values():
            feed.finish(file.path)
        file.check_ids(ids)

    def decide_block_rows(
        self,
        block: bytes,
        feeds: Mapping[str, AttributeFeed],
        path: str,
        first: int,
        counts: dict[str, int],
        shard: str = "",
    ) -> FilteredBlock:
        """The decisions about one block of rows.

        Args:
            block: whole lines.
            feeds: the rows of each attribute set, from the block's first row on.
            path: path of the shard, for messages.
            first: number of the block's first row in the shard.
            counts: counter that receives further counts, as for `blocks`.
            shard: name of the shard, for the origin of rows.

        Raises:
            DataError: see `blocks`.
        """
        rows = decode_rows(self._reader.decoder, block, path, first, WRONG_TYPE)
        pairs = self._reader.pairs(rows, path, first)
        origin = _BlockOrigin(path, first)
        labels: dict[str, list[AttributeRow]] = {}
        values = self._column_values(rows, pairs, feeds, origin, TextLengths(block, len(rows)), counts, labels)
        decisions, reasons = self._row_decisions(values, pairs, origin)
        filtered = FilteredBlock(first, block, pairs, values, decisions, reasons, labels)
        return filtered if self._editor is None else self._editor.edit(filtered, path, counts, shard)

    def _column_values(
        self,
        rows: Sequence[Any],
        pairs: Sequence[Pair],
        feeds: Mapping[str, AttributeFeed],
        origin: _BlockOrigin,
        lengths: Sequence[int],
        counts: dict[str, int],
        labels: dict[str, list[AttributeRow]],
    ) -> dict[str, Sequence[Any]]:
        """The values of all declared columns of a block; `labels` receives the rows of sets that are merged.

        Checks that the attribute rows match the documents.
        """
        path, first = origin
        absent: dict[str, int] = {}
        values: dict[str, Sequence[Any]] = {**self._reader.fields(rows, absent)}
        for name, feed in feeds.items():
            lines = feed.next_rows(len(rows), path)
            theirs, found = read_labels(lines, name, self._reader.labels_of(name), feed.path, first, lengths)
            sourceless = check_same_ids(pairs, theirs, path, feed.path, first)
            if sourceless:
                add_counts(counts, {f"attribute rows without a source: {name}": sourceless})
            if name in self._merge:
                labels[name] = parse_rows(lines, name, feed.path, first, lengths)
            values.update(self._reader.labels(name, found, feed.path, first, absent))
        add_counts(counts, absent, ABSENT)
        null = {name: column.count(None) - absent.get(name, 0) for name, column in values.items()}
        add_counts(counts, {name: rows for name, rows in null.items() if rows}, NULL)
        return values

    def _row_decisions(
        self, values: dict[str, Sequence[Any]], pairs: Sequence[Pair], origin: _BlockOrigin
    ) -> tuple[NDArray[np.int64], list[str]]:
        """Decisions and reasons: see FilteredBlock. Blocklists decide first, then rules, then the rate."""
        reasons = [BLOCKED.format(blocklist.name) for blocklist in self._blocklists]
        decisions = np.zeros(len(pairs), dtype=np.int64)
        for number, blocklist in enumerate(self._blocklists, start=1):
            if blocklist.reasons:
                listed = np.fromiter((pair in blocklist for pair in pairs), dtype=bool, count=len(pairs))
                decisions[listed & (decisions == 0)] = number
        if self._engine is not None:
            try:
                by_rules = self._engine.decide_rows({name: values[name] for name in self._ruled}).astype(np.int64)
            except (ValueRefused, RuleFailed, RulesStopped) as error:
                raise locate_rule_error(origin.path, origin.first, error) from error
            dropped = (decisions == 0) & (by_rules > 0)
            decisions[dropped] = by_rules[dropped] + len(reasons)
            reasons += self._engine.reasons
        if self._rate < 1:
            undecided = np.flatnonzero(decisions == 0)
            out = [i for i in undecided.tolist() if draw_fraction(pairs[i], self._seed) >= self._rate]
            reasons.append(SAMPLED_OUT)
            decisions[out] = len(reasons)
        if self._chosen is not None:
            reasons.append(NOT_CHOSEN)
            decisions[~self._chosen(pairs)] = len(reasons)
        return decisions, reasons
