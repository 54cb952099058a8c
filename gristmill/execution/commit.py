"""A partition from claim to ledger: claim it, plan the missing shards, assemble all shards, check them, publish.

A run keeps each shard whose record and objects are unchanged, and grinds the others, which leave receipts. A killed run
may be run again at any time. A newer run takes the partition over by writing its own claim: the older one then stops,
and has changed nothing that the ledger names.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec

from gristmill.errors import Conflict, DataError, NotPublished, RecipeError, StoreError
from gristmill.execution.added_checks import AddedCheck
from gristmill.execution.checks import Check, Verdict
from gristmill.execution.claim import Claimant, check_claim, has_claim, others_at_work, write_claim
from gristmill.execution.plan import PartitionState, Target, Want, plan_partition_changes, read_partition_state
from gristmill.execution.runner import failure_of_error, raise_grind_failures
from gristmill.execution.work import Failed
from gristmill.lake.address import Place
from gristmill.lake.fence import fence_writes
from gristmill.lake.ledger.adopted import root_path, write_root
from gristmill.lake.ledger.beside import check_beside
from gristmill.lake.ledger.code import Codes
from gristmill.lake.ledger.files import (
    as_json,
    check_made_alike,
    compose_ledger,
    parse_head,
    recorded_recipe,
    table_bytes,
    unpack_rows,
)
from gristmill.lake.ledger.model import Ledger, Recipe, Shard, Upstream
from gristmill.lake.ledger.ownership import is_in_partition_folders
from gristmill.lake.ledger.receipts import Receipt, RunNote, objects_of_row, read_receipt, read_run_note
from gristmill.lake.rows.shard_file import gzip_bytes, unpack_pieces
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.protocol import ObjectVersion, Store


class PartitionPlan(msgspec.Struct, frozen=True):
    """A claimed partition: small JSON that travels from plan to grind to commit.

    Attributes:
        place: the partition.
        recipe: the recipe that makes it.
        upstream: the partitions that it is made from.
        token: token of the run that holds the claim.
        head_etag: etag of the ledger's head at the time of planning; None if there was no ledger.
        table_etag: etag of the ledger's table at that time; None if there was no table.
        kept: number of shards that are kept.
        todo: number of shards to grind.
        gone: names of shards to remove.
        codes: the code that gives its shards, for the run's note.
        unsure: whether it is not known which code made the shards of its ledger, and the recipe is no draft.
        checked: a digest of the checksum files beside its raw objects; empty if its recipe names none.
        note_etag: etag of the run's note at the time of planning; None if there was no note.
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
    codes: Codes = {}
    unsure: bool = False
    checked: str = ""
    note_etag: str | None = None


class Assembled(msgspec.Struct, frozen=True):
    """A partition whose shards are complete and checked, but not yet published.

    Attributes:
        ledger: head of its ledger.
        shards: rows of the ledger's table.
        lines: the lines of the table as they are stored, uncompressed.
        note: the run's note, stored beside head and table.
        verdicts: results of its checks.
        strays: objects in its folders that no row names.
    """

    ledger: Ledger
    shards: list[Shard]
    lines: bytes
    note: RunNote
    verdicts: tuple[Verdict, ...]
    strays: tuple[str, ...] = ()


def claim_and_plan(
    store: Store, target: Target, token: str, claimed: list[Place], *, force: bool = False, by: Claimant | None = None
) -> tuple[PartitionPlan, list[Want], PartitionState]:
    """Claims the partition, and then plans it: no older run may change any more what the plan is made from.

    Args:
        store: the lake.
        target: the partition as it should be.
        token: names this run; no two runs use the same token.
        claimed: places that the step has claimed before; the partition is added.
        force: grind every shard again.
        by: the process of a run that asks before it takes a claim.

    Returns:
        The plan for commit, the shards to grind, and the state before.

    Raises:
        AtWork: another process makes it. Superseded: a newer run has claimed an earlier one.
        RecipeError: the partition was made by another recipe of the same name, or by other code than now in the file.
    """
    place = target.place
    _check_making(store, target)
    write_claim(store, place, token, by, claimed)
    claimed.append(place)
    with fence_writes(partial(check_claim, store, place, token)):
        write_root(store, place, target.root)
    state = read_partition_state(store, place)
    keep, todo, gone = plan_partition_changes(state, target, store, force=force)
    _remove_stale_receipts(store, place, token, todo)
    partition = PartitionPlan(
        place=place,
        recipe=recorded_recipe(state.head.recipe if state.head else None, target.recipe),
        upstream=target.upstream,
        token=token,
        head_etag=state.head_etag,
        table_etag=state.table_etag,
        kept=len(keep),
        todo=len(todo),
        gone=gone,
        codes=target.code.codes_to_record(state.codes),
        unsure=_may_have_stale_receipts(state, target),
        checked=target.checked,
        note_etag=state.note_etag,
    )
    store.put(_plan_path(place, token), gzip_bytes(b"\n".join(as_json(each) for each in (*keep, *todo))))
    return partition, todo, state


def _check_making(store: Store, target: Target) -> None:
    """Refuses what would have another meaning under its name, before it is claimed."""
    place = target.place
    if target.code.problem:
        raise RecipeError(f"{place.asset} ({place.snapshot}): {target.code.problem}")
    if before := store.read_tagged(place.ledger):
        check_made_alike(parse_head(before[0], place.ledger), target.recipe, target.upstream, place)
    else:
        check_beside(store, place, target.recipe, target.upstream, target.code)


def _remove_stale_receipts(store: Store, place: Place, token: str, todo: Sequence[Want]) -> None:
    """Removes the receipts that a killed run has left of shards that are ground again."""
    again = {place.receipt_path(want.name) for want in todo}
    store.delete(
        again & {entry.path for entry in store.list(place.receipts_folder)}, partial(has_claim, store, place, token)
    )


class Claimed(NamedTuple):
    """The partitions of a step: their plans, shards to grind and states before; and why others may not be made."""

    partitions: list[PartitionPlan]
    todo: dict[str, list[Want]]
    states: dict[str, PartitionState]
    refused: list[Failed]


def claim_each_partition(
    store: Store, targets: Sequence[Target], token: str, places: list[Place], *, force: bool, by: Claimant | None
) -> Claimed:
    """Claims and plans the partitions of a step, as claim_and_plan(). One that is refused does not stop the others.

    Returns:
        The plans of the partitions, and the errors about those that were refused.

    Raises:
        AtWork: another process is making one of them. Superseded: a newer run has claimed one of them.
        GristmillError: all are refused.
    """
    store.sweep()
    claimed = Claimed([], {}, {}, [])
    for target in targets:
        asset = target.place.asset
        try:
            made = claim_and_plan(store, target, token, places, force=force, by=by)
            partition, claimed.todo[asset], claimed.states[asset] = made
            claimed.partitions.append(partition)
        except (RecipeError, DataError) as error:
            claimed.refused.append(failure_of_error(error, "", asset))
    if not claimed.partitions:
        raise_grind_failures(claimed.refused, 1)
    return claimed


def _may_have_stale_receipts(state: PartitionState, target: Target) -> bool:
    if state.head is None or state.codes or not target.code.digest:
        return False
    return not (state.head.recipe.draft and target.recipe.draft)


def _plan_path(place: Place, token: str) -> str:
    return f"{place.receipts_folder}.plan-{token}.gz"


def assemble_partition(
    store: Store,
    partition: PartitionPlan,
    checks: Callable[[str], Mapping[str, Check]],
    about: Mapping[str, Any],
    made: Mapping[str, Receipt] | None = None,
    more: Mapping[str, Check] | None = None,
) -> Assembled:
    """Assembles the partition with its new shards, and checks it. Publishes nothing.

    Args:
        store: the lake.
        partition: the plan of claim_and_plan().
        checks: function that returns the checks of an asset, by name: Step.checks.
        about: facts about the run, for its note.
        made: receipts that the caller holds already, by shard; the others are read from the lake.
        more: further checks, by name.

    Returns:
        The assembled ledger with its shards and the verdicts of its checks.

    Raises:
        Superseded: a newer run has claimed the partition.
        StoreError: a shard has no receipt, or an object differs from its receipt.
        RecipeError: the note of the last run is lost, and the same inputs give other rows than its ledger says.
    """
    place = partition.place
    check_claim(store, place, partition.token)
    receipts = _sorted_receipts(store, partition, made or {})
    shards = [receipt.row for receipt in receipts]
    if partition.unsure:
        _check_same_rows(place, read_partition_state(store, place).table, shards)
    note = RunNote(
        about={**about, **({"package": place.kind.package} if place.kind.package else {})},
        stamps={path: stamp for receipt in receipts for path, stamp in receipt.stamps.items()},
        raw={path: stamp for receipt in receipts for path, stamp in receipt.raw.items()},
        codes=partition.codes,
        checked=partition.checked,
    )
    strays = _check_untouched(store, place, shards, note.stamps)
    if place.kind.immutable:
        strays = ()  # gc removes the parts that no ledger names
    table = table_bytes(shards)
    ledger = compose_ledger(place, partition.recipe, partition.upstream, shards, table)
    added = tuple(name for name, check in (more or {}).items() if isinstance(check, AddedCheck))
    note = msgspec.structs.replace(note, table=ledger.table.sha256, left=strays, checks=added)
    verdicts = tuple(check(store, place, shards) for check in (*checks(place.asset).values(), *(more or {}).values()))
    return Assembled(ledger, shards, table, note, verdicts, strays)


def _check_same_rows(place: Place, before: Sequence[Shard], now: Sequence[Shard]) -> None:
    """Checks that shards of the same inputs and recipe have the same rows, where no note tells which code made them."""
    old = {row.name: row for row in before}
    for row in now:
        was = old.get(row.name)
        if was and (was.recipe, was.inputs) == (row.recipe, row.inputs) and was.content != row.content:
            raise RecipeError(
                f"{place.shard(row.name)}: the same inputs give other rows than {place.ledger} says, and {place.run}"
                " does not tell which code made them: the code of the recipe was edited. Take the edit back, and make"
                " it again; or declare it under the next number"
            )


def _sorted_receipts(store: Store, partition: PartitionPlan, made: Mapping[str, Receipt]) -> list[Receipt]:
    """The receipts of kept and new shards, sorted by the names of the shards."""
    place = partition.place
    path = _plan_path(place, partition.token)
    lines = unpack_rows(b"".join(unpack_pieces([store.read(path)], path)))
    receipts = [msgspec.json.decode(line, type=Receipt) for line in lines[: partition.kept]]
    for line in lines[partition.kept :]:
        want = msgspec.json.decode(line, type=Want)
        receipt = made.get(want.name) or read_receipt(store, place, want.name, partition.token)
        if receipt is None:
            raise StoreError(f"{place.asset} ({place.snapshot}): shard {want.name} has no receipt; run again")
        receipts.append(receipt)
    return sorted(receipts, key=lambda receipt: receipt.row.name)


def _check_untouched(
    store: Store, place: Place, shards: Sequence[Shard], stamps: Mapping[str, ObjectVersion]
) -> tuple[str, ...]:
    """Checks that no late writer changed an object since its receipt. Returns the objects that no row names."""
    folders = place.folders
    objects = {entry.path: entry for folder in folders for entry in store.list(folder)}
    named = {path: sha256 for row in shards for path, sha256, _ in objects_of_row(row, place)}
    for path, stamp in stamps.items():
        entry = objects.get(path)
        if not path.startswith(folders) or (entry and stamp.same(entry)):
            continue
        if not entry or hash_object(store, path) != named.get(path):  # two workers of this run may have made the same
            raise StoreError(f"{path}: changed while its partition was being made; run again")
    foreign = sorted(path for path in named if path not in objects and not is_in_partition_folders(place, path))
    if foreign:
        where = f"{place.asset} ({place.snapshot})"
        raise DataError(f"{where}: a receipt names {foreign[0]}, which is not of it; run again")
    kept = {root_path(place)} if any(row.at for row in shards) else set()
    return tuple(path for path in objects if path not in named and path not in kept)


def publish_partition(store: Store, partition: PartitionPlan, assembled: Assembled) -> Ledger:
    """Writes note, table and head, in this order; then removes objects that no ledger names, receipts and the claim.

    Returns:
        The published head.

    Raises:
        DataError: a blocking check did not pass. The old ledger, if any, stays.
        Superseded: a newer run has claimed the partition.
        Conflict: another run published first. Nothing that its ledger names was changed.
    """
    place = partition.place
    _raise_failed_checks(place, assembled.verdicts)
    head, old = as_json(assembled.ledger), store.read_tagged(place.ledger)
    with fence_writes(partial(check_claim, store, place, partition.token)):
        if old is None or old[0] != head or partition.todo or partition.table_etag is None:
            store.put_if(place.run, as_json(assembled.note), partition.note_etag)
            store.put_if(place.table, gzip_bytes(assembled.lines), partition.table_etag)
            store.put_if(place.ledger, head, partition.head_etag)
        elif not _is_same_note(read_run_note(store, place), assembled.note):  # else a copy would be hashed at every run
            store.put_if(place.run, as_json(assembled.note), partition.note_etag)
    if assembled.strays and not others_at_work(store, place, partition.token):  # else the next publish, or gc, does it
        check_claim(store, place, partition.token)  # a newer run may make them again
        store.delete(assembled.strays, partial(has_claim, store, place, partition.token))
        check_claim(store, place, partition.token)
    new = 2 * partition.todo > len(assembled.shards)  # most shards have a receipt: delete by name, unlisted
    release_claim(store, partition, [shard.name for shard in assembled.shards] if new else ())
    return assembled.ledger


def _raise_failed_checks(place: Place, verdicts: Sequence[Verdict]) -> None:
    if failed := [verdict for verdict in verdicts if verdict.blocks and not verdict.passed]:
        told = "; ".join(f"{verdict.name}: {verdict.description}" for verdict in failed)
        raise NotPublished(f"{place.asset}: not published: {told}", (verdict.name for verdict in failed))


def _is_same_note(old: RunNote, new: RunNote) -> bool:
    same = all(getattr(old, field) == getattr(new, field) for field in ("stamps", "raw", "codes", "checked", "checks"))
    return same and set(new.left) <= set(old.left)


def release_claim(store: Store, partition: PartitionPlan, shards: Sequence[str] = ()) -> None:
    """Removes the receipts, then the claim. The claim is last, so that receipts never exist without an owner.

    Args:
        store: the lake.
        partition: the plan of claim_and_plan().
        shards: shards whose receipts are deleted by name first, without a listing.
    """
    place = partition.place
    still = partial(has_claim, store, place, partition.token)
    if not still():
        return  # a newer run has claimed the partition: the receipts are its own
    with suppress(Conflict):  # it has claimed it since; or our claim is gone, and the answer was lost
        store.delete([place.receipt_path(name) for name in shards], still)
        store.delete(
            [entry.path for entry in store.list(place.receipts_folder) if entry.path != place.claim_path], still
        )
        store.delete([place.claim_path], still)
