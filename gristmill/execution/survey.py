"""The survey of a step: the result of planning it, without a claim. Dry runs and sensors use it."""

import msgspec

from gristmill.execution.plan import is_finished, plan_changes, read_state
from gristmill.execution.staleness import why_stale
from gristmill.execution.step import Step
from gristmill.lake.store.protocol import Store


class Survey(msgspec.Struct, frozen=True):
    """One partition as a plan would find it.

    Attributes:
        asset: the asset.
        snapshot: the partition.
        finished: whether it is up to date.
        kept: number of shards that would be kept.
        missing: names of the shards that would be ground.
        gone: names of the shards that would be removed.
        why: reasons why the partition is out of date; empty if it is up to date.
    """

    asset: str
    snapshot: str
    finished: bool
    kept: int
    missing: tuple[str, ...]
    gone: tuple[str, ...]
    why: tuple[str, ...] = ()


def survey(step: Step, store: Store) -> list[Survey]:
    """Surveys each partition of a step, from ledgers and listings alone. Claims nothing and changes nothing.

    Raises:
        RecipeError: a partition was made by another recipe of the same name.
        DataError: an input is missing or not valid.
    """
    surveys: list[Survey] = []
    for target in step.plan(store).targets:
        state = read_state(store, target.place)
        keep, todo, gone = plan_changes(state, target, store)
        finished = is_finished(state, target, keep, todo)
        surveys.append(
            Survey(
                asset=target.place.asset,
                snapshot=target.place.snapshot,
                finished=finished,
                kept=len(keep),
                missing=tuple(want.name for want in todo),
                gone=gone,
                why=() if finished else why_stale(state, target, keep, todo),
            )
        )
    return surveys
