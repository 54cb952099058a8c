"""A partition from claim to ledger: claim it, plan what is missing, assemble its shards, check them, publish.

A run claims the partition, trusts what is recorded and still the same, grinds the rest (each shard leaves a
receipt), and publishes by compare-and-swap. Killed at any moment and run again, it grinds only what is missing.
A newer run takes a partition over: the older one finds another claim, stops, and has changed nothing of it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from gristmill.errors import DataError, StoreError
from gristmill.execution.checks import Check, Verdict
from gristmill.execution.claim import check_claim, claimed_by, others_at_work
from gristmill.execution.plan import PartitionState, Target, Want, plan_changes, read_state
from gristmill.lake.address import Place
from gristmill.lake.ledger.files import check_same_recipe, compose, dump, parse_head, table_bytes, unpack_rows
from gristmill.lake.ledger.model import Ledger, Recipe, Shard, Upstream
from gristmill.lake.ledger.receipts import Receipt, RunNote, Stamp, objects_of, read_note
from gristmill.lake.rows.shard_file import gzip_bytes, unpacked
from gristmill.lake.store.protocol import Store


class PartitionPlan(msgspec.Struct, frozen=True):
    """A claimed partition: the small JSON that goes from plan to grind to commit.

    Attributes:
        place: the partition.
        recipe: what makes it.
        upstream: what it is made from.
        token: of the run that holds the claim.
        head_etag: of the ledger's head that the plan was made against.
        table_etag: of the ledger's table.
        kept: shards that are kept.
        todo: shards to grind.
        gone: names of shards to remove.
    """

    place: Place
    recipe: Recipe
    upstream: tuple[Upstream, ...]
    token: str
    head_etag: str | None
    table_etag: str | None
    kept: int
    todo: int
    gone: tuple[str, ...]


class Assembled(msgspec.Struct, frozen=True):
    """A partition whose shards are all there, checked, before it is published.

    Attributes:
        ledger: its head.
        shards: the rows of its table.
        lines: the table itself, uncompressed.
        note: what stands beside them.
        verdicts: what its blocking checks found.
        strays: objects that no row names.
    """

    ledger: Ledger
    shards: list[Shard]
    lines: bytes
    note: RunNote
    verdicts: tuple[Verdict, ...]
    strays: tuple[str, ...] = ()


def claim_and_plan(
    store: Store, target: Target, token: str, *, force: bool = False
) -> tuple[PartitionPlan, list[Want], PartitionState]:
    """Claims the partition and plans it: the claim comes first, so that what is read then is ours to change.

    Args:
        store: the lake.
        target: the partition as it should be.
        token: who we are: no two runs use the same.
        force: grind every shard again.

    Returns:
        What commit needs, the shards to grind, and the state before.
    """
    place = target.place
    store.sweep()
    before = store.read_tagged(place.ledger)
    if before:
        check_same_recipe(parse_head(before[0], place.ledger).recipe, target.recipe, place)
    store.put(place.claim, dump({"token": token}))
    state = read_state(store, place)
    keep, todo, gone = plan_changes(state, target, store, force=force)
    # What an earlier, killed run left of a shard that is due again must not be taken for this run's.
    there = {entry.path for entry in store.list(place.receipts)}
    store.delete([path for path in (place.receipt(want.name) for want in todo) if path in there])
    partition = PartitionPlan(
        place=place,
        recipe=target.recipe,
        upstream=target.upstream,
        token=token,
        head_etag=state.head_etag,
        table_etag=state.table_etag,
        kept=len(keep),
        todo=len(todo),
        gone=gone,
    )
    lines = [dump(receipt) for receipt in keep] + [dump(want) for want in todo]
    store.put(_plan(place, token), gzip_bytes(b"\n".join(lines)))
    return partition, todo, state


def _plan(place: Place, token: str) -> str:
    return f"{place.receipts}.plan-{token}.gz"


def assemble(
    store: Store,
    partition: PartitionPlan,
    checks: Callable[[str], Mapping[str, Check]],
    about: Mapping[str, Any],
    made: Mapping[str, Receipt] | None = None,
) -> Assembled:
    """The partition with its new shards, checked, not yet published.

    Args:
        store: the lake.
        partition: as claim_and_plan() gave it.
        checks: gives the blocking checks of an asset, by name: Step.checks.
        about: what the run notes about itself.
        made: receipts that the caller holds already; the others are read.

    Raises:
        StoreError: a shard has no receipt, or an object is no longer what its receipt says.
    """
    place = partition.place
    check_claim(store, place, partition.token)
    receipts = _receipts(store, partition, made or {})
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
    ledger = compose(place, partition.recipe, partition.upstream, shards, table)
    note = msgspec.structs.replace(note, table=ledger.table.sha256, left=strays)
    verdicts = tuple(check(store, place, shards) for check in checks(place.asset).values())
    return Assembled(ledger, shards, table, note, verdicts, strays)


def _receipts(store: Store, partition: PartitionPlan, made: Mapping[str, Receipt]) -> list[Receipt]:
    """What is kept and what was made, by the names of the shards."""
    place = partition.place
    path = _plan(place, partition.token)
    lines = unpack_rows(b"".join(unpacked([store.read(path)], path)))
    receipts = [msgspec.json.decode(line, type=Receipt) for line in lines[: partition.kept]]
    for line in lines[partition.kept :]:
        want = msgspec.json.decode(line, type=Want)
        receipts.append(made.get(want.name) or _read_receipt(store, place, want.name))
    return sorted(receipts, key=lambda receipt: receipt.row.name)


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


def publish(store: Store, partition: PartitionPlan, assembled: Assembled) -> Ledger:
    """Puts note, table and head, in this order; then removes what no ledger names, and the receipts.

    Raises:
        DataError: a blocking check did not pass; the old ledger, if any, stays.
        Conflict: another run published first; nothing that its ledger names was changed.
    """
    place = partition.place
    _refuse_failed(place, assembled.verdicts)
    head = dump(assembled.ledger)
    old = store.read_tagged(place.ledger)
    if old is None or old[0] != head or partition.todo or partition.table_etag is None:
        check_claim(store, place, partition.token)
        store.put(place.run, dump(assembled.note))
        store.put_if(place.table, gzip_bytes(assembled.lines), partition.table_etag)
        store.put_if(place.ledger, head, partition.head_etag)
    elif not _same_note(read_note(store, place), assembled.note):
        check_claim(store, place, partition.token)
        store.put(place.run, dump(assembled.note))  # a copied lake: hashed anew once, not at every run
    if assembled.strays and not others_at_work(store, place, partition.token):
        store.delete(assembled.strays)  # else they go at the next publish, or with gc: somebody may be reading them
    many = 2 * partition.todo > len(assembled.shards)  # nearly all have a receipt: no need to look which
    release(store, partition, [shard.name for shard in assembled.shards] if many else ())
    return assembled.ledger


def _refuse_failed(place: Place, verdicts: Sequence[Verdict]) -> None:
    failed = [f"{verdict.name}: {verdict.description}" for verdict in verdicts if not verdict.passed]
    if failed:
        raise DataError(f"{place.asset}: not published: {'; '.join(failed)}")


def _same_note(old: RunNote, new: RunNote) -> bool:
    return (old.stamps, old.raw) == (new.stamps, new.raw) and set(new.left) <= set(old.left)


def release(store: Store, partition: PartitionPlan, shards: Sequence[str] = ()) -> None:
    """Removes the receipts, those of these shards unseen and first, and the claim last: as long as receipts lie there,
    somebody answers for them.
    """
    place = partition.place
    if claimed_by(store, place) != partition.token:
        return  # a newer run is at work already; what lies there is its own
    store.delete([place.receipt(name) for name in shards])
    store.delete([entry.path for entry in store.list(place.receipts) if entry.path != place.claim])
    store.delete([place.claim])
