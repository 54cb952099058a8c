"""The recorded state of a partition, and the changes it needs: shards to keep, to grind, and to remove."""

import hashlib
from collections.abc import Sequence

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import Place
from gristmill.lake.ledger.adopted import read_root
from gristmill.lake.ledger.beside import check_beside
from gristmill.lake.ledger.code import Code, Codes, check_same_code
from gristmill.lake.ledger.files import check_made_alike, compose_ledger, parse_head, parse_table, recorded_recipe
from gristmill.lake.ledger.model import Input, Ledger, Recipe, Shard, Upstream
from gristmill.lake.ledger.receipts import (
    RawVersion,
    Receipt,
    objects_of_row,
    read_receipts,
    read_run_note,
    read_tagged_note,
)
from gristmill.lake.rows.shard_file import unpacked_whole
from gristmill.lake.store.adopted import Root
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.protocol import Entry, ObjectVersion, Store


class Want(msgspec.Struct, frozen=True, gc=False):
    """A shard that the partition should hold.

    Attributes:
        name: name of the shard.
        inputs: sources of its content; None while the content of an input is not known.
        again: whether the content is not known only because inputs have other stamps. Their sizes are the same, and
            reading them will tell.
        raw: the versions of raw objects whose bytes are the recorded ones, but whose ctime is another than recorded, by
            name. If the shard is kept, they are recorded anew.
    """

    name: str
    inputs: tuple[Input, ...] | None
    again: bool = False
    raw: dict[str, RawVersion] = {}


class Target(msgspec.Struct, frozen=True):
    """A partition as it should be.

    Attributes:
        place: the partition.
        recipe: the recipe that makes it.
        upstream: the partitions that it is made from.
        wants: the shards that it should hold.
        code: the code of the recipe; not known for recipes without functions.
        root: address of the folder or bucket of its files, if they are adopted.
        checked: a digest of the checksum files beside its raw objects; empty if its recipe names none.
    """

    place: Place
    recipe: Recipe
    upstream: tuple[Upstream, ...]
    wants: tuple[Want, ...]
    code: Code = Code()
    root: Root | None = None
    checked: str = ""

    def is_checked(self, state: "PartitionState") -> bool:
        """Whether its raw objects were compared with these checksum files, or need not be."""
        return self.checked in {"", state.checked}


class PartitionState(msgspec.Struct, frozen=True):
    """The recorded state of a partition, which a plan compares with the target.

    Attributes:
        head: the ledger's head; None if the partition was never finished.
        head_etag: etag of the head, for the compare-and-swap that publishes the next one.
        table_etag: etag of the ledger's table.
        table: rows of the ledger's table, if it is the one that the head names.
        receipts: the record of each shard, by its name.
        raw: the version of each raw object when it was read, by its name.
        objects: the objects in the partition's folders, by path.
        codes: the code that made it, as its run's note records it.
        root: address of the folder or bucket of its adopted files, as the lake records it.
        checked: the digest of the checksum files that its raw objects were compared with.
        beside: whether files of a run are beside its ledger: a claim, receipts or a plan.
        note_etag: etag of the run's note; None if there was no note.
    """

    head: Ledger | None
    head_etag: str | None
    table_etag: str | None
    table: list[Shard]
    receipts: dict[str, Receipt]
    raw: dict[str, RawVersion]
    objects: dict[str, Entry]
    codes: Codes = {}
    root: Root | None = None
    checked: str = ""
    beside: bool = False
    note_etag: str | None = None

    def trusted_receipt(self, receipt: Receipt, store: Store, place: Place) -> Receipt | None:
        """The receipt with current stamps, if all its objects are as recorded; else None.

        An object with another etag or ctime is hashed: a copied lake has new ones, but the same bytes.
        """
        stamps: dict[str, ObjectVersion] = {}
        for path, sha256, size in objects_of_row(receipt.row, place):
            entry = self.objects.get(path)
            if entry is None or (size is not None and entry.size != size):
                return None
            recorded = receipt.stamps.get(path)
            if (recorded is None or not recorded.same(entry)) and hash_object(store, path) != sha256:
                return None
            stamps[path] = entry.version
        inputs = (i.shard for i in receipt.row.inputs)
        raw = {name: self.raw[name] for name in inputs if name in self.raw} if self.raw else {}
        return Receipt(receipt.row, stamps, raw, receipt.code)


def read_partition_state(store: Store, place: Place) -> PartitionState:
    """Reads the ledger, note and receipts of a partition, and lists its objects.

    If a run was killed between table and head, the head does not name the table. The table is used if the note names
    it: each row records by itself what its shard was made from.

    Returns:
        The recorded state; of a partition that was never made, an empty one.
    """
    stored_head = store.read_tagged(place.ledger)
    head = parse_head(stored_head[0], place.ledger) if stored_head else None
    stored_table = store.read_tagged(place.table)
    note, note_etag = read_tagged_note(store, place)
    named = head.table.sha256 if head else ""
    digest, rows = _rows_of_table(stored_table[0], place, {note.table, named}) if stored_table else ("", [])
    objects: dict[str, Entry] = {}
    for folder in place.folders:
        objects.update((entry.path, entry) for entry in store.list(folder))
    code = next(iter(note.codes), "")
    receipts = {row.name: Receipt(row, note.stamps, note.raw, code) for row in rows}
    raw = dict(note.raw)
    beside = list(store.list(place.receipts_folder))
    for receipt in read_receipts(store, place, beside):
        receipts[receipt.row.name] = receipt
        raw.update(receipt.raw)
    return PartitionState(
        head=head,
        head_etag=stored_head[1] if stored_head else None,
        table_etag=stored_table[1] if stored_table else None,
        table=rows if digest == named else [],
        receipts=receipts,
        raw=raw,
        objects=objects,
        codes=note.codes,
        root=read_root(store, place) if any(row.at for row in rows) else None,
        checked=note.checked,
        beside=bool(beside),
        note_etag=note_etag,
    )


def _rows_of_table(data: bytes, place: Place, digests: set[str]) -> tuple[str, list[Shard]]:
    """Digest and rows of a table whose digest the head or the note names.

    Returns no rows of another or a broken table: its shards are ground again, and a new table is written.
    """
    try:
        plain = unpacked_whole(data, place.table)
        digest = hashlib.sha256(plain).hexdigest()
        return digest, parse_table([plain] if plain else [], place.table) if digest in digests else []
    except DataError:
        return "", []


def plan_partition_changes(
    state: PartitionState, target: Target, store: Store, *, force: bool = False
) -> tuple[list[Receipt], list[Want], tuple[str, ...]]:
    """Compares the recorded state with the target.

    Args:
        state: the recorded state.
        target: the partition as it should be.
        store: the lake.
        force: grind every shard again.

    Returns:
        The shards that are kept, the shards to grind, and the names of recorded shards that the target does not have.

    Raises:
        RecipeError: the partition was made by another recipe of the same name, of another version, or by other code.
    """
    if state.head is not None:
        old = state.head.recipe
        check_made_alike(state.head, target.recipe, target.upstream, target.place)
        check_same_code(target.code, state.codes, target.place, draft=old.draft and target.recipe.draft)
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
            and target.code.may_keep_shard(receipt.code, state.codes)
        )
        kept = state.trusted_receipt(receipt, store, target.place) if same and receipt else None
        if kept:
            keep.append(msgspec.structs.replace(kept, raw={**kept.raw, **want.raw}) if want.raw else kept)
        else:
            todo.append(want)
    names = {want.name for want in target.wants}
    gone = tuple(sorted(set(state.receipts) - names))
    return keep, todo, gone


def check_not_refused(store: Store, target: Target) -> None:
    """Raises why a partition is refused when it is planned. Claims nothing.

    Args:
        store: the lake.
        target: the partition as it should be.

    Raises:
        RecipeError: the partition was made by another recipe of the same name, of another version, or by other code.
    """
    place = target.place
    if target.code.problem:
        raise RecipeError(f"{place.asset} ({place.snapshot}): {target.code.problem}")
    head = store.read_tagged(place.ledger)
    if head:
        old = parse_head(head[0], place.ledger)
        check_made_alike(old, target.recipe, target.upstream, place)
        codes = read_run_note(store, place).codes
        check_same_code(target.code, codes, place, draft=old.recipe.draft and target.recipe.draft)
    else:
        check_beside(store, place, target.recipe, target.upstream, target.code)


def is_finished(state: PartitionState, target: Target, keep: Sequence[Receipt], todo: Sequence[Want]) -> bool:
    """Whether the published ledger is already that of the target, so that there is nothing to do."""
    if todo or state.head is None or target.code.has_changed(state.codes) or target.root != state.root:
        return False
    if target.code.counts_more(state.codes) or not target.is_checked(state):
        return False
    rows = sorted((receipt.row for receipt in keep), key=lambda row: row.name)
    ledger = compose_ledger(target.place, recorded_recipe(state.head.recipe, target.recipe), target.upstream, rows)
    if ledger == state.head:
        return True
    # A table with counters of earlier names says the same in other bytes (lake/ledger/renamed.py).
    return rows == state.table and msgspec.structs.replace(ledger, table=state.head.table) == state.head
