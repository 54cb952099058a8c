"""LedgerProof: compares a partition's head and table with each other, and with the ledgers of its inputs."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from gristmill.errors import DataError, NewerSchema
from gristmill.execution.finding import (
    Finding,
    difference_in_words,
    foreign_name_findings,
    guard_proof,
    unreadable_finding,
)
from gristmill.execution.in_flight import paths_in_flight
from gristmill.execution.mend import REMOVE_STRAY, how_to_remake
from gristmill.execution.work import Say
from gristmill.lake.address import Place, part_at, place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import (
    BLOCKLIST,
    MODEL,
    RAW,
    TOKENIZER,
    kind_of,
    names_in_asset_address,
)
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.adopted import root_path
from gristmill.lake.ledger.files import (
    as_json,
    compose_ledger,
    parse_head,
    parse_table,
    read_head,
    read_table,
    recorded_rows,
    table_bytes,
)
from gristmill.lake.ledger.model import Ledger, Shard, Upstream
from gristmill.lake.ledger.receipts import objects_of_row, read_run_note
from gristmill.lake.rows.shard_file import unpacked_whole
from gristmill.lake.store.protocol import Store
from gristmill.releases.pins import pinned_by_releases
from gristmill.stages.kind import KnownPart, behaviour_of_kind
from gristmill.stages.models.ledger import FolderLedger, find_folder_ledger
from gristmill.stages.tokenization.files import TokenizerLedger, read_tokenizer_ledger
from gristmill.verification.shard import ShardProof


class LedgerProof:
    """Head and table of one partition. The constructor reads them.

    Attributes:
        head: the head, or None if it cannot be read.
        shards: the rows of the table; empty if the table is not the one that the head names.
        findings: errors of head and table, and contradictions between them.
    """

    def __init__(self, store: Store, partition: Place) -> None:
        self._store, self._place = store, partition
        self.head: Ledger | None = None
        self.shards: list[Shard] = []
        self.findings = list(guard_proof(store, partition.ledger, self._read_head_and_table()))

    def _read_head_and_table(self) -> Iterator[Finding]:
        partition = self._place
        tagged = self._store.read_tagged(partition.ledger)
        if tagged is None:
            yield Finding(partition.ledger, None, "there is no ledger")
            return
        try:
            head = parse_head(tagged[0], partition.ledger)
        except DataError as error:
            yield unreadable_finding(partition.ledger, error)
            return
        self.head = head
        if as_json(msgspec.json.decode(tagged[0], type=Ledger)) != tagged[0]:
            yield Finding(partition.ledger, None, "it is not canonical JSON")
        packed = self._store.read_tagged(partition.table)
        if packed is None:
            yield Finding(partition.table, None, "there is no table, but the ledger names it")
            return
        try:
            lines = unpacked_whole(packed[0], partition.table)
            shards = parse_table([lines], partition.table)
        except DataError as error:
            yield unreadable_finding(partition.table, error)
            return
        digest = hashlib.sha256(lines).hexdigest()
        if digest != head.table.sha256:
            yield Finding(partition.table, None, difference_in_words("its sha256 is", digest, head.table.sha256))
        elif table_bytes(shards) != lines and table_bytes(recorded_rows(lines)) != lines:
            yield Finding(partition.table, None, "its rows are not canonical JSON")
        else:
            self.shards = shards
        yield from self._head_table_findings(head, shards)

    def _head_table_findings(self, head: Ledger, shards: list[Shard]) -> Iterator[Finding]:
        """Findings unless the head is the one that the table gives, field by field."""
        partition = self._place
        names = [shard.name for shard in shards]
        if names != sorted(set(names)):
            yield Finding(partition.table, None, "its shards are not in the order of their names, each once")
        inputs = [(each.asset, each.snapshot) for each in head.inputs]
        if len(inputs) != len(set(inputs)):
            yield Finding(partition.ledger, None, "it names an input twice")
        composed = compose_ledger(
            partition, head.recipe, tuple(_without_composed_fingerprint(i, shards) for i in head.inputs), shards
        )
        for name in ("asset", "snapshot", "inputs", "totals", "dropped", "fingerprint"):
            recorded, expected = getattr(head, name), getattr(composed, name)
            if recorded != expected:
                yield Finding(partition.ledger, None, f"{name} is {recorded}, but the table gives {expected}")
        if head.schema < 1:
            yield Finding(partition.ledger, None, f"its schema is {head.schema}, but the first one is 1")
        if head.table.shards != len(shards):
            yield Finding(partition.ledger, None, f"it counts {head.table.shards} shards, the table {len(shards)}")
        for shard in shards:
            if shard.recipe != head.recipe.digest:
                what = f"shard {shard.name} was made by recipe {shard.recipe[:12]}, not {head.recipe.digest[:12]}"
                yield Finding(partition.table, None, what)
                break
        for shard in shards:
            yield from self._row_field_findings(head, shard)

    def _row_field_findings(self, head: Ledger, shard: Shard) -> Iterator[Finding]:
        """Findings on fields that no row of the kind has, and on inputs that the head does not name."""
        kind, table = self._place.kind, self._place.table
        given = {"members": shard.members, "index": shard.index, "quarantine": shard.quarantine}
        may_have = {"members": not kind.immutable, "index": kind.documents, "quarantine": bool(kind.quarantine)}
        for name, value in given.items():
            if value and not may_have[name]:
                yield Finding(table, None, f"shard {shard.name} has the field {name}, but no shard of {kind.name} has")
        known = {each.asset: each.fingerprint for each in head.inputs}
        for read in shard.inputs:
            of = kind_of(read.asset)
            if read.asset not in known and not (of and of.ordered):  # its order is no partition
                what = f"shard {shard.name} was made from {read.asset}, which is no input of the head"
                yield Finding(table, None, what)
            file = of.whole if of else ""
            if file and (read.shard, read.content) != (file, known.get(read.asset)):
                what = f"shard {shard.name} was made from {read.shard} of {read.asset} as {read.content}"
                yield Finding(table, None, f"{what}, but the head names {file} as {known.get(read.asset)}")

    def upstream_findings(self) -> Iterator[Finding]:
        """Findings on inputs that do not exist, or have changed since."""
        for upstream in self.head.inputs if self.head else ():
            kind = kind_of(upstream.asset)
            if kind is None or not kind.ledger:
                continue  # blocklists are compared with the ids themselves; raw data have no ledger
            try:
                current = self._current_fingerprint(upstream)
            except NewerSchema as error:
                yield unreadable_finding(error.path, error, error.mend)
                continue
            except DataError:  # its own audit says what is wrong with it
                current = None
            if current is None:
                what = f"made from {_input_in_words(upstream)}, which has no valid ledger"
                yield Finding(self._place.ledger, None, what, self._missing_input_mend(upstream))
            elif current != upstream.fingerprint:
                what = (
                    f"made from {_input_in_words(upstream)} as {upstream.fingerprint[:12]}, which is {current[:12]} now"
                )
                yield Finding(self._place.ledger, None, what, how_to_remake(self._store, self._place.asset))
            elif self._place.kind.reads == "tables" or not (kind.by_digest or self._place.kind.reads == "digest"):
                yield from self._changed_input_findings(upstream)

    def _missing_input_mend(self, upstream: Upstream) -> str:
        """The mend of a partition whose input is gone. A run makes no input of which the raw data are gone too."""
        mend, kind = how_to_remake(self._store, upstream.asset), kind_of(upstream.asset)
        if kind is None or not kind.is_partitioned:
            return mend
        gone = f"if the raw data of {upstream.snapshot} are gone for good"
        return f"{mend}; {gone}, remove {self._place.ledger} and its objects"

    def _current_fingerprint(self, upstream: Upstream) -> str | None:
        """The fingerprint of an input today; None if it does not exist."""
        found: Ledger | TokenizerLedger | FolderLedger | None
        if kind_of(upstream.asset) is TOKENIZER:
            found = read_tokenizer_ledger(self._store, names_in_asset_address(upstream.asset)["tokenizer"])
        elif kind_of(upstream.asset) is MODEL:
            found = find_folder_ledger(self._store, upstream.asset)
        else:
            found = read_head(self._store, place(upstream.asset, upstream.snapshot))
        return found.fingerprint if found else None

    def _changed_input_findings(self, upstream: Upstream) -> Iterator[Finding]:
        """Findings on shards whose input shards had another content. The partitions' fingerprints are equal."""
        try:
            contents = {s.name: s.identity for s in read_table(self._store, place(upstream.asset, upstream.snapshot))}
        except DataError:
            return  # the other partition's own audit reports what is wrong with its table
        whole = self._place.kind.reads == "tables"
        if whole:
            contents = {upstream.snapshot: digest_of([[name, contents[name]] for name in sorted(contents)])}
        for shard in self.shards:
            for read in shard.inputs:
                if read.asset != upstream.asset or (whole and read.shard != upstream.snapshot):
                    continue
                if contents.get(read.shard) != read.content:
                    now = contents.get(read.shard, "not there")
                    source = _input_in_words(upstream)
                    what = f"shard {shard.name} was made from {read.shard} of {source} as {read.content}"
                    yield Finding(
                        self._place.table,
                        None,
                        f"{what}, which is {now}",
                        how_to_remake(self._store, self._place.asset),
                    )

    def stray_findings(self, say: Say) -> Iterator[Finding]:
        """Findings on objects in the partition's folders that its ledger does not name.

        Args:
            say: function that receives notes on objects that are left for other runs.
        """
        if self.head is None or self.findings:
            return
        partition = self._place
        yield from foreign_name_findings(self._store, partition)
        named = {path for shard in self.shards for path, _, _ in objects_of_row(shard, partition)}
        named |= {root_path(partition)} if any(shard.at for shard in self.shards) else set()
        left = set(read_run_note(self._store, partition).left)
        at_work = paths_in_flight(self._store, partition)
        for folder in partition.folders:
            for path in (entry.path for entry in self._store.list(folder) if entry.path not in named):
                if path in left:
                    say(f"{path}: left for a run that may have been reading it; gc removes it")
                elif path in at_work:
                    say(f"{path}: made by a run that is at work, or was killed; run it again")
                else:
                    yield Finding(path, None, "no ledger names this object", REMOVE_STRAY)


def part_findings(store: Store, partition: Place, say: Say) -> Iterator[Finding]:
    """Findings on head, table and inputs, and on each part, which its kind verifies."""
    proof, kind = LedgerProof(store, partition), behaviour_of_kind(partition.kind)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream_findings()
    for row in proof.shards:
        wrong = [] if partition.kind.immutable else _shard_findings(store, partition, row)
        yield from wrong or guard_proof(store, partition.table, kind.findings(KnownPart(store, partition, row)))
    if partition.kind.immutable:
        yield from stray_part_objects(store, partition, proof.shards, say)
    else:
        yield from proof.stray_findings(say)


def _shard_findings(store: Store, partition: Place, row: Shard) -> list[Finding]:
    """Findings on the bytes of a shard of rows. A damaged one is not decoded."""
    shard = ShardProof(store, partition.shard(row.name), row)
    for _ in shard.blocks():
        pass
    return shard.findings


def stray_part_objects(store: Store, partition: Place, shards: Sequence[Shard], say: Say) -> Iterator[Finding]:
    """Findings on objects in a part's folder that no ledger names. Whole parts that no ledger names are left to gc."""
    named = {path for shard in shards for path, _, _ in objects_of_row(shard, partition)}
    folders = {part[1] for path in named if (part := part_at(path))}
    old: set[str] = set()
    for entry in (entry for top in partition.folders if folders for entry in store.list(top)):
        part = part_at(entry.path)
        if entry.path in named:
            continue
        if part is None or part[1] in folders:
            yield Finding(entry.path, None, "no ledger names this object", REMOVE_STRAY)
        else:
            old.add(part[1])
    if old:
        _note_old_parts(partition, old, pinned_by_releases(store, damaged=True), say)


def _note_old_parts(partition: Place, old: set[str], pinned: Mapping[str, Sequence[str]], say: Say) -> None:
    """Says what becomes of parts that a ledger does not name: `gc` removes them, unless a release names them."""
    what = f"{partition.asset} ({partition.snapshot}):"
    naming = [pinned[name] for folder in old if (name := folder.rstrip("/").rpartition("/")[2]) in pinned]
    if len(naming) < len(old):
        say(f"{what} {len(old) - len(naming)} parts that its ledger does not name; gc removes them")
    if naming:
        files = ", ".join(sorted({path for paths in naming for path in paths}))
        say(f"{what} {len(naming)} parts that its ledger does not name; gc keeps them for {files}")


def _without_composed_fingerprint(upstream: Upstream, shards: Sequence[Shard]) -> Upstream:
    """Clears a fingerprint that compose_ledger() computes from inputs of the shards: of raw data, and of a blocklist.

    Gristmill 0.1 took that of a blocklist over all its pairs; then no shard names the pairs that it contains.
    """
    kind = kind_of(upstream.asset)
    of_shards = kind is BLOCKLIST and any(
        each.asset == upstream.asset and each.shard == shard.name for shard in shards for each in shard.inputs
    )
    return msgspec.structs.replace(upstream, fingerprint="") if kind is RAW or of_shards else upstream


def _input_in_words(upstream: Upstream) -> str:
    return f"{upstream.asset} ({upstream.snapshot})" if upstream.snapshot else upstream.asset


def upstream_head(store: Store, upstream: Upstream) -> Ledger | None:
    """The head of an upstream partition; None if it does not exist or is not valid, which its own audit reports."""
    try:
        return read_head(store, place(upstream.asset, upstream.snapshot))
    except DataError:
        return None


def first_input_of_kind(head: Ledger, kind: AssetKind) -> Upstream | None:
    """The first input of a partition that is of a kind; None if there is none."""
    return next((upstream for upstream in head.inputs if kind_of(upstream.asset) is kind), None)
