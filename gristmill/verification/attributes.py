"""The audit of an attribute set: compares every row with its document. See verification/audit.py."""

from collections.abc import Iterator, Sequence
from itertools import islice

from gristmill.errors import DataError, MalformedRow, StoreError
from gristmill.execution.finding import Finding, difference_in_words, guard_proof
from gristmill.execution.work import Say
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import IdDigest, Pair
from gristmill.lake.ledger.adopted import ShardFile, open_shard
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.attribute import AttributeRow, parse_rows
from gristmill.lake.rows.batches import TextRow
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.protocol import Store
from gristmill.verification.derived_files.examples_proof import ExamplesProof
from gristmill.verification.derived_files.findings import derived_findings
from gristmill.verification.documents import shards_by_name
from gristmill.verification.ledger import LedgerProof
from gristmill.verification.shard import KnownShard, ReadDocuments, ShardProof


def attribute_findings(
    store: Store,
    partition: Place,
    documents: Place,
    say: Say,
    shelves: Sequence[str] = (),
    known: ReadDocuments | None = None,
) -> Iterator[Finding]:
    """Findings on a partition of an attribute set, in the order of reading.

    Args:
        store: the lake.
        partition: partition of the set.
        documents: their partition.
        say: function that receives notes.
        shelves: shelves of its tagger.
        known: documents that the audit of the documents has kept. Shards without it are compared with the documents
            themselves.
    """
    proof = LedgerProof(store, partition)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream_findings()
    of_documents = shards_by_name(store, documents)
    examples = ExamplesProof(store, partition, proof.shards)
    damaged: set[str] = set()
    for shard in proof.shards:
        other = of_documents.get(shard.name)
        reading = _AttributeReading(store, partition, shard, documents, other, examples)
        for finding in guard_proof(store, reading.path, reading.shard_findings(known)):
            damaged.add(shard.name)
            yield finding
        if of_documents and other is None:
            yield Finding(partition.shard(shard.name), None, f"{documents.asset} has no shard of this name")
        elif other and (other.rows, other.ids) != (shard.rows, shard.ids):
            what = f"{shard.rows} rows of ids {shard.ids}, but its documents have {other.rows} of ids {other.ids}"
            yield Finding(partition.table, None, f"shard {shard.name}: {what}")
    for name in sorted(of_documents.keys() - {shard.name for shard in proof.shards}) if proof.shards else ():
        yield Finding(partition.shard(name), None, f"its documents have a shard {name}, this set has not")
    yield from proof.stray_findings(say)
    yield from examples.example_findings(damaged)
    yield from guard_proof(store, partition.ledger, derived_findings(store, partition, proof.shards, say, shelves))


class _AttributeReading:
    """Reads one shard of attribute rows together with its documents."""

    def __init__(
        self,
        store: Store,
        partition: Place,
        shard: Shard,
        documents: Place,
        other: Shard | None,
        examples: ExamplesProof,
    ) -> None:
        self._shard, self._examples = shard, examples
        self._set = names_in_asset_address(partition.asset)["set"]
        file = open_shard(store, partition, shard, sized=False)
        self._store, self.path = file.store, file.path
        self._beside = ShardFile(store, documents.shard(shard.name), shard)
        if other:
            self._beside = open_shard(store, documents, other, sized=False)
        self._spans = not shard.at  # the ledger of an adopted set counts its spans outside of texts
        self._shown = frozenset(examples.rows(shard.name))
        self._texts: dict[int, str] = {}  # of the documents that examples show, by number of the row
        self._ids = IdDigest()
        self._unreadable = False

    def shard_findings(self, known: ReadDocuments | None) -> Iterator[Finding]:
        """All findings on the shard; at most one finding is on a row."""
        read = known.known_shard(self._beside.store, self._beside.path) if known and not self._shown else None
        if read is not None and self._is_sound_beside(read):
            return
        proof = ShardProof(self._store, self.path, self._shard)
        documents = self._document_pairs_and_lengths()
        wrong: Finding | None = None
        for first, block in proof.blocks():
            if wrong is None and not self._unreadable:
                wrong = self._first_block_finding(first, split_rows(block), documents)
        if wrong is None and proof.whole and not self._unreadable:
            wrong = self._missing_rows_finding(documents)
        if wrong and not self._unreadable:
            yield wrong  # before the finding on the object's digest, because it says more
        yield from proof.findings
        if self._unreadable:
            what = f"cannot be compared with {self._beside.path}, which cannot be read"
            yield Finding(self.path, None, what, "mend the documents first")
        elif wrong is None and proof.whole and self._ids.hexdigest() != self._shard.ids:
            what = difference_in_words("its ids' digest is", self._ids.hexdigest(), self._shard.ids)
            yield Finding(self.path, None, what)

    def _is_sound_beside(self, read: KnownShard) -> bool:
        """Whether nothing is wrong with the shard, by what was kept of its documents. If something is, not what."""
        proof, ids = ShardProof(self._store, self.path, self._shard), IdDigest()
        for first, block in proof.blocks():
            lines = split_rows(block)
            lengths = read.lengths[first : first + len(lines)].tolist()
            if len(lengths) < len(lines):
                return False
            try:
                rows = parse_rows(lines, self._set, self.path, first, lengths)
            except MalformedRow:
                return False
            if self._spans and any(map(_outside_text_message, rows, lengths)):
                return False
            ids.update([(row.source, row.id) for row in rows])
        return proof.whole and not proof.findings and ids.hexdigest() == read.ids == self._shard.ids

    def _document_pairs_and_lengths(self) -> Iterator[tuple[Pair, int]]:
        """(source, id) of each document, and the length of its text in code points: a text itself may be huge."""
        try:
            for first, rows in self._beside.rows(TextRow, verified=False):
                shown = self._shown.intersection(range(first, first + len(rows))) if self._shown else ()
                self._texts |= {number: rows[number - first].text for number in shown}
                yield from [((row.source, row.id), len(row.text)) for row in rows]
        except (DataError, StoreError):
            self._unreadable = True

    def _first_block_finding(
        self, first: int, lines: Sequence[bytes], documents: Iterator[tuple[Pair, int]]
    ) -> Finding | None:
        """The finding on the first row of a block that is not valid, or does not belong to its document; or None."""
        block = list(islice(documents, len(lines)))
        if self._unreadable:
            return None
        try:
            lengths = [length for _, length in block] + [0] * (len(lines) - len(block))
            rows = parse_rows(lines, self._set, self.path, first, lengths)
        except MalformedRow as error:
            return Finding(self.path, error.row, error.reason)
        for number, (row, (pair, length)) in enumerate(zip(rows, block, strict=False), start=first):
            what = _other_document_message(row, pair, self._beside.path) or (
                self._spans and _outside_text_message(row, length)
            )
            if what:
                return Finding(self.path, number, what)
            if number in self._texts:
                text = self._texts.pop(number)
                self._examples.compare_row_examples(self._shard.name, number, lines[number - first], pair, text)
        self._ids.update([pair for pair, _ in block])
        if len(block) < len(lines):
            number = first + len(block)
            what = f"id {rows[len(block)].id!r}, but {self._beside.path} ends before it"
            return Finding(self.path, number, what)
        return None

    def _missing_rows_finding(self, documents: Iterator[tuple[Pair, int]]) -> Finding | None:
        document = next(documents, None)
        if document is None:
            return None
        (source, id_), _ = document
        what = f"there is no such row, but {self._beside.path} has id {id_!r} (source {source!r}) there"
        return Finding(self.path, self._ids.rows, what)


def _other_document_message(row: AttributeRow, pair: Pair, path: str) -> str:
    """Says that a row is not of its document; "" if it is."""
    source, id_ = pair
    if row.id == id_ and (row.source == source or not row.source):
        return ""
    return f"id {row.id!r} (source {row.source!r}), but {path} has {id_!r} (source {source!r}) there"


def _outside_text_message(row: AttributeRow, length: int) -> str:
    """Says which span of a row is not in its text; "" if all are."""
    for label, found in row.labels.items():
        for start, end, _ in found:
            if not 0 <= start <= end <= length:
                return f"{label}: a span [{start}, {end}) in a text of {length} characters"
    return ""
