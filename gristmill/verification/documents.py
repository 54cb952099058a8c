"""The audit of documents: of a dataset version, or of a stream of a mix. See verification/audit.py."""

from collections.abc import Iterator, Sequence

import msgspec

from gristmill.errors import DataError, MalformedRow, RecipeError
from gristmill.execution.finding import Finding, differs
from gristmill.execution.work import Say
from gristmill.lake.address import Place, blocklist_path, place
from gristmill.lake.asset_kinds import DOCUMENTS
from gristmill.lake.identity import HASH_BYTES, IdDigest, Pair
from gristmill.lake.ledger.files import read_table
from gristmill.lake.ledger.id_search import first_duplicate, index_reader, repeated_highs
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.blocklist import Blocklist, read_blocklist
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.shard_file import read_blocks, rows_of
from gristmill.lake.store.protocol import Store
from gristmill.verification.ledger import LedgerProof, input_of
from gristmill.verification.shard import MEND, ShardProof, prove_object


class _Refused(msgspec.Struct, forbid_unknown_fields=True):
    """A row of the quarantine."""

    reason: str
    raw: str
    where: str


def document_findings(store: Store, here: Place, say: Say) -> Iterator[Finding]:
    """Everything that is wrong with a partition of documents, in the order in which it is found."""
    proof = LedgerProof(store, here)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream(say)
    parent = _Parent.of(store, proof.head)
    blocklists: list[Blocklist] = []
    yield from _read_blocklists(store, proof.head, blocklists)
    rebuilt: dict[str, bytes] = {}
    readable: list[Shard] = []
    for shard in proof.shards:
        reading = _Reading(store, here, shard, blocklists)
        yield from reading.findings(parent)
        if reading.whole:
            readable.append(msgspec.structs.replace(shard, rows=reading.ids.rows, sha256=""))
            if not reading.index_proven:
                rebuilt[shard.name] = reading.ids.index()
        yield from _quarantine(store, here, shard)
    yield from _unique(store, here, readable, rebuilt)
    yield from proof.strays(say)


class _Parent:
    """The documents that these were selected from: kept rows are copies, in the same order.

    `broken` names the shards that could not be read to their end.
    """

    def __init__(self, store: Store, here: Place, shards: Sequence[Shard]) -> None:
        self._store, self._place = store, here
        self._shards = {shard.name: shard for shard in shards}
        self.broken: set[str] = set()

    @classmethod
    def of(cls, store: Store, head: Ledger) -> "_Parent | None":
        """The parent, where there is one whose ledger still says what these were made from."""
        each = input_of(head, DOCUMENTS)
        if each is None:
            return None
        here = place(each.asset, each.snapshot)
        proof = LedgerProof(store, here)
        if proof.findings or proof.head is None or proof.head.fingerprint != each.fingerprint:
            return None
        return cls(store, here, proof.shards)

    def path(self, name: str) -> str:
        """Where the shard lies."""
        return self._place.shard(name)

    def rows(self, name: str) -> int | None:
        """Rows of the shard, or None if there is no such shard."""
        return self._shards[name].rows if name in self._shards else None

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a shard; they end where it cannot be read, which its own audit explains."""
        if self._store.head(self.path(name)) is None:
            self.broken.add(name)
            return
        try:
            for block in read_blocks(self._store, self.path(name)):
                yield from rows_of(block)
        except DataError:
            self.broken.add(name)


class _Reading:
    """One shard of documents while it is read and proven."""

    def __init__(self, store: Store, here: Place, shard: Shard, blocklists: Sequence[Blocklist]) -> None:
        self._store, self._place, self._shard, self._blocklists = store, here, shard, blocklists
        self._path = here.shard(shard.name)
        self._decoder = msgspec.json.Decoder(Document)
        self.ids = IdDigest()
        self.whole = self.index_proven = False

    def findings(self, parent: _Parent | None) -> Iterator[Finding]:
        """All of the shard; at most one of a kind."""
        shard = self._shard
        proof = ShardProof(self._store, self._path, shard)
        lines = parent.lines(shard.name) if parent else iter(())
        known = parent.rows(shard.name) if parent else None
        of_rows: dict[str, Finding] = {}
        for first, block in proof.blocks():
            for kind, finding in self._rows(first, block) if "row" not in of_rows else ():
                of_rows.setdefault(kind, finding)
            if parent and known is not None and "parent" not in of_rows:
                of_rows.update(self._of_parent(parent, lines, first, block))
        yield from of_rows.values()  # before the object's digest: they say more
        yield from proof.findings
        self.whole = proof.whole and "row" not in of_rows
        if self.whole:
            yield from self._of_ids()
        if parent:
            yield from self._of_counts(parent, known)

    def _rows(self, first: int, block: bytes) -> Iterator[tuple[str, Finding]]:
        try:
            documents = decode_rows(self._decoder, block, self._path, first)
        except MalformedRow as error:
            yield "row", Finding(self._path, error.row, f"is no document: {error.reason}", MEND)
            return
        pairs: list[Pair] = [(document.source, document.id) for document in documents]
        self.ids.update(pairs)
        for number, (source, id_) in enumerate(pairs, start=first):
            if not id_ or "\x00" in id_:
                yield "id", Finding(self._path, number, f"has the id {id_!r}, which is none", MEND)
            for blocklist in self._blocklists:
                if (source, id_) in blocklist:
                    what = f"id {id_!r} (source {source!r}) is on the blocklist {blocklist.name}"
                    yield "blocked", Finding(self._path, number, what, "make this slice again")

    def _of_parent(
        self, parent: _Parent, lines: Iterator[bytes], first: int, block: bytes
    ) -> Iterator[tuple[str, Finding]]:
        for number, line in enumerate(rows_of(block), start=first):
            if line not in lines and self._shard.name not in parent.broken:  # reads on until the line is found
                what = f"does not stand in {parent.path(self._shard.name)} after the row before it"
                yield "parent", Finding(self._path, number, what, MEND)
                return

    def _of_ids(self) -> Iterator[Finding]:
        shard = self._shard
        if self.ids.hexdigest() != shard.ids:
            yield Finding(self._path, None, differs("its ids' digest is", self.ids.hexdigest(), shard.ids), MEND)
        path = self._place.index(shard.name)
        wrong = list(prove_object(self._store, path, shard.index))
        yield from wrong
        if not wrong:
            mine = self.ids.index()
            there = self._store.read(path)[: len(mine)]  # v0 has raw spots behind it; Gristmill 0.1 had no row numbers
            self.index_proven = there in (mine, mine[: self.ids.rows * HASH_BYTES])
            if not self.index_proven:
                yield Finding(path, None, f"it is not the index of the ids in {self._path}", MEND)

    def _of_counts(self, parent: _Parent, known: int | None) -> Iterator[Finding]:
        shard, dropped = self._shard, sum(self._shard.dropped.values())
        if known is None:
            yield Finding(self._path, None, f"there is no {parent.path(shard.name)} that it could come from", MEND)
        elif shard.rows + dropped != known:
            what = f"{shard.rows} rows kept and {dropped} dropped do not make the {known} of {parent.path(shard.name)}"
            yield Finding(self._path, None, what, MEND)


def _read_blocklists(store: Store, head: Ledger, found: list[Blocklist]) -> Iterator[Finding]:
    """Adds the blocklists of a selection to `found`; one that cannot be read leaves a claim unproven."""
    for name in head.recipe.parameters.get("blocklists", ()):
        try:
            found.append(read_blocklist(store, str(name)))
        except (DataError, RecipeError) as error:
            yield Finding(blocklist_path(str(name)), None, str(error), "restore the blocklist")


def _quarantine(store: Store, here: Place, shard: Shard) -> Iterator[Finding]:
    """The refused rows: that they are there, whole, and as many by reason as the ledger counts."""
    said = {k.removeprefix("quarantine: "): n for k, n in shard.dropped.items() if k.startswith("quarantine: ")}
    if shard.quarantine is None:
        if said:
            what = f"shard {shard.name} counts refused rows, but names no quarantine"
            yield Finding(here.table, None, what, MEND)
        return
    path = here.quarantine(shard.name)
    proof = ShardProof(store, path, shard.quarantine)
    decoder = msgspec.json.Decoder(_Refused)
    reasons: dict[str, int] = {}
    broken: Finding | None = None
    for first, block in proof.blocks():
        try:
            for row in decode_rows(decoder, block, path, first) if broken is None else ():
                reasons[row.reason] = reasons.get(row.reason, 0) + 1
        except MalformedRow as error:
            broken = Finding(path, error.row, f"is no refused row: {error.reason}", MEND)
    yield from proof.findings
    if broken:
        yield broken
    elif proof.whole and reasons != said:
        yield Finding(path, None, f"refused rows by reason are {reasons}, but the ledger says {said}", MEND)


def _unique(store: Store, here: Place, shards: Sequence[Shard], rebuilt: dict[str, bytes]) -> Iterator[Finding]:
    """No id twice: over the indexes, each of which was proven, or made anew from the rows."""
    read = index_reader(store, here, rebuilt)
    highs = repeated_highs(read, shards)
    twice = first_duplicate(store, here, read, shards, highs) if len(highs) else None
    if twice:
        one, other = twice
        what = (
            f"id {other.pair[1]!r} (source {other.pair[0]!r}) stands in {here.shard(one.shard)} row {one.row} as well;"
            f" {len(highs):,} ids stand twice"
        )
        yield Finding(here.shard(other.shard), other.row, what, "mend the raw data, or the converter's ids")


def table_of(store: Store, here: Place) -> dict[str, Shard]:
    """The shards of another partition by name; none if its table cannot be read (its own audit says why)."""
    try:
        return {shard.name: shard for shard in read_table(store, here)}
    except DataError:
        return {}
