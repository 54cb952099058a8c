"""Staleness: the reasons why a partition is out of date, as text for people."""

from collections.abc import Iterator, Sequence

from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.lake.ledger.code import Code, Codes
from gristmill.lake.ledger.files import compose_ledger, distinguish_changed_fields
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.ledger.receipts import Receipt

_NAMED = 3
"""Number of shards that a reason names; the others are counted."""


def stale_reasons(
    state: PartitionState, target: Target, keep: Sequence[Receipt], todo: Sequence[Want]
) -> tuple[str, ...]:
    """The reasons why the partition is out of date; empty if it is up to date.

    Args:
        state: the recorded state of the partition.
        target: the partition as it should be.
        keep: the shards that are kept, from plan_changes().
        todo: the shards that must be ground.
    """
    if state.head is None:
        receipts = f"; {len(keep)} shards have their receipts from an interrupted run" if keep else ""
        return (f"never made{receipts}",)
    return tuple(_stale_reasons(state, target, keep, todo)) or (_head_edited_reason(state, target, keep),)


def _stale_reasons(
    state: PartitionState, target: Target, keep: Sequence[Receipt], todo: Sequence[Want]
) -> Iterator[str]:
    if state.head is not None and state.head.recipe.digest != target.recipe.digest:
        yield f"the recipe changed: {', '.join(distinguish_changed_fields(state.head.recipe, target.recipe))}"
    yield from _changed_code_reason(target.code, state.codes)
    if state.root is not None and state.root != target.root and target.root is not None:
        yield f"its files were adopted at {state.root.url}, and are at {target.root.url} now"
    if not target.is_checked(state):
        yield "the checksum files changed; compare again" if state.checked else "not compared with checksum files yet"
    by_cause: dict[str, list[str]] = {}
    for want in todo:
        by_cause.setdefault(_shard_stale_reason(state, want, target), []).append(want.name)
    for cause, names in by_cause.items():
        if cause:
            yield f"{cause}: {_names_in_words(names)}"
    gone = sorted(set(state.receipts) - {want.name for want in target.wants})
    if gone:
        yield f"no longer has input: {_names_in_words(gone)}"
    if not todo and not gone and state.head is not None:
        rows = sorted((receipt.row for receipt in keep), key=lambda row: row.name)
        yield from _changed_inputs(
            state.head.inputs, compose_ledger(target.place, target.recipe, target.upstream, rows).inputs
        )


def _changed_code_reason(code: Code, codes: Codes) -> Iterator[str]:
    for changed, recorded in code.changed_codes(codes):
        if changed.has_other_options(recorded):
            yield f"the options of {changed.reader}(...) in {changed.module} changed since"
        else:
            same = f"; the output is the same: {changed.reason}" if changed.reason else ""
            yield f"the code of {changed.module} changed since{same}"
    if code.counts_more(codes):
        yield f"more statements of {code.module} count as its code than when it was made; the note gets their digest"


def _head_edited_reason(state: PartitionState, target: Target, keep: Sequence[Receipt]) -> str:
    """The reason if shards, recipe and inputs are as they should be: the head itself says something else."""
    rows = sorted((receipt.row for receipt in keep), key=lambda row: row.name)
    right = compose_ledger(target.place, target.recipe, target.upstream, rows)
    fields = [name for name in right.__struct_fields__ if getattr(right, name) != getattr(state.head, name)]
    if fields == ["recipe"] and state.head and state.head.recipe.draft and not right.recipe.draft:
        return "the recipe is no draft any more; only its ledger is written, no shard is made again"
    return f"{target.place.ledger} was changed by hand ({', '.join(fields)}); it is written again"


def _shard_stale_reason(state: PartitionState, want: Want, target: Target) -> str:
    """Why one shard must be ground; empty if the change of recipe or code is the reason, which is named already."""
    receipt = state.receipts.get(want.name)
    if receipt is None:
        return "new"
    if receipt.row.recipe != target.recipe.digest or not target.code.may_keep_shard(receipt.code, state.codes):
        return ""
    if want.inputs is None:
        return "raw data must be looked at again (other stamps, same sizes)" if want.again else "raw data changed"
    before = {(upstream.asset, upstream.shard): upstream.content for upstream in receipt.row.inputs}
    now = {(upstream.asset, upstream.shard): upstream.content for upstream in want.inputs}
    changed = sorted(
        {asset for asset, shard in before.keys() ^ now.keys()}
        | {asset for (asset, shard), content in now.items() if before.get((asset, shard), content) != content}
    )
    return f"{', '.join(changed)} changed" if changed else "its own objects are missing or changed"


def _changed_inputs(before: Sequence[Upstream], now: Sequence[Upstream]) -> Iterator[str]:
    """Which inputs changed, if every shard is up to date but the ledger names other inputs."""
    old = {upstream.asset: upstream.fingerprint for upstream in before}
    changed = [upstream.asset for upstream in now if old.get(upstream.asset) != upstream.fingerprint]
    if changed:
        yield f"the ledger of {', '.join(changed)} changed; every shard is up to date"


def _names_in_words(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{len(names)} shards ({', '.join(names[:_NAMED])}{more})" if len(names) > 1 else f"shard {names[0]}"
