"""The survey of a step: the result of planning it, without a claim. Dry runs and sensors use it."""

import msgspec

from gristmill.execution.claim import has_leftovers
from gristmill.execution.plan import (
    PartitionState,
    Target,
    Want,
    check_not_refused,
    is_finished,
    plan_partition_changes,
    read_partition_state,
)
from gristmill.execution.staleness import stale_reasons
from gristmill.execution.step import Step
from gristmill.lake.address import Place
from gristmill.lake.ledger.beside import check_beside
from gristmill.lake.ledger.code import Code
from gristmill.lake.ledger.files import TORN
from gristmill.lake.store.protocol import Store

_LEFT = "a run that ended early has left files beside the ledger; no shard is made again"


class Survey(msgspec.Struct, frozen=True):
    """One partition as a plan would find it.

    Attributes:
        asset: the asset.
        snapshot: the partition.
        finished: whether it is up to date.
        kept: number of shards that would be kept.
        missing: names of the shards that would be ground.
        again: names of the shards whose inputs would be read again: they have other stamps, and perhaps the same bytes.
        gone: names of the shards that would be removed.
        why: reasons why the partition is out of date; empty if it is up to date.
        torn: fault of its ledger, and the mend; empty if nothing is.
        noted: whether only the run's note would be written, because other code gives the same shards.
    """

    asset: str
    snapshot: str
    finished: bool
    kept: int
    missing: tuple[str, ...]
    again: tuple[str, ...]
    gone: tuple[str, ...]
    why: tuple[str, ...] = ()
    torn: str = ""
    noted: bool = False


def survey_step(step: Step, store: Store) -> list[Survey]:
    """Surveys each partition of a step, from ledgers and listings alone. Claims nothing and changes nothing.

    Returns:
        The surveys, in the order of the step's targets.

    Raises:
        RecipeError: a partition was made by another recipe of the same name, or by other code.
        DataError: an input is missing or not valid.
    """
    surveys: list[Survey] = []
    for target in step.plan(store).targets:
        state = read_partition_state(store, target.place)
        if state.head is None:
            check_beside(store, target.place, target.recipe, target.upstream, target.code)
        keep, todo, gone = plan_partition_changes(state, target, store)
        again = [want for want in todo if _may_be_same(want, state, target)]
        finished = is_finished(state, target, keep, todo)
        left = finished and state.beside and has_leftovers(store, target.place)
        surveys.append(
            Survey(
                asset=target.place.asset,
                snapshot=target.place.snapshot,
                finished=finished and not left,
                kept=len(keep),
                missing=tuple(want.name for want in todo if want not in again),
                again=tuple(want.name for want in again),
                gone=gone,
                why=(_LEFT,) if left else () if finished else stale_reasons(state, target, keep, todo),
                torn=_torn_ledger_message(state, target.place, store),
                noted=not finished and is_finished(state, msgspec.structs.replace(target, code=Code()), keep, todo),
            )
        )
    return surveys


def _may_be_same(want: Want, state: PartitionState, target: Target) -> bool:
    """Whether a shard would be kept if its inputs turn out to have the same bytes."""
    receipt = state.receipts.get(want.name)
    if not want.again or receipt is None or not target.code.may_keep_shard(receipt.code, state.codes):
        return False
    return receipt.row.recipe == target.recipe.digest


def _torn_ledger_message(state: PartitionState, place: Place, store: Store) -> str:
    """What is wrong with a ledger whose table is not the one that the head names, although no run is at work."""
    if state.head is None or len(state.table) == state.head.table.shards or store.head(place.claim_path) is not None:
        return ""
    return f"{place.table}: not the table that the ledger names: {TORN}"


def check_accepted(step: Step, store: Store) -> None:
    """Raises why a partition of a step is refused, for a process that finds no claim on it: claims nothing.

    Raises:
        RecipeError: it was made by another recipe of the same name, or by other code.
    """
    for target in step.plan(store).targets:
        check_not_refused(store, target)
