"""The audit of documents: of a dataset version, or of a stream of a mix. See verification/audit.py."""

from array import array
from collections.abc import Collection, Iterator, Sequence

import msgspec

from gristmill.errors import DataError, MalformedRow, RecipeError, StoreError
from gristmill.execution.finding import Finding, difference_in_words, guard_proof, prove_object
from gristmill.execution.mend import how_to_remake
from gristmill.execution.work import Say
from gristmill.lake.address import Place, blocklist_path, place
from gristmill.lake.asset_kinds import DOCUMENTS, RAW, kind_of
from gristmill.lake.identity import HASH_BYTES, IdDigest, Pair
from gristmill.lake.ledger.adopted import ShardFile, open_shard
from gristmill.lake.ledger.files import read_table
from gristmill.lake.ledger.id_search import first_duplicate, index_reader, repeated_upper_halves
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.blocklists.blocklist import Blocklist, read_blocklist
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.quarantined import QuarantinedRow
from gristmill.lake.rows.raw_spans import check_raw_spans
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.protocol import Store
from gristmill.recipes.selection import CHANGED, may_change_rows
from gristmill.stages.adoption.before import RowsBefore, VersionBefore
from gristmill.stages.conversion.parts import check_parts_meet
from gristmill.stages.mixing.blocklist_inputs import hashes_by_name, shards_touched_by_blocklists
from gristmill.stages.mixing.held_out_proof import held_out_findings
from gristmill.verification.derived_files.findings import derived_findings
from gristmill.verification.ledger import LedgerProof, first_input_of_kind
from gristmill.verification.shard import ReadDocuments, ShardProof


def document_findings(
    store: Store, partition: Place, say: Say, known: ReadDocuments | None = None
) -> Iterator[Finding]:
    """Findings on a partition of documents, in the order of reading.

    Args:
        store: the lake.
        partition: partition of documents.
        say: function that receives notes.
        known: collection that keeps what is read of shards without a finding, for the audits of their sets.
    """
    proof = LedgerProof(store, partition)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream_findings()
    meet = check_parts_meet(store, partition, proof.shards)
    if not meet.passed:
        yield Finding(partition.table, None, meet.description)
    adopted = any(shard.at for shard in proof.shards)  # then it was not made from the version before
    compared = _earlier_version_table(store, proof.head)
    edits = may_change_rows(proof.head.recipe.parameters)
    parent = _Parent(store, *compared, edits=edits) if compared and not adopted else None
    before = VersionBefore(store, *compared) if compared and adopted else None
    blocklists: list[Blocklist] = []
    yield from _read_blocklists(store, proof.head, blocklists)
    rebuilt: dict[str, bytes] = {}
    told: set[str] = set()
    readable: list[Shard] = []
    for shard in proof.shards:
        reading = _DocumentReading(store, partition, shard, blocklists)
        rows = before.rows(shard.name) if before else None
        yield from guard_proof(store, reading.path, reading.shard_findings(parent, rows, known))
        told |= {shard.name} if reading.blocked else set()
        if reading.whole:
            readable.append(msgspec.structs.replace(shard, rows=reading.ids.rows, sha256=""))
            if not reading.index_proven:
                rebuilt[shard.name] = reading.ids.index()
        refused = _quarantine_findings(store, partition, shard)
        yield from guard_proof(store, partition.quarantine_path(shard.name), refused)
    if compared:
        yield from guard_proof(store, partition.ledger, _other_entries(store, partition, compared[0], blocklists, told))
    yield from guard_proof(store, partition.ledger, _duplicate_id_finding(store, partition, readable, rebuilt))
    names = {shard.name for shard in readable}
    sound = [shard for shard in proof.shards if shard.name in names]
    yield from held_out_findings(store, partition, proof.head, sound)
    yield from proof.stray_findings(say)
    if partition.kind is DOCUMENTS:
        yield from guard_proof(store, partition.ledger, derived_findings(store, partition, proof.shards, say))


def _earlier_version_table(store: Store, head: Ledger) -> tuple[Place, list[Shard]] | None:
    """The version before, with its table; None for the first version, or if its ledger is damaged or has changed."""
    upstream = first_input_of_kind(head, DOCUMENTS)
    if upstream is None:
        return None
    partition = place(upstream.asset, upstream.snapshot)
    proof = LedgerProof(store, partition)
    if proof.findings or proof.head is None or proof.head.fingerprint != upstream.fingerprint:
        return None
    return partition, proof.shards


class _IdOfRow(msgspec.Struct):
    """What an edit of a row does not change."""

    id: str | int
    source: str


class _Parent:
    """The documents that the audited rows were selected from. Kept rows are in the same order.

    They are copies, unless the recipe edits them: then those that differ have the ids of the rows that they were.

    Attributes:
        edits: whether the recipe edits rows.
        broken: names of the shards that could not be read to their end.
    """

    def __init__(self, store: Store, partition: Place, shards: Sequence[Shard], *, edits: bool) -> None:
        self._store, self._place, self.edits = store, partition, edits
        self._shards = {shard.name: shard for shard in shards}
        self.broken: set[str] = set()

    def path(self, name: str) -> str:
        """The path of a shard, for messages."""
        return self._open_shard_file(name).path if name in self._shards else self._place.shard(name)

    def _open_shard_file(self, name: str) -> ShardFile:
        return open_shard(self._store, self._place, self._shards[name], sized=False)

    def rows(self, name: str) -> int | None:
        """The number of rows of a shard, or None if there is no such shard."""
        return self._shards[name].rows if name in self._shards else None

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a shard, up to the first that cannot be read. The shard's own audit reports the damage."""
        try:
            for block in self._open_shard_file(name).blocks(verified=False):
                yield from split_rows(block)
        except (DataError, StoreError):
            self.broken.add(name)


class _DocumentReading:
    """Reads and verifies one shard of documents."""

    def __init__(self, store: Store, partition: Place, shard: Shard, blocklists: Sequence[Blocklist]) -> None:
        self._store, self._place, self._shard, self._blocklists = store, partition, shard, blocklists
        file = open_shard(store, partition, shard, sized=False)
        self._files, self.path = file.store, file.path
        self._decoder = msgspec.json.Decoder(Document)
        self._id_decoder = msgspec.json.Decoder(_IdOfRow)
        self._changed = 0
        self._lengths = array("I")
        self.ids = IdDigest()
        self.whole = self.index_proven = self.blocked = False

    def shard_findings(
        self, parent: _Parent | None, before: RowsBefore | None, known: ReadDocuments | None
    ) -> Iterator[Finding]:
        """All findings on the shard; at most one of each kind is on a row."""
        shard = self._shard
        entry = self._files.head(self.path) if known else None
        proof = ShardProof(self._files, self.path, shard)
        lines = parent.lines(shard.name) if parent else iter(())
        parent_rows = parent.rows(shard.name) if parent else None
        of_rows: dict[str, Finding] = {}
        for first, block in proof.blocks():
            for kind, finding in self._row_findings(first, block, before) if "row" not in of_rows else ():
                of_rows.setdefault(kind, finding)
            if parent and parent_rows is not None and "parent" not in of_rows:
                of_rows.update(self._parent_row_findings(parent, lines, first, block))
        self.whole = proof.whole and "row" not in of_rows
        self.blocked = "blocked" in of_rows
        of_ids = self._id_index_findings() if self.whole else ()
        # A finding that names a row says more than one on the whole object, so it comes first.
        yield from sorted([*of_rows.values(), *proof.findings, *of_ids], key=lambda finding: finding.row is None)
        if parent:
            yield from self._count_findings(parent, parent_rows)
        if known and self.whole and not of_rows and not proof.findings:
            known.keep_shard_reading(self._files, self._place.asset, entry, self.ids.hexdigest(), self._lengths)

    def _row_findings(self, first: int, block: bytes, before: RowsBefore | None) -> Iterator[tuple[str, Finding]]:
        try:
            documents = decode_rows(self._decoder, block, self.path, first)
        except MalformedRow as error:
            yield "row", Finding(self.path, error.row, f"is not a document: {error.reason}")
            return
        if before:
            yield from before.row_findings(self.path, first, documents)
        pairs: list[Pair] = [(document.source, document.id) for document in documents]
        self.ids.update(pairs)
        self._lengths.extend([len(document.text) for document in documents])
        for number, (source, id_) in enumerate(pairs, start=first):
            if not id_ or "\x00" in id_:
                yield "id", Finding(self.path, number, f"has the id {id_!r}, which is not valid")
            for blocklist in self._blocklists:
                if (source, id_) in blocklist:
                    what = f"id {id_!r} (source {source!r}) is on the blocklist {blocklist.name}"
                    yield "blocked", Finding(self.path, number, what, how_to_remake(self._store, self._place.asset))

    def _parent_row_findings(
        self, parent: _Parent, lines: Iterator[bytes], first: int, block: bytes
    ) -> Iterator[tuple[str, Finding]]:
        for number, line in enumerate(split_rows(block), start=first):
            if not self._comes_from(line, lines, parent) and self._shard.name not in parent.broken:
                what = f"is not in {parent.path(self._shard.name)} after the row before it"
                yield "parent", Finding(self.path, number, what)
                return

    def _comes_from(self, line: bytes, lines: Iterator[bytes], parent: _Parent) -> bool:
        """Reads rows of the parent until it finds this one, or the row that this one was before an edit."""
        row = None
        for before in lines:
            if before == line:
                return True
            if parent.edits:
                row = row or self._id_decoder.decode(line)
                if self._id_decoder.decode(before) == row:
                    self._changed += 1
                    return True
        return False

    def _id_index_findings(self) -> Iterator[Finding]:
        shard = self._shard
        path = self._place.index(shard.name)
        wrong = list(prove_object(self._store, path, shard.index))
        stored = b"" if wrong else self._store.read(path)
        if self.ids.hexdigest() != shard.ids:
            row = self.ids.first_other(stored, shard.rows)
            what = difference_in_words("its ids' digest is", self.ids.hexdigest(), shard.ids)
            if row is not None:
                what = f"it does not have the id that the ledger has there; {what}"
            yield Finding(self.path, row, what)
        yield from wrong
        if not wrong:
            index = self.ids.index()
            # v0 also has raw spans; Gristmill 0.1 wrote no row numbers
            self.index_proven = stored[: len(index)] in (index, index[: self.ids.rows * HASH_BYTES])
            if not self.index_proven:
                yield Finding(path, None, f"it is not the index of the ids in {self.path}")
            elif len(stored) > len(index):
                yield from self._raw_span_findings(path, stored[len(index) :])

    def _raw_span_findings(self, path: str, packed: bytes) -> Iterator[Finding]:
        raw = [read for read in self._shard.inputs if kind_of(read.asset) is RAW]
        if not raw:
            yield Finding(path, None, "bytes follow its hashes, but only v0 has raw spans")
            return
        try:
            check_raw_spans(packed, self.ids.rows, len(raw), path)
        except DataError as error:
            yield Finding(path, None, str(error).removeprefix(f"{path}: "))

    def _count_findings(self, parent: _Parent, rows: int | None) -> Iterator[Finding]:
        shard, dropped = self._shard, sum(self._shard.dropped.values())
        if rows is None:
            yield Finding(self.path, None, f"there is no {parent.path(shard.name)} that it could come from")
        elif shard.rows + dropped != rows:
            what = f"{shard.rows} rows kept and {dropped} dropped do not make the {rows} of {parent.path(shard.name)}"
            yield Finding(self.path, None, what)
        elif self.whole and self._changed != shard.counts.get(CHANGED, 0) and shard.name not in parent.broken:
            yield Finding(
                self.path,
                None,
                f"{self._changed} rows differ from {parent.path(shard.name)}, but the ledger says that"
                f" {shard.counts.get(CHANGED, 0)} were edited",
            )


def _read_blocklists(store: Store, head: Ledger, blocklists: list[Blocklist]) -> Iterator[Finding]:
    """Adds the blocklists of a selection to `blocklists`. One that cannot be read is a finding."""
    for name in head.recipe.parameters.get("blocklists", ()):
        try:
            blocklists.append(read_blocklist(store, str(name)))
        except (DataError, RecipeError) as error:
            yield Finding(blocklist_path(str(name)), None, str(error), "restore the blocklist")


def _other_entries(
    store: Store, partition: Place, documents: Place, blocklists: Sequence[Blocklist], told: Collection[str]
) -> Iterator[Finding]:
    """Findings on shards that other entries concern now: rows are missing if their entries went.

    `told`: names of the shards of which a blocked row was found.
    """
    for blocklist in blocklists:
        touched = shards_touched_by_blocklists(store, partition, documents, hashes_by_name([blocklist]))
        for name in (each for each in touched if each not in told):
            what = f"shard {name} was made with other entries of the blocklist {blocklist.name} than it has now"
            yield Finding(partition.table, None, what, how_to_remake(store, partition.asset))


def _quarantine_findings(store: Store, partition: Place, shard: Shard) -> Iterator[Finding]:
    """Findings unless the refused rows exist, can be read, and are as many for each reason as the ledger counts."""
    recorded = {k.removeprefix("quarantine: "): n for k, n in shard.dropped.items() if k.startswith("quarantine: ")}
    if shard.quarantine is None:
        if recorded:
            what = f"shard {shard.name} counts refused rows, but names no quarantine"
            yield Finding(partition.table, None, what)
        return
    path = partition.quarantine_path(shard.name)
    proof = ShardProof(store, path, shard.quarantine)
    decoder = msgspec.json.Decoder(QuarantinedRow)
    reasons: dict[str, int] = {}
    broken: Finding | None = None
    for first, block in proof.blocks():
        try:
            for row in decode_rows(decoder, block, path, first) if broken is None else ():
                reasons[row.reason] = reasons.get(row.reason, 0) + 1
        except MalformedRow as error:
            broken = Finding(path, error.row, f"is not a row of the quarantine: {error.reason}")
    yield from proof.findings
    if broken:
        yield broken
    elif proof.whole and reasons != recorded:
        yield Finding(path, None, f"refused rows by reason are {reasons}, but the ledger says {recorded}")


def _duplicate_id_finding(
    store: Store, partition: Place, shards: Sequence[Shard], rebuilt: dict[str, bytes]
) -> Iterator[Finding]:
    """A finding if two rows have one id. Each index was verified, or is in `rebuilt`, computed from the rows."""
    read = index_reader(store, partition, rebuilt)
    highs = repeated_upper_halves(read, shards)
    duplicate = first_duplicate(store, partition, read, shards, highs) if len(highs) else None
    if duplicate:
        one, other = duplicate
        both = [shard for shard in shards if shard.name in {one.shard, other.shard}]
        files = {shard.name: open_shard(store, partition, shard).path for shard in both}
        what = (
            f"id {other.pair[1]!r} (source {other.pair[0]!r}) is in {files[one.shard]} row {one.row} as well;"
            f" {len(highs):,} ids occur twice"
        )
        yield Finding(files[other.shard], other.row, what, "correct the raw data, or the converter's ids")


def shards_by_name(store: Store, partition: Place) -> dict[str, Shard]:
    """The shards of another partition, by name. Empty if its table cannot be read; its own audit reports that."""
    try:
        return {shard.name: shard for shard in read_table(store, partition)}
    except DataError:
        return {}
