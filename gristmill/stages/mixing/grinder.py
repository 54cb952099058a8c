"""The grinder of mixing: a shard of documents, joined row by row with its attributes; kept rows are copied."""

import msgspec

from gristmill.errors import StoreError
from gristmill.execution.claim import check_claim
from gristmill.execution.document_writer import DocumentsWriter
from gristmill.execution.work import Ground, Item, Job, Outcome
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Input, Recipe, Shard
from gristmill.lake.ledger.receipts import Receipt, leave_receipt
from gristmill.lake.rows.blocklist import Blocklist, read_blocklist
from gristmill.recipes.selection import selection_of
from gristmill.stages.mixing.row_filter import RowFilter


class Spec(msgspec.Struct, frozen=True):
    """What all shards share.

    Attributes:
        documents: the partition that is read.
        place: the partition that is made.
        token: of the run that has claimed it.
        recipe: how it is made; its parameters are those of a selection.
        blocklists: digest of each blocklist when the run was planned.
    """

    documents: Place
    place: Place
    token: str
    recipe: Recipe
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
        blocklists = [self._blocklist(name, digest) for name, digest in sorted(spec.blocklists.items())]
        selection = selection_of(spec.recipe.parameters)
        self._filter = RowFilter(self._store, spec.documents, selection, blocklists)
        self._recipe = spec.recipe.digest

    def _blocklist(self, name: str, digest: str) -> Blocklist:
        blocklist = read_blocklist(self._store, name)
        if blocklist.digest != digest:
            raise StoreError(f"blocklist {name}: changed since this run was planned; run again")
        return blocklist

    def __call__(self, item: Item) -> Outcome:
        body = msgspec.json.decode(item.body, type=Body)
        place = self._spec.place
        writer = DocumentsWriter(self._store, place, item.name)
        try:
            dropped, counts = self._select(body, writer)
            check_claim(self._store, place, self._spec.token)
            row, stamps = writer.close(self._recipe, body.inputs, dropped=dropped, counts=counts)
        except BaseException:
            writer.abort()
            raise
        receipt = Receipt(row, stamps)
        leave_receipt(self._store, place, receipt)
        return Outcome((Ground(place.asset, receipt),))

    def _select(self, body: Body, writer: DocumentsWriter) -> tuple[dict[str, int], dict[str, int]]:
        dropped: dict[str, int] = {}
        counts: dict[str, int] = {}
        for block in self._filter.blocks(body.documents, body.sets, counts):
            rows, pairs = block.kept()
            writer.write(rows, pairs)
            for reason, number in block.dropped().items():
                dropped[reason] = dropped.get(reason, 0) + number
        return dropped, counts


def grinder(job: Job) -> Mixing:
    """See gristmill.execution.runner."""
    return Mixing(job)
