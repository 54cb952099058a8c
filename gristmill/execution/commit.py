"""Making a partition: plan what is missing, grind it shard by shard, commit.

A run claims the partition, trusts what is recorded and still the same, grinds the rest (each shard leaves a
receipt), and publishes by compare-and-swap. Killed at any moment and run again, it grinds only what is missing.
A newer run takes a partition over: the older one finds another claim, stops, and has changed nothing of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gristmill.errors import StoreError
from gristmill.execution.claim import check_claim, claimed_by, others_at_work
from gristmill.execution.plan import Known, Target, Want, decide, look
from gristmill.lake.address import Place
from gristmill.lake.ledger.files import check_same_recipe, compose, dump, parse_head, table_bytes, unpack_rows
from gristmill.lake.ledger.model import Ledger, Recipe, Shard, Upstream
from gristmill.lake.ledger.receipts import Receipt, RunNote, Stamp, objects_of, read_note
from gristmill.lake.rows.shard_file import gzip_bytes, unpacked
from gristmill.lake.store.protocol import Store


class Making(msgspec.Struct, frozen=True):
    """A claimed partition on its way: the small JSON that goes from plan to grind to commit."""

    place: Place
    recipe: Recipe
    upstream: tuple[Upstream, ...]
    token: str
    head_etag: str | None
    table_etag: str | None
    kept: int
    todo: int
    gone: tuple[str, ...]


class Folded(msgspec.Struct, frozen=True):
    """A partition whose shards are all there, before it is published.

    Attributes:
        ledger: its head.
        shards: the rows of its table.
        lines: the table itself, uncompressed.
        note: what stands beside them.
        strays: objects that no row names.
    """

    ledger: Ledger
    shards: list[Shard]
    lines: bytes
    note: RunNote
    strays: tuple[str, ...] = ()


def begin(store: Store, target: Target, token: str, *, force: bool = False) -> tuple[Making, list[Want], Known]:
    """Claims the partition and plans it: the claim comes first, so that what is read then is ours to change.

    Args:
        store: the lake.
        target: the partition as it should be.
        token: who we are: no two runs use the same.
        force: grind every shard again.

    Returns:
        What commit needs, the shards to grind, and what was known before.
    """
    place = target.place
    store.sweep()
    before = store.read_tagged(place.ledger)
    if before:
        check_same_recipe(parse_head(before[0], place.ledger).recipe, target.recipe, place)
    store.put(place.claim, dump({"token": token}))
    known = look(store, place)
    keep, todo, gone = decide(known, target, store, force=force)
    # What an earlier, killed run left of a shard that is due again must not be taken for this run's.
    there = {entry.path for entry in store.list(place.receipts)}
    store.delete([path for path in (place.receipt(want.name) for want in todo) if path in there])
    making = Making(
        place=place,
        recipe=target.recipe,
        upstream=target.upstream,
        token=token,
        head_etag=known.head_etag,
        table_etag=known.table_etag,
        kept=len(keep),
        todo=len(todo),
        gone=gone,
    )
    lines = [dump(receipt) for receipt in keep] + [dump(want) for want in todo]
    store.put(_plan(place, token), gzip_bytes(b"\n".join(lines)))
    return making, todo, known


def _plan(place: Place, token: str) -> str:
    return f"{place.receipts}.plan-{token}.gz"


def fold(store: Store, making: Making, about: Mapping[str, Any], made: Mapping[str, Receipt] | None = None) -> Folded:
    """The partition with its new shards, checked to be whole, not yet published.

    Args:
        store: the lake.
        making: as begin() gave it.
        about: what the run notes about itself.
        made: receipts that the caller holds already; the others are read.

    Raises:
        StoreError: a shard has no receipt, or an object is no longer what its receipt says.
    """
    place = making.place
    check_claim(store, place, making.token)
    plan = _plan(place, making.token)
    lines = unpack_rows(b"".join(unpacked([store.read(plan)], plan)))
    receipts = [msgspec.json.decode(line, type=Receipt) for line in lines[: making.kept]]
    for line in lines[making.kept :]:
        want = msgspec.json.decode(line, type=Want)
        receipts.append((made or {}).get(want.name) or _read_receipt(store, place, want.name))
    receipts.sort(key=lambda receipt: receipt.row.name)
    shards = [receipt.row for receipt in receipts]
    note = RunNote(
        about=dict(about),
        stamps={path: stamp for receipt in receipts for path, stamp in receipt.stamps.items()},
        raw={path: stamp for receipt in receipts for path, stamp in receipt.raw.items()},
    )
    strays = _check_untouched(store, place, shards, note.stamps)
    if place.kind.immutable:
        strays = ()  # gc removes the parts that no ledger names
    table = table_bytes(shards)
    ledger = compose(place, making.recipe, making.upstream, shards, table)
    return Folded(ledger, shards, table, msgspec.structs.replace(note, table=ledger.table.sha256, left=strays), strays)


def _read_receipt(store: Store, place: Place, name: str) -> Receipt:
    found = store.read_tagged(place.receipt(name))
    if found is None:
        raise StoreError(f"{place.asset} ({place.snapshot}): shard {name} has no receipt: run again")
    try:
        return msgspec.json.decode(found[0], type=Receipt)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{place.receipt(name)}: not a receipt ({error}): run again") from error


def _check_untouched(
    store: Store, place: Place, shards: Sequence[Shard], stamps: Mapping[str, Stamp]
) -> tuple[str, ...]:
    """No late writer changed an object between its receipt and now; gives the objects that no row names."""
    folders = place.folders
    seen = {entry.path: (entry.size, entry.etag) for folder in folders for entry in store.list(folder)}
    for path, stamp in stamps.items():
        if path.startswith(folders) and seen.get(path) != stamp:
            raise StoreError(f"{path}: changed while its partition was being made; run again")
    named = {path for row in shards for path, _, _ in objects_of(row, place)}
    return tuple(path for path in seen if path not in named)


def publish(store: Store, making: Making, folded: Folded) -> Ledger:
    """Puts note, table and head, in this order; then removes what no ledger names, and the receipts.

    Raises:
        Conflict: another run published first; nothing that its ledger names was changed.
    """
    place = making.place
    head = dump(folded.ledger)
    old = store.read_tagged(place.ledger)
    if old is None or old[0] != head or making.todo or making.table_etag is None:
        check_claim(store, place, making.token)
        store.put(place.run, dump(folded.note))
        store.put_if(place.table, gzip_bytes(folded.lines), making.table_etag)
        store.put_if(place.ledger, head, making.head_etag)
    elif not _same_note(read_note(store, place), folded.note):
        check_claim(store, place, making.token)
        store.put(place.run, dump(folded.note))  # a copied lake: hashed anew once, not at every run
    if folded.strays and not others_at_work(store, place, making.token):
        store.delete(folded.strays)  # else they go at the next publish, or with gc: somebody may be reading them
    many = 2 * making.todo > len(folded.shards)  # nearly all have a receipt: no need to look which
    release(store, making, [shard.name for shard in folded.shards] if many else ())
    return folded.ledger


def _same_note(old: RunNote, new: RunNote) -> bool:
    return (old.stamps, old.raw) == (new.stamps, new.raw) and set(new.left) <= set(old.left)


def release(store: Store, making: Making, shards: Sequence[str] = ()) -> None:
    """Removes the receipts, those of these shards unseen and first, and the claim last: as long as receipts lie there,
    somebody answers for them.
    """
    place = making.place
    if claimed_by(store, place) != making.token:
        return  # a newer run is at work already; what lies there is its own
    store.delete([place.receipt(name) for name in shards])
    store.delete([entry.path for entry in store.list(place.receipts) if entry.path != place.claim])
    store.delete([place.claim])
