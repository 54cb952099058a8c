"""SlicePreview: one snapshot of a stream, judged as its build would judge it, without writing documents."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.lake.identity import Pair
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklists.blocklist import Blocklist, read_blocklist
from gristmill.lake.rows.draw import draw_fraction
from gristmill.lake.store.protocol import Store
from gristmill.previews.row_batches import Kinds, NeededBytes, RowBatch, RowReader
from gristmill.previews.tally import Bits, ExampleRow, RowSizes, ScoreCurve, SliceTally, count_rules
from gristmill.recipes.drift.drop_reasons import BLOCKED, SAMPLED_OUT
from gristmill.stages.mixing.columns.absent_columns import AbsentColumns
from gristmill.stages.mixing.edits.transforming import transforms_of_selection
from gristmill.stages.mixing.held_out import HeldOutFlags
from gristmill.stages.mixing.row_filter import locate_rule_error
from gristmill.stages.mixing.rule_engine import RuleFailed, RulesStopped
from gristmill.stages.mixing.rule_verdicts import RuleVerdicts
from gristmill.stages.mixing.step import MixingStep, check_aligned
from gristmill.text.units.drawn_numbers import random_row_numbers
from gristmill.threads import thread_pool

if TYPE_CHECKING:
    from concurrent.futures import Future

KEPT = ""
"""The reason of rows that are kept."""
AT_ONCE = 2
"""Shards, and batches of a shard, that are judged at the same time. Each batch has a process for its rules."""
_OPENED_AT_ONCE = 16
_NUMBERS = ("score", "DOUBLE", "BIGINT")


class JudgedBatch(NamedTuple):
    """Some rows of a shard, and what a selection does with them.

    Attributes:
        batch: the rows.
        decisions: 0 for a row that is kept, else 1 + the index of its reason (n).
        reasons: the reasons.
        drops: flags of rules and rows: whether the rule drops the row (rules, n).
        free: rows that no blocklist names (n).
    """

    batch: RowBatch
    decisions: NDArray[np.int64]
    reasons: Sequence[str]
    drops: Bits
    free: Bits


class SlicePreview:
    """What a selection keeps of one snapshot.

    Args:
        store: the lake.
        step: the step that would make the slice.
        kinds: kinds of the labels of its sets.
        keyed: whether each row's source and id are read, though neither blocklists nor a rate need them.

    Raises:
        DataError: the documents or a set are not finished, or do not match each other.
        RecipeError: a blocklist is missing, or a rule is wrong.
    """

    def __init__(self, store: Store, step: MixingStep, kinds: Kinds, *, keyed: bool = False) -> None:
        self.step, self._store = step, store
        self._selection = step.selection
        _, self.shards = read_ledger(store, step.documents)
        self._sets: dict[str, dict[str, Shard]] = {}
        for name in self._selection.sets:
            self._sets[name] = {row.name: row for row in read_ledger(store, step.attribute_set_place(name))[1]}
            check_aligned(self.shards, self._sets[name], step.attribute_set_place(name))
        self._rules = [rule.name for rule in (*self._selection.include, *self._selection.exclude)]
        self._verdicts = RuleVerdicts(self._selection) if self._rules else None
        self._blocklists: list[Blocklist] = [read_blocklist(store, name) for name in sorted(self._selection.blocklists)]
        transforms = transforms_of_selection(self._selection.transforms, step.shelves)
        self._reader = RowReader(
            store, step.documents, self._selection, kinds, self._blocklists, transforms, keyed=keyed
        )
        listed = [BLOCKED.format(each.name) for each in self._blocklists]
        self.reasons = [*listed, *self._rules, *([SAMPLED_OUT] if self._selection.rate < 1 else [])]
        optional = [column.name for column in self._selection.read_columns if column.optional]
        self._absence = AbsentColumns(store, step.documents, self._selection.read_columns, optional, step.shelves)

    def attribute_shards(self, shard: str) -> Mapping[str, Shard]:
        """The shard of each set, beside a shard of documents."""
        return {name: rows[shard] for name, rows in self._sets.items()}

    def needed(self) -> NeededBytes:
        """The bytes of files that must be read."""
        with thread_pool(_OPENED_AT_ONCE) as pool:
            each = list(
                pool.map(lambda shard: self._reader.needed(shard, self.attribute_shards(shard.name)), self.shards)
            )
        return NeededBytes(sum(one.columns for one in each), sum(one.text for one in each))

    def tally_rows(self, examples: int) -> SliceTally:
        """Judges all rows.

        Args:
            examples: rows of each reason that people may be shown, at most.

        Returns:
            The counts of the selection's rows.

        Raises:
            DataError: what the build would raise too: a row is wrong, a rule fails, or a shard lacks a column.
            StoreError: a shard is being rebuilt, or the lake does not answer.
        """
        total = SliceTally()
        with thread_pool(AT_ONCE) as pool:
            for tally in pool.map(lambda shard: self._tally_shard(shard, examples), self.shards):
                total = total.add_tally(tally, examples)
        return total

    def judged_batches(self, shard: Shard) -> Iterator[JudgedBatch]:
        """The rows of a shard with the decisions about them.

        Raises:
            DataError: see `tally`.
            StoreError: see `tally`.
        """
        counts: dict[str, int] = {}
        for batch in self._reader.batches(shard, self.attribute_shards(shard.name), counts):
            yield self._judge_batch(batch, shard.name)
        self._absence.check(shard, counts, self.attribute_shards(shard.name))

    def _judge_batch(self, batch: RowBatch, shard: str) -> JudgedBatch:
        """Blocklists decide first, then rules, then the rate: see RowFilter."""
        rows = batch.places.num_rows
        decisions = np.zeros(rows, np.int64)
        for number, blocklist in enumerate(self._blocklists, start=1):
            decisions[_blocklisted_rows(batch.places, blocklist) & (decisions == 0)] = number
        free = decisions == 0
        drops: Bits = np.zeros((0, rows), np.bool_)
        if self._verdicts:
            try:
                drops = self._verdicts.dropped_rows(batch.values)
            except (RuleFailed, RulesStopped) as error:
                at = next(row.at for row in self.shards if row.name == shard)
                raise locate_rule_error(at or self.step.documents.shard(shard), batch.first, error) from error
        dropped = free & drops.any(axis=0)
        if dropped.any():
            decisions[dropped] = drops.argmax(axis=0)[dropped] + 1 + len(self._blocklists)
        if batch.built is not None:
            return JudgedBatch(batch, batch.built.decisions, batch.built.reasons, drops, free)
        if self._selection.rate < 1:
            left = np.flatnonzero(decisions == 0)
            seed, rate = self._selection.seed, self._selection.rate
            pairs = _row_pairs(batch.places, left)
            out = [at for at, pair in zip(left.tolist(), pairs, strict=True) if draw_fraction(pair, seed) >= rate]
            decisions[out] = len(self.reasons)
        return JudgedBatch(batch, decisions, self.reasons, drops, free)

    def _tally_shard(self, shard: Shard, examples: int) -> SliceTally:
        """The tally of a shard. Some of its batches are judged at the same time."""
        total = SliceTally()
        counts: dict[str, int] = {}
        waiting: deque[Future[SliceTally]] = deque()
        with thread_pool(AT_ONCE) as pool:
            for batch in self._reader.batches(shard, self.attribute_shards(shard.name), counts):
                waiting.append(pool.submit(self._tally_batch, batch, shard.name, examples))
                if len(waiting) > AT_ONCE:
                    total = total.add_tally(waiting.popleft().result(), examples)
            for each in waiting:
                total = total.add_tally(each.result(), examples)
        self._absence.check(shard, counts, self.attribute_shards(shard.name))
        return total

    def _tally_batch(self, batch: RowBatch, shard: str, examples: int) -> SliceTally:
        return self._count_judged_batch(self._judge_batch(batch, shard), shard, examples)

    def _count_judged_batch(self, judged: JudgedBatch, shard: str, examples: int) -> SliceTally:
        batch, decisions = judged.batch, judged.decisions
        places = batch.places
        sizes = RowSizes(places.column("bytes").to_numpy(), places.column("characters").to_numpy())
        after = sizes_after_edits(batch)
        tally = SliceTally(
            sizes.amount_of_rows(np.ones(len(decisions), np.bool_)), after.amount_of_rows(decisions == 0)
        )
        tally.held = after.amount_of_rows(self._held_out_rows(batch, decisions))
        for number in np.unique(decisions[decisions > 0]).tolist():
            tally.dropped[judged.reasons[number - 1]] = sizes.amount_of_rows(decisions == number)
        count_rules(tally, self._rules, judged.drops, judged.free, sizes)
        for column in self._selection.columns:
            if column.type in _NUMBERS:
                tally.curves[column.name] = _score_curve(batch.values.column(column.name), decisions == 0)
        tally.examples = _draw_example_rows(
            decisions, [KEPT, *judged.reasons], (self.step.snapshot, shard, batch.first), examples
        )
        return tally

    def _held_out_rows(self, batch: RowBatch, decisions: NDArray[np.int64]) -> Bits:
        """Which kept rows the mix holds out by its key."""
        found: Bits = np.zeros(len(decisions), np.bool_)
        if self._selection.held_out:
            kept = np.flatnonzero(decisions == 0)
            flags = HeldOutFlags(self._selection.held_out)
            flags.add_rows(batch.keys.take(kept).to_pylist(), _row_pairs(batch.places, kept))
            found[kept] = flags.array
        return found


def sizes_after_edits(batch: RowBatch) -> RowSizes:
    """The sizes of rows after edits and transforms."""
    sizes = RowSizes(batch.places.column("bytes").to_numpy(), batch.places.column("characters").to_numpy())
    if batch.built is None or not batch.built.edits:
        return sizes
    lengths, characters = sizes.bytes.copy(), sizes.characters.copy()
    for number, line in batch.built.edits.items():
        lengths[number] = len(line) + 1
        characters[number] = len(msgspec.json.decode(line).get("text") or "")
    return RowSizes(lengths, characters)


def _row_pairs(places: Any, rows: NDArray[np.int64]) -> list[Pair]:
    """(source, id) of some rows."""
    chosen = places.select(["source", "id"]).take(rows)
    return list(zip(chosen.column("source").to_pylist(), chosen.column("id").to_pylist(), strict=True))


def _blocklisted_rows(places: Any, blocklist: Blocklist) -> Bits:
    """Which rows a blocklist names."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 0.4 s to import

    found = np.zeros(places.num_rows, np.bool_)
    ids = pa.array([id_ for _, id_ in blocklist.reasons], pa.string())
    for row in np.flatnonzero(pc.is_in(places.column("id"), value_set=ids).to_numpy()).tolist():
        found[row] = (places.column("source")[row].as_py(), places.column("id")[row].as_py()) in blocklist
    return found


def _score_curve(values: Any, kept: Bits) -> ScoreCurve:
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 0.4 s to import

    numbers = pc.fill_null(values, 0).to_numpy().astype(np.float64, copy=False)
    if not values.null_count:
        return ScoreCurve.from_numbers(numbers, kept)
    there = pc.is_valid(values).to_numpy()
    return ScoreCurve.from_numbers(numbers[there], kept[there], values.null_count)


def _draw_example_rows(
    decisions: NDArray[np.int64], reasons: Sequence[str], begin: tuple[str, str, int], most: int
) -> dict[str, list[ExampleRow]]:
    """Rows of each reason, drawn by a hash of snapshot, shard and number; `begin` has those of the first row."""
    if not most or not len(decisions):
        return {}
    snapshot, shard, first = begin
    mixed = random_row_numbers(snapshot, shard, np.arange(first, first + len(decisions)))
    found: dict[str, list[ExampleRow]] = {}
    for number in np.unique(decisions).tolist():
        rows = np.flatnonzero(decisions == number)
        if len(rows) > most:
            rows = rows[np.argpartition(mixed[rows], most - 1)[:most]]
        found[reasons[number]] = sorted(
            ExampleRow(int(mixed[row]), snapshot, shard, first + int(row)) for row in rows.tolist()
        )
    return found
