"""The grinder of mixing: a shard of documents, joined row by row with its attributes, selected, copied as bytes."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.errors import StoreError
from gristmill.execution.claim import check_claim
from gristmill.execution.document_writer import DocumentsWriter
from gristmill.execution.work import Ground, Item, Job, Outcome
from gristmill.lake.address import Place
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.ledger.receipts import Receipt, leave_receipt
from gristmill.lake.rows.blocklist import Blocklist, read_blocklist
from gristmill.lake.rows.shard_file import rows_of
from gristmill.recipes.rules import Column, Rule
from gristmill.stages.mixing.row_filter import Judge


class SelectionSpec(msgspec.Struct, frozen=True):
    """A selection as it travels to workers; see recipes/selection.py."""

    columns: tuple[tuple[str, str, str], ...]
    include: tuple[tuple[str, str], ...]
    exclude: tuple[tuple[str, str], ...]
    blocklists: tuple[str, ...]
    rate: float
    seed: int


class Spec(msgspec.Struct, frozen=True):
    """What all shards share."""

    documents: Place
    sets: dict[str, Place]
    place: Place
    token: str
    recipe: str
    selection: SelectionSpec
    blocklists: dict[str, str]


class Body(msgspec.Struct, frozen=True):
    """One shard: the row of its documents, sha256 of its shard of each set, and what it is made from."""

    documents: Shard
    sets: dict[str, str]
    inputs: tuple[Input, ...]


class Mixing:
    """Grinds shards of one stream."""

    def __init__(self, job: Job) -> None:
        self._spec = spec = msgspec.json.decode(job.spec, type=Spec)
        self._store = job.lake.store()
        chosen = spec.selection
        self._judge = Judge(
            self._store,
            spec.documents,
            spec.sets,
            columns=[Column(*column) for column in chosen.columns],
            include=[Rule(name, where, "declared on the shelf") for name, where in chosen.include],
            exclude=[Rule(name, where, "declared on the shelf") for name, where in chosen.exclude],
            blocklists=[self._blocklist(name, digest) for name, digest in sorted(spec.blocklists.items())],
            rate=chosen.rate,
            seed=chosen.seed,
        )

    def _blocklist(self, name: str, fingerprint: str) -> Blocklist:
        blocklist = read_blocklist(self._store, name)
        if blocklist.digest != fingerprint:
            raise StoreError(f"blocklist {name}: changed since this run was planned; run again")
        return blocklist

    def __call__(self, item: Item) -> Outcome:
        body = msgspec.json.decode(item.body, type=Body)
        place = self._spec.place
        writer = DocumentsWriter(self._store, place, item.name)
        try:
            dropped, counts = self._select(body, writer)
            check_claim(self._store, place, self._spec.token)
            row, stamps = writer.close(self._spec.recipe, body.inputs, dropped=dropped, counts=counts)
        except BaseException:
            writer.abort()
            raise
        receipt = Receipt(row, stamps)
        leave_receipt(self._store, place, receipt)
        return Outcome((Ground(place.asset, receipt),))

    def _select(self, body: Body, writer: DocumentsWriter) -> tuple[dict[str, int], dict[str, int]]:
        dropped: dict[str, int] = {}
        counts: dict[str, int] = {}
        for judged in self._judge.blocks(body.documents, body.sets, counts):
            self._write(judged.block, judged.pairs, judged.verdicts, writer)
            for reason, number in judged.dropped().items():
                dropped[reason] = dropped.get(reason, 0) + number
        return dropped, counts

    @staticmethod
    def _write(block: bytes, pairs: Sequence[Pair], verdicts: NDArray[np.int64], writer: DocumentsWriter) -> None:
        """Kept rows are copied as the bytes they are."""
        if not verdicts.any():
            writer.write(block, pairs)
            return
        kept = np.flatnonzero(verdicts == 0).tolist()
        if kept:
            lines = rows_of(block)
            chosen = [lines[i] for i in kept]
            chosen.append(b"")
            writer.write(b"\n".join(chosen), [pairs[i] for i in kept])


def grinder(job: Job) -> Mixing:
    """See gristmill.execution.runner."""
    return Mixing(job)
