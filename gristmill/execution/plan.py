"""The recorded state of a partition, and the changes it needs: shards to keep, to grind, and to remove."""

import hashlib
from collections.abc import Sequence

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import Place
from gristmill.lake.ledger.files import check_same_recipe, compose, parse_head, parse_table
from gristmill.lake.ledger.model import Input, Ledger, Recipe, Shard, Upstream
from gristmill.lake.ledger.receipts import (
    RawStamp,
    Receipt,
    Stamp,
    objects_of,
    read_note,
    read_receipts,
)
from gristmill.lake.rows.shard_file import unpacked
from gristmill.lake.store.hashing import sha256_of
from gristmill.lake.store.protocol import Entry, Store


class Want(msgspec.Struct, frozen=True, gc=False):
    """A shard that the partition should hold. `inputs` is None while their content is not known."""

    name: str
    inputs: tuple[Input, ...] | None


class Target(msgspec.Struct, frozen=True):
    """A partition as it should be."""

    place: Place
    recipe: Recipe
    upstream: tuple[Upstream, ...]
    wants: tuple[Want, ...]


class PartitionState(msgspec.Struct, frozen=True):
    """What is recorded of a partition: the state that a plan is made against.

    Attributes:
        head: the ledger's head; None if the partition was never finished.
        head_etag: of the head, for the compare-and-swap that publishes the next one.
        table_etag: of the ledger's table.
        table: the rows of the ledger's table, if it is the one that the head names.
        receipts: what is recorded of each shard, by its name.
        raw: how each raw object looked when it was read, by its name.
        objects: what the partition's folders hold, by path.
    """

    head: Ledger | None
    head_etag: str | None
    table_etag: str | None
    table: list[Shard]
    receipts: dict[str, Receipt]
    raw: dict[str, RawStamp]
    objects: dict[str, Entry]

    def trusted(self, receipt: Receipt, store: Store, place: Place) -> Receipt | None:
        """The receipt, if all its objects are still as recorded (else None); its stamps are made new."""
        stamps: dict[str, Stamp] = {}
        for path, sha256, size in objects_of(receipt.row, place):
            entry = self.objects.get(path)
            if entry is None or (size is not None and entry.size != size):
                return None
            if receipt.stamps.get(path) != (entry.size, entry.etag) and sha256_of(store, path) != sha256:
                return None
            stamps[path] = (entry.size, entry.etag)
        inputs = (i.shard for i in receipt.row.inputs)
        raw = {name: self.raw[name] for name in inputs if name in self.raw} if self.raw else {}
        return Receipt(receipt.row, stamps, raw)


def read_state(store: Store, place: Place) -> PartitionState:
    """Reads everything that is recorded of a partition, and lists its objects.

    A table that its head does not name yet (a run was killed in between) is good evidence if the note names it:
    each row says by itself what it was made from.
    """
    found = store.read_tagged(place.ledger)
    head = parse_head(found[0], place.ledger) if found else None
    table = store.read_tagged(place.table)
    note = read_note(store, place)
    named = head.table.sha256 if head else ""
    digest, rows = _rows_of_table(table[0], place, {note.table, named}) if table else ("", [])
    objects: dict[str, Entry] = {}
    for folder in place.folders:
        objects.update((entry.path, entry) for entry in store.list(folder))
    receipts = {row.name: Receipt(row, note.stamps, note.raw) for row in rows}
    raw = dict(note.raw)
    for receipt in read_receipts(store, place):
        receipts[receipt.row.name] = receipt
        raw.update(receipt.raw)
    return PartitionState(
        head=head,
        head_etag=found[1] if found else None,
        table_etag=table[1] if table else None,
        table=rows if digest == named else [],
        receipts=receipts,
        raw=raw,
        objects=objects,
    )


def raw_stamps(store: Store, place: Place) -> dict[str, RawStamp]:
    """The raw objects that were read for a partition, by name, as they looked then."""
    raw = dict(read_note(store, place).raw)
    for receipt in read_receipts(store, place):
        raw.update(receipt.raw)
    return raw


def _rows_of_table(data: bytes, place: Place, vouched: set[str]) -> tuple[str, list[Shard]]:
    """Digest and rows of a table that the head or the note vouches for.

    None of another or a broken one: its shards are ground again and it is written anew.
    """
    try:
        plain = b"".join(unpacked([data], place.table))
        digest = hashlib.sha256(plain).hexdigest()
        return digest, parse_table([plain] if plain else [], place.table) if digest in vouched else []
    except DataError:
        return "", []


def plan_changes(
    state: PartitionState, target: Target, store: Store, *, force: bool = False
) -> tuple[list[Receipt], list[Want], tuple[str, ...]]:
    """What is kept, what must be ground, and the names of shards that are wanted no longer.

    Raises:
        RecipeError: the partition was made by another recipe of the same name.
    """
    if state.head is not None:
        check_same_recipe(state.head.recipe, target.recipe, target.place)
    recipe = target.recipe.digest
    keep: list[Receipt] = []
    todo: list[Want] = []
    for want in target.wants:
        receipt = state.receipts.get(want.name)
        same = (
            receipt is not None
            and not force
            and want.inputs is not None
            and receipt.row.recipe == recipe
            and receipt.row.inputs == want.inputs
        )
        kept = state.trusted(receipt, store, target.place) if same and receipt else None
        if kept:
            keep.append(kept)
        else:
            todo.append(want)
    wanted = {want.name for want in target.wants}
    gone = tuple(sorted(set(state.receipts) - wanted))
    return keep, todo, gone


def is_finished(state: PartitionState, target: Target, keep: Sequence[Receipt], todo: Sequence[Want]) -> bool:
    """Whether the ledger that is there already says all this, so that there is nothing to do."""
    if todo or state.head is None:
        return False
    rows = sorted((receipt.row for receipt in keep), key=lambda row: row.name)
    ledger = compose(target.place, target.recipe, target.upstream, rows)
    if ledger == state.head:
        return True
    # A table with counters of earlier names says the same in other bytes (lake/ledger/renamed.py).
    return rows == state.table and msgspec.structs.replace(ledger, table=state.head.table) == state.head
