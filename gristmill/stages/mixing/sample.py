"""Sampling: examples of what a selection keeps and of what each of its rules drops, drawn by hash."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.identity import Pair, fraction
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklist import read_blocklist
from gristmill.lake.rows.shard_file import rows_of
from gristmill.lake.store.protocol import Store
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing.row_filter import Judge, Judged

SEED = 0x73616D  # "sam": another draw than the mixes' own
KEPT = ""
"""The reason of rows that no rule drops."""


@dataclass(frozen=True, slots=True)
class Example:
    """One row of the documents that a selection read.

    Attributes:
        shard: its shard.
        row: its number there.
        pair: (source, id).
        values: of the declared columns, as the rules saw them.
        line: the row as it lies in the shard.
    """

    shard: str
    row: int
    pair: Pair
    values: dict[str, Any]
    line: bytes

    @property
    def text(self) -> str:
        """The document's text."""
        return str(msgspec.json.decode(self.line).get("text", ""))


@dataclass(frozen=True)
class Sample:
    """What a selection does to one snapshot.

    Attributes:
        rows: rows it keeps.
        dropped: rows by the reason that drops them.
        examples: by reason (KEPT for kept rows), those of the smallest hashes first.
    """

    rows: int
    dropped: dict[str, int]
    examples: dict[str, list[Example]]


@dataclass
class _Draw:
    """The rows of one reason with the smallest hashes so far."""

    size: int
    _heap: list[tuple[float, str, int, Example]] = field(default_factory=list)

    def wants(self, number: float) -> bool:
        return len(self._heap) < self.size or number < -self._heap[0][0]

    def add(self, number: float, example: Example) -> None:
        heapq.heappush(self._heap, (-number, example.shard, example.row, example))
        if len(self._heap) > self.size:
            heapq.heappop(self._heap)

    def examples(self) -> list[Example]:
        return [entry[3] for entry in sorted(self._heap, key=lambda entry: (-entry[0], entry[1], entry[2]))]


def draw(store: Store, source: str, version: str, snapshot: str, selection: Selection, size: int) -> Sample:
    """Applies a selection anew to a snapshot of a dataset version, and draws `size` examples a reason.

    Raises:
        DataError: the documents or a set are not there, or do not fit each other.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    draws: dict[str, _Draw] = {KEPT: _Draw(size)}
    dropped: dict[str, int] = {}
    rows = 0
    for shard, judged in _judged(store, source, version, snapshot, selection):
        for reason, count in judged.dropped().items():
            dropped[reason] = dropped.get(reason, 0) + count
        rows += int((judged.verdicts == 0).sum())
        _add(shard, judged, draws, size)
    return Sample(rows, dict(sorted(dropped.items())), {reason: d.examples() for reason, d in draws.items()})


def _judged(
    store: Store, source: str, version: str, snapshot: str, selection: Selection
) -> Iterator[tuple[Shard, Judged]]:
    documents = place(documents_asset(source, version), snapshot)
    _, shards = read_ledger(store, documents)
    places = {name: place(attributes_asset(source, version, name), snapshot) for name in selection.sets}
    tables = {name: {row.name: row for row in read_ledger(store, here)[1]} for name, here in places.items()}
    judge = Judge(
        store,
        documents,
        places,
        columns=selection.columns,
        include=selection.include,
        exclude=selection.exclude,
        blocklists=[read_blocklist(store, name) for name in selection.blocklists],
        rate=selection.rate,
        seed=selection.seed,
    )
    for shard in shards:
        lacking = [name for name, table in tables.items() if shard.name not in table]
        if lacking:
            raise DataError(f"{places[lacking[0]].asset} ({snapshot}): no shard {shard.name}; make the set again")
        sha256 = {name: table[shard.name].sha256 for name, table in tables.items()}
        for judged in judge.blocks(shard, sha256, {}):
            yield shard, judged


def _add(shard: Shard, judged: Judged, draws: dict[str, _Draw], size: int) -> None:
    lines: list[bytes] = []
    for number, verdict in enumerate(judged.verdicts.tolist()):
        reason = judged.reasons[verdict - 1] if verdict else KEPT
        chosen = draws.setdefault(reason, _Draw(size))
        hashed = fraction(judged.pairs[number], SEED)
        if size and chosen.wants(hashed):
            lines = lines or rows_of(judged.block)
            values = {name: column[number] for name, column in judged.values.items()}
            row = judged.first + number
            chosen.add(hashed, Example(shard.name, row, judged.pairs[number], values, lines[number]))
