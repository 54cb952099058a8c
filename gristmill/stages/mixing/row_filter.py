"""Judge: which rows of a shard a selection keeps, and why it drops the others; the documents joined with their sets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.errors import MalformedRow
from gristmill.lake.address import Place
from gristmill.lake.identity import Pair, fraction
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.attribute import parse_rows
from gristmill.lake.rows.batches import RowFeed, check_same_ids, decode_rows
from gristmill.lake.rows.blocklist import Blocklist
from gristmill.lake.rows.shard_file import read_blocks
from gristmill.lake.store.protocol import Store
from gristmill.recipes.rules import Column, Rule
from gristmill.stages.mixing.column_reader import ColumnReader
from gristmill.stages.mixing.rule_engine import RuleEngine, RuleFailed, ValueRefused

SAMPLED_OUT = "sampled out"
BLOCKED = "blocklist: {}"


class _Id(msgspec.Struct):
    """What the join compares."""

    source: str
    id: str


class Feed(Protocol):
    """The rows of one attribute set, in order."""

    path: str

    def take(self, count: int, beside: str) -> list[bytes]:
        """See RowFeed."""


class Judged(NamedTuple):
    """A block of a shard, judged.

    Attributes:
        first: number of its first row in the shard.
        block: its lines.
        pairs: whose they are.
        values: of each declared column, one a row.
        verdicts: 0 for a row that is kept, else 1 + the index of its reason.
        reasons: blocklists, rules, then the rate.
    """

    first: int
    block: bytes
    pairs: list[Pair]
    values: dict[str, list[Any]]
    verdicts: NDArray[np.int64]
    reasons: list[str]

    def dropped(self) -> dict[str, int]:
        """Rows by the reason that drops them."""
        numbers, counts = np.unique(self.verdicts[self.verdicts > 0], return_counts=True)
        return {self.reasons[n - 1]: c for n, c in zip(numbers.tolist(), counts.tolist(), strict=True)}


class Judge:
    """A selection over one snapshot of a dataset version; made once, used for many shards.

    Args:
        store: the lake.
        documents: the partition that is read.
        sets: the places of the attribute sets that the columns are read from.
        columns: what the rules may name.
        include: rules that must be true.
        exclude: rules that must not be true.
        blocklists: lists of pairs that never pass.
        rate: share of rows kept of those that are left.
        seed: of the draw.
    """

    def __init__(
        self,
        store: Store,
        documents: Place,
        sets: Mapping[str, Place],
        *,
        columns: Sequence[Column],
        include: Sequence[Rule],
        exclude: Sequence[Rule],
        blocklists: Sequence[Blocklist],
        rate: float,
        seed: int,
    ) -> None:
        self._store, self._documents, self._sets = store, documents, sets
        self._reader = ColumnReader(columns)
        self._engine = RuleEngine(columns, include, exclude) if include or exclude else None
        self._blocklists = sorted(blocklists, key=lambda blocklist: blocklist.name)
        self._rate, self._seed = rate, seed

    def blocks(self, shard: Shard, sets: Mapping[str, str], counts: dict[str, int]) -> Iterator[Judged]:
        """The judged blocks of a shard, in order.

        Args:
            shard: the row of the documents' table.
            sets: sha256 of the shard of this name of each set.
            counts: takes what is counted besides: absent values, attribute rows without a source.

        Raises:
            DataError: the rows of a set are not those of the documents, or a value or a rule fails on a row.
            StoreError: an object is not the one that its ledger names (known at the end only).
        """
        path = self._documents.shard(shard.name)
        feeds = {
            name: RowFeed(self._store, self._sets[name].shard(shard.name), sha256)
            for name, sha256 in sorted(sets.items())
        }
        first = 0
        for block in read_blocks(self._store, path, shard.sha256):
            judged = self.judge(block, feeds, path, first, counts)
            yield judged
            first += len(judged.pairs)
        for feed in feeds.values():
            feed.finish(path)

    def judge(self, block: bytes, feeds: Mapping[str, Feed], path: str, first: int, counts: dict[str, int]) -> Judged:
        """A block of rows.

        Args:
            block: whole lines.
            feeds: gives the rows of each set beside them.
            path: of the shard, for messages.
            first: number of the block's first row in the shard.
            counts: as in `blocks`; so are the errors.
        """
        rows = decode_rows(self._reader.decoder, block, path, first)
        pairs = self._reader.pairs(rows, path, first)
        values = self._values(rows, pairs, feeds, path, first, counts)
        verdicts, reasons = self._verdicts(values, pairs, path, first)
        return Judged(first, block, pairs, values, verdicts, reasons)

    def _values(
        self,
        rows: Sequence[Any],
        pairs: Sequence[Pair],
        feeds: Mapping[str, Feed],
        path: str,
        first: int,
        counts: dict[str, int],
    ) -> dict[str, list[Any]]:
        """All declared columns of a block, attribute rows checked against the documents."""
        absent: dict[str, int] = {}
        values = self._reader.fields(rows, absent)
        ids = [_Id(source, id_) for source, id_ in pairs] if feeds else []
        lengths = self._reader.lengths(rows)
        for name, feed in feeds.items():
            lines = feed.take(len(rows), path)
            attributes = parse_rows(lines, name, feed.path, first, lengths)
            sourceless = check_same_ids(ids, attributes, path, feed.path, first)
            if sourceless:
                key = f"attribute rows without a source: {name}"
                counts[key] = counts.get(key, 0) + sourceless
            values.update(self._reader.labels(name, attributes, feed.path, first, absent))
        for name, number in absent.items():
            counts[f"absent: {name}"] = counts.get(f"absent: {name}", 0) + number
        return values

    def _verdicts(
        self, values: dict[str, list[Any]], pairs: Sequence[Pair], path: str, first: int
    ) -> tuple[NDArray[np.int64], list[str]]:
        """0 for a row that is kept, else 1 + the index of its reason: blocklists, rules, then the rate."""
        reasons = [BLOCKED.format(blocklist.name) for blocklist in self._blocklists]
        verdicts = np.zeros(len(pairs), dtype=np.int64)
        for number, blocklist in enumerate(self._blocklists, start=1):
            if blocklist.reasons:
                hit = np.fromiter((pair in blocklist for pair in pairs), dtype=bool, count=len(pairs))
                verdicts[hit & (verdicts == 0)] = number
        if self._engine is not None:
            try:
                ruled = self._engine.verdicts(values).astype(np.int64)
            except (ValueRefused, RuleFailed) as error:
                raise MalformedRow(
                    path, first + error.row, str(error), "mend the data, the rule or the column"
                ) from error
            free = (verdicts == 0) & (ruled > 0)
            verdicts[free] = ruled[free] + len(reasons)
            reasons += self._engine.reasons
        if self._rate < 1:
            left = np.flatnonzero(verdicts == 0)
            out = [i for i in left.tolist() if fraction(pairs[i], self._seed) >= self._rate]
            reasons.append(SAMPLED_OUT)
            verdicts[out] = len(reasons)
        return verdicts, reasons
