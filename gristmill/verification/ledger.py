"""LedgerProof: a partition's head and table, set against each other and against the ledgers they were made from."""

import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, differs
from gristmill.execution.work import Say
from gristmill.lake.address import Place, part_at, place
from gristmill.lake.asset_kinds import RAW, TOKENIZER, AssetKind, kind_of, names_of
from gristmill.lake.ledger.files import (
    compose,
    parse_head,
    parse_table,
    read_head,
    read_table,
    recorded_rows,
    table_bytes,
)
from gristmill.lake.ledger.model import Ledger, Shard, Upstream
from gristmill.lake.ledger.receipts import objects_of, read_note
from gristmill.lake.rows.shard_file import unpacked
from gristmill.lake.store.protocol import Store
from gristmill.stages.tokenization.files import read_tokenizer_ledger

MEND = "restore the ledger, or make this partition again"
STALE = "make this partition again"


class LedgerProof:
    """Head and table of one partition; read when made.

    Attributes:
        head: the head, or None if it cannot be read.
        shards: the rows of the table; none if it is not the head's.
        findings: what head and table contradict each other in.
    """

    def __init__(self, store: Store, here: Place) -> None:
        self._store, self._place = store, here
        self.head: Ledger | None = None
        self.shards: list[Shard] = []
        self.findings = list(self._read())

    def _read(self) -> Iterator[Finding]:
        here = self._place
        found = self._store.read_tagged(here.ledger)
        if found is None:
            yield Finding(here.ledger, None, "there is no ledger", MEND)
            return
        try:
            head = parse_head(found[0], here.ledger)
        except DataError as error:
            yield Finding(here.ledger, None, str(error), MEND)
            return
        self.head = head
        packed = self._store.read_tagged(here.table)
        if packed is None:
            yield Finding(here.table, None, "there is no table, but the ledger names it", MEND)
            return
        try:
            lines = b"".join(unpacked([packed[0]], here.table))
            shards = parse_table([lines], here.table)
        except DataError as error:
            yield Finding(here.table, None, str(error), MEND)
            return
        digest = hashlib.sha256(lines).hexdigest()
        if digest != head.table.sha256:
            yield Finding(here.table, None, differs("its sha256 is", digest, head.table.sha256), MEND)
        elif table_bytes(shards) != lines and table_bytes(recorded_rows(lines)) != lines:
            yield Finding(here.table, None, "its rows are not in the one form that is written", MEND)
        else:
            self.shards = shards
        yield from self._agree(head, shards)

    def _agree(self, head: Ledger, shards: list[Shard]) -> Iterator[Finding]:
        """The head as it follows from the table, field by field."""
        here = self._place
        names = [shard.name for shard in shards]
        if names != sorted(set(names)):
            yield Finding(here.table, None, "its shards are not in the order of their names, each once", MEND)
        made = compose(here, head.recipe, tuple(_open(i) for i in head.inputs), shards)
        for name in ("asset", "snapshot", "inputs", "totals", "dropped", "fingerprint"):
            found, expected = getattr(head, name), getattr(made, name)
            if found != expected:
                yield Finding(here.ledger, None, f"{name} is {found}, but the table gives {expected}", MEND)
        if head.table.shards != len(shards):
            yield Finding(here.ledger, None, f"it counts {head.table.shards} shards, the table {len(shards)}", MEND)
        for shard in shards:
            if shard.recipe != head.recipe.digest:
                what = f"shard {shard.name} was made by recipe {shard.recipe[:12]}, not {head.recipe.digest[:12]}"
                yield Finding(here.table, None, what, MEND)
                break

    def upstream(self, say: Say) -> Iterator[Finding]:
        """Whether the ledgers that this one was made from still say the same; those that are not there are said."""
        for each in self.head.inputs if self.head else ():
            kind = kind_of(each.asset)
            if kind is TOKENIZER:
                found = self._tokenizer(each)
            elif kind is not None and not kind.ledger:
                continue  # blocklists are compared with the ids themselves; raw data have no ledger
            else:
                head = upstream_head(self._store, each)
                found = head.fingerprint if head else None
            if found is None:
                say(f"{self._place.asset} ({self._place.snapshot}): {_named(each)} is not there: not compared")
            elif found != each.fingerprint:
                what = f"made from {_named(each)} as {each.fingerprint[:12]}, which is {found[:12]} now"
                yield Finding(self._place.ledger, None, what, STALE)
            elif kind is not TOKENIZER:
                yield from self._inputs(each)

    def _tokenizer(self, each: Upstream) -> str | None:
        ledger = read_tokenizer_ledger(self._store, names_of(each.asset)["tokenizer"])
        return ledger.fingerprint if ledger else None

    def _inputs(self, each: Upstream) -> Iterator[Finding]:
        """Shard by shard the contents that were read; the fingerprints are the same."""
        try:
            contents = {s.name: s.content for s in read_table(self._store, place(each.asset, each.snapshot))}
        except DataError:
            return  # the other partition's own audit says what is wrong with its table
        for shard in self.shards:
            for read in shard.inputs:
                if read.asset == each.asset and contents.get(read.shard) != read.content:
                    now = contents.get(read.shard, "not there")
                    what = f"shard {shard.name} was made from {read.shard} of {_named(each)} as {read.content}"
                    yield Finding(self._place.table, None, f"{what}, which is {now}", STALE)

    def strays(self, say: Say) -> Iterator[Finding]:
        """Objects in the partition's folders that its ledger does not name."""
        if self.head is None or self.findings:
            return
        here = self._place
        if next(iter(self._store.list(here.receipts)), None) is not None:
            say(f"{here.asset} ({here.snapshot}): a run is at work there, or was killed: strays are not looked for")
            return
        named = {path for shard in self.shards for path, _, _ in objects_of(shard, here)}
        left = set(read_note(self._store, here).left)
        for folder in here.folders:
            for entry in self._store.list(folder):
                if entry.path in left and entry.path not in named:
                    say(f"{entry.path}: left for a run that may have been reading it; gc removes it")
                elif entry.path not in named:
                    yield Finding(entry.path, None, "no ledger names this object", "remove it, or put it elsewhere")


def part_strays(store: Store, here: Place, shards: Sequence[Shard], say: Say) -> Iterator[Finding]:
    """Objects that do not belong into a part are findings; whole parts that no ledger names are left to gc."""
    named = {path for shard in shards for path, _, _ in objects_of(shard, here)}
    folders = {found[1] for path in named if (found := part_at(path))}
    old: set[str] = set()
    for entry in (entry for top in here.folders if folders for entry in store.list(top)):
        part = part_at(entry.path)
        if entry.path in named:
            continue
        if part is None or part[1] in folders:
            yield Finding(entry.path, None, "no ledger names this object", "remove it, or put it elsewhere")
        else:
            old.add(part[1])
    if old:
        say(f"{here.asset} ({here.snapshot}): {len(old)} parts that its ledger does not name; gc removes them")


def _open(each: Upstream) -> Upstream:
    """Raw data: their fingerprint is taken from what the shards read."""
    return msgspec.structs.replace(each, fingerprint="") if kind_of(each.asset) is RAW else each


def _named(each: Upstream) -> str:
    return f"{each.asset} ({each.snapshot})" if each.snapshot else each.asset


def upstream_head(store: Store, each: Upstream) -> Ledger | None:
    """The head of an upstream partition, if it is there and can be read (its own audit says what it lacks)."""
    try:
        return read_head(store, place(each.asset, each.snapshot))
    except DataError:
        return None


def input_of(head: Ledger, kind: AssetKind) -> Upstream | None:
    """The first input of a partition that is of a kind."""
    return next((each for each in head.inputs if kind_of(each.asset) is kind), None)
