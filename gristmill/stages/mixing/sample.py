"""Sampling: draws examples of the rows that a selection keeps, and of those that it drops for each reason.

Rows are drawn by the hash of (source, id), so that every call draws the same rows.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import attributes_beside, documents_asset, place
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.counts import add_counts
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklists.blocklist import read_blocklist
from gristmill.lake.rows.draw import draw_fraction
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.protocol import Store
from gristmill.recipes.edits.transform import Transform
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing.filtered_block import FilteredBlock
from gristmill.stages.mixing.row_filter import RowFilter

SEED = 0x73616D  # "sam": differs from the seeds of mixes, so that the draws are independent
KEPT = ""
"""Stands in the place of a reason for the rows that are kept."""


@dataclass(frozen=True, slots=True)
class SampledRow:
    """One row of the documents that a selection read.

    Attributes:
        shard: name of its shard.
        row: its number in the shard, from 0.
        pair: its (source, id).
        values: values of the declared columns, as the rules get them.
        line: the bytes of the row in the shard.
        edited: its bytes after edits and transforms; None if they are the same, or if the row is dropped.
    """

    shard: str
    row: int
    pair: Pair
    values: dict[str, Any]
    line: bytes
    edited: bytes | None = None

    @property
    def text(self) -> str:
        """The document's text in the shard, before edits and transforms."""
        return str(msgspec.json.decode(self.line).get("text", ""))

    @property
    def edited_text(self) -> str:
        """The document's text after edits and transforms."""
        return self.text if self.edited is None else str(msgspec.json.decode(self.edited).get("text", ""))


@dataclass(frozen=True)
class Sample:
    """The result of applying a selection to one snapshot.

    Attributes:
        rows: number of rows that it keeps.
        dropped: number of rows that it drops, by reason.
        examples: examples by reason (KEPT for kept rows), sorted by their hashes.
    """

    rows: int
    dropped: dict[str, int]
    examples: dict[str, list[SampledRow]]


@dataclass
class _Draw:
    """The rows of one reason that have the smallest hashes so far."""

    size: int
    _heap: list[tuple[float, str, int, SampledRow]] = field(default_factory=list)

    def is_in_sample(self, number: float) -> bool:
        """Whether a row with this hash is among the smallest so far."""
        return len(self._heap) < self.size or number < -self._heap[0][0]

    def add(self, number: float, example: SampledRow) -> None:
        heapq.heappush(self._heap, (-number, example.shard, example.row, example))
        if len(self._heap) > self.size:
            heapq.heappop(self._heap)

    def sampled_rows(self) -> list[SampledRow]:
        return [entry[3] for entry in sorted(self._heap, key=lambda entry: (-entry[0], entry[1], entry[2]))]


def draw_sample(
    store: Store,
    source: str,
    version: str,
    snapshot: str,
    selection: Selection,
    size: int,
    transforms: Sequence[Transform] = (),
) -> Sample:
    """Applies a selection to a snapshot of a dataset version, and draws examples. Writes nothing.

    Args:
        store: the lake.
        source: name of the source.
        version: the version that is read.
        snapshot: key of the snapshot.
        selection: selection whose blocklists, rules and edits are applied.
        size: number of examples per reason, at most.
        transforms: the transforms that the selection names.

    Returns:
        The examples, the number of rows that were kept, and the number that were dropped, by reason.

    Raises:
        DataError: the documents or an attribute set are not finished, or do not match each other.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    draws: dict[str, _Draw] = {KEPT: _Draw(size)}
    dropped: dict[str, int] = {}
    rows = 0
    for shard, block in _filtered_blocks(store, source, version, snapshot, selection, transforms):
        add_counts(dropped, block.dropped_counts())
        rows += int((block.decisions == 0).sum())
        _offer_block_rows(shard, block, draws, size)
    return Sample(
        rows, dict(sorted(dropped.items())), {reason: drawn.sampled_rows() for reason, drawn in draws.items()}
    )


def _filtered_blocks(
    store: Store, source: str, version: str, snapshot: str, selection: Selection, transforms: Sequence[Transform]
) -> Iterator[tuple[Shard, FilteredBlock]]:
    documents = place(documents_asset(source, version), snapshot)
    _, shards = read_ledger(store, documents)
    places = {name: attributes_beside(documents, name) for name in selection.sets}
    tables = {name: {row.name: row for row in read_ledger(store, partition)[1]} for name, partition in places.items()}
    blocklists = [read_blocklist(store, name) for name in selection.blocklists]
    row_filter = RowFilter(store, documents, selection, blocklists, transforms)
    for shard in shards:
        lacking = [name for name, table in tables.items() if shard.name not in table]
        if lacking:
            raise DataError(f"{places[lacking[0]].asset} ({snapshot}): no shard {shard.name}; make the set again")
        beside = {name: table[shard.name] for name, table in tables.items()}
        for block in row_filter.blocks(shard, beside, {}):  # a sample has no use for the further counts
            yield shard, block


def _offer_block_rows(shard: Shard, block: FilteredBlock, draws: dict[str, _Draw], size: int) -> None:
    """Offers each row of a block to the draw of its reason."""
    lines: list[bytes] = []
    for number, decision in enumerate(block.decisions.tolist()):
        reason = block.reasons[decision - 1] if decision else KEPT
        drawn = draws.setdefault(reason, _Draw(size))
        hashed = draw_fraction(block.pairs[number], SEED)
        if size and drawn.is_in_sample(hashed):
            lines = lines or split_rows(block.block)
            values = {name: column[number] for name, column in block.values.items()}
            row = block.first + number
            edited = block.edits.get(number)
            drawn.add(hashed, SampledRow(shard.name, row, block.pairs[number], values, lines[number], edited))
