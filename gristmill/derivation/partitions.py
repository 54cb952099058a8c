"""Derives partitions again: the grinder of their step makes their shards from what it read, and they are compared.

Nothing of the lake changes. A shard is made in a scratch folder, compared, and removed.
"""

import dataclasses
import tempfile
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

import msgspec

from gristmill.derivation.comparison import lacks_row_numbers, shard_differences
from gristmill.derivation.scratch_lake import ScratchLake
from gristmill.errors import OutOfDate, RecipeError, shorten
from gristmill.execution.finding import Finding, guard_proof
from gristmill.execution.plan import PartitionState, Target, Want, read_partition_state
from gristmill.execution.runner import LazyGrinder, grind_one_item
from gristmill.execution.step import Step, StepPlan
from gristmill.execution.work import Job, Outcome, Say, encode_raw
from gristmill.installation import code_version
from gristmill.lake.asset_kinds import BLOCKLIST, RAW, kind_of
from gristmill.lake.ledger.files import changes_in_words, mend_of_change, other_versions
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store

_CLAIM = "derived"
"""The token of the claims in the scratch folder: no run has it."""

Derived = tuple[str, str, str]
"""Asset, snapshot and name of a shard that was derived again."""


class Derivation:
    """Derives shards of one step again.

    Args:
        lake: the lake.
        step: the step that makes them.
        sample: sample that draws the shards.
        say: function that takes a line for each shard that could not be proven, and why.

    Attributes:
        drawn: the shards that were made again.
        other: shards that are not as recorded.
    """

    def __init__(self, lake: Lake, step: Step, sample: ShardSample, say: Say) -> None:
        self._lake, self._store, self._step = lake, lake.store(), step
        self._sample, self._say = sample, say
        self.drawn: set[Derived] = set()
        self.other: set[Derived] = set()

    @property
    def proven_shards(self) -> frozenset[Derived]:
        """The shards that were made again, and are as recorded."""
        return frozenset(self.drawn - self.other)

    def derivation_findings(self) -> Iterator[Finding]:
        """Findings on shards that are not what their step makes of what it read, and on missing and needless ones."""
        try:
            plan = self._step.plan(self._store)
        except (RecipeError, OutOfDate) as error:
            self._say(f"{self._step.makes[0]} ({self._step.snapshot}): not proven: {error}")
            return
        works: dict[str, _Work] = {}
        for target in plan.targets:
            work = _Work(self._store, target)
            if why := work.why_not():
                self._say(f"{target.place.asset} ({target.place.snapshot}): not proven, {why}")
            elif refused := work.refused():
                yield refused
            else:
                yield from work.unlike_shard_findings()
                yield from work.upstream_findings()
                for name, finding in work.other_inputs():
                    self.other.add((target.place.asset, target.place.snapshot, name))
                    yield finding
                works[target.place.asset] = work
        yield from self._grind_again(plan, works)

    def _grind_again(self, plan: StepPlan, works: dict[str, "_Work"]) -> Iterator[Finding]:
        todo = {asset: work.drawn(self._sample, self._say) for asset, work in works.items()}
        if not any(todo.values()):
            return
        everything = {target.place.asset: todo.get(target.place.asset, []) for target in plan.targets}
        empty = {target.place.asset: _EMPTY for target in plan.targets}
        with tempfile.TemporaryDirectory(prefix="gristmill-derived-") as folder:
            scratch = FolderStore(folder)
            unkept = tuple(work.place.folder for work in works.values() if not work.place.kind.immutable)
            lake = ScratchLake(self._lake.url, self._lake.options, folder, unkept)
            claims = {work.place.claim_path for work in works.values()}
            for claim in claims:
                scratch.put(claim, msgspec.json.encode({"token": _CLAIM}))
            job = Job(self._step.stage, lake, self._step.shelves, encode_raw(plan.spec(_CLAIM)))
            grind = LazyGrinder(job)
            for item in plan.items(everything, empty):
                outcome = grind_one_item(grind, item).outcome
                if any(works[each.asset].has_other_rows(each.receipt.row) for each in outcome.ground):
                    # again, and now the rows are kept, so that the first that differs can be named
                    _empty_scratch_folder(scratch, claims)
                    keeping = msgspec.structs.replace(job, lake=msgspec.structs.replace(lake, unkept=()))
                    outcome = grind_one_item(LazyGrinder(keeping), item).outcome
                yield from self._outcome_findings(scratch, works, outcome)
                _empty_scratch_folder(scratch, claims)

    def _outcome_findings(self, scratch: Store, works: dict[str, "_Work"], outcome: Outcome) -> Iterator[Finding]:
        for failed in outcome.failed:
            for asset in [failed.asset] if failed.asset else sorted(works):
                path = works[asset].path_for_message(failed.name)
                yield Finding(path, None, f"it cannot be derived again: {failed.message}", _MEND_FIRST)
        for asset, receipt in ((each.asset, each.receipt) for each in outcome.ground):
            work, new = works[asset], receipt.row
            old = work.rows.get(new.name)
            if old is None:
                continue  # a neighbour of a shard that was drawn; unlike_shard_findings() reports those without a row
            shard = (asset, work.place.snapshot, new.name)
            self.drawn.add(shard)
            if lacks_row_numbers(self._store, work.place, old):
                what = "id index made by version 0.1: row numbers and raw spans not compared"
                self._say(f"{asset} ({work.place.snapshot}): shard {new.name}: {what}")
            differences = shard_differences(self._store, scratch, work.place, old, new)
            for finding in guard_proof(self._store, work.place.ledger, differences):
                self.other.add(shard)
                yield dataclasses.replace(finding, what=f"{finding.what}{work.made_elsewhere}")


_EMPTY = PartitionState(None, None, None, [], {}, {}, {})
"""No shard is kept, and nothing is copied from earlier ones."""
_MEND_FIRST = "mend what it names, then verify again"


def _empty_scratch_folder(scratch: Store, claims: Collection[str]) -> None:
    """Removes what was made in a scratch folder, but for the claims."""
    scratch.delete([entry.path for entry in scratch.list("") if entry.path not in claims])


def _is_open(want: Want) -> bool:
    """Whether only reading its inputs tells what they are: raw objects, or a model that cannot be read."""
    return want.inputs is None or any(kind_of(each.asset) is RAW for each in want.inputs)


def _inputs_in_words(inputs: Sequence[Input]) -> str:
    return shorten(", ".join(f"{each.asset}/{each.shard} as {each.content[:12]}" for each in inputs) or "nothing", 300)


def why_made_differently(store: Store, target: Target) -> tuple[str, list[Finding]]:
    """Why a partition is not what the recipes on the shelves make, as far as its ledger tells: no bytes are compared.

    Args:
        store: the lake.
        target: the partition as its step makes it.

    Returns:
        Another recipe, in words, or nothing; and the findings on other shards, and on what they were made from.

    Raises:
        DataError: the ledger is damaged.
        StoreError: the lake does not answer.
    """
    work = _Work(store, target)
    why = work.why_not()
    return why, [] if why else [
        *work.unlike_shard_findings(),
        *work.upstream_findings(),
        *(finding for _, finding in work.other_inputs()),
    ]


class _Work:
    """One partition, and the shards of it that can be compared."""

    def __init__(self, store: Store, target: Target) -> None:
        self._store, self._target, self.place = store, target, target.place
        self.state = read_partition_state(store, target.place)
        self.rows = {row.name: row for row in self.state.table}

    def why_not(self) -> str:
        """Why none of its shards can be compared; empty if they can."""
        head, code = self.state.head, self._target.code
        if head is None or len(self.rows) != head.table.shards:
            return "its ledger is missing or damaged"
        if head.recipe.digest != self._target.recipe.digest:
            return f"recipe changed: {changes_in_words(head.recipe, self._target.recipe)}"
        if code.problem:
            return code.problem
        return "code changed" if code.has_changed(self.state.codes) else ""

    def refused(self) -> Finding | None:
        """The finding that its recipe reads another version, so that `make` refuses it; None if it does not."""
        head, target = self.state.head, self._target
        other = (
            other_versions(head, target.upstream) if head and not (head.recipe.draft and target.recipe.draft) else ""
        )
        return Finding(self.place.ledger, None, other, mend_of_change(head.recipe)) if head and other else None

    @cached_property
    def made_elsewhere(self) -> str:
        """What a finding adds if another Gristmill made the partition: code of our readers is in no digest."""
        made, here = read_run_note(self._store, self.place).about.get("commit"), code_version()
        if not made or made == here:
            return ""
        return f"; its run's note names {shorten(str(made))}, and this is {here}, which may make other rows"

    def unlike_shard_findings(self) -> Iterator[Finding]:
        """Findings unless the ledger has the shards that the step makes."""
        wanted = {want.name for want in self._target.wants}
        for name in sorted(self.rows.keys() - wanted):
            yield Finding(self.place.table, None, f"shard {name}: nothing that the recipe reads makes it")
        for name in sorted(wanted - self.rows.keys()):
            yield Finding(self.place.table, None, f"shard {name}: the recipe makes it, but the ledger does not name it")

    def other_inputs(self) -> Iterator[tuple[str, Finding]]:
        """The name of each shard whose inputs are not those that the recipe reads, and the finding on it.

        `from` is in no fingerprint, so no other proof compares it. Raw objects are compared when they are read.
        """
        for want in self._target.wants:
            row = self.rows.get(want.name)
            if row is None or _is_open(want) or want.inputs == row.inputs or self._is_stale(want, row):
                continue
            was, now = _inputs_in_words(row.inputs), _inputs_in_words(want.inputs or ())
            what = f"was made from {was}, but the recipe makes it from {now}"
            yield want.name, Finding(self.place.table, None, f"shard {want.name} {what}")

    def upstream_findings(self) -> Iterator[Finding]:
        """A finding unless the head has the partitions that the recipe reads."""
        head = self.state.head
        named = sorted((each.asset, each.snapshot) for each in (head.inputs if head else ()))
        read = sorted((each.asset, each.snapshot) for each in self._target.upstream)
        for who, here, there in (
            ("its recipe does not read", named, read),
            ("it does not name as an input", read, named),
        ):
            for asset, snapshot in here:
                if (asset, snapshot) not in there:
                    yield Finding(self.place.ledger, None, f"{who} {asset} {snapshot}".rstrip())

    def drawn(self, sample: ShardSample, say: Say) -> list[Want]:
        """The shards to make again. Those are left out whose inputs have changed since: their audits report that."""
        found: list[Want] = []
        stale = 0
        for want in self._target.wants:
            row = self.rows.get(want.name)
            if row is None or not sample.contains_shard(self.place.snapshot, want.name):
                continue
            if not _is_open(want) and want.inputs != row.inputs and self._is_stale(want, row):
                stale += 1
                continue
            found.append(want)
        if stale:
            who = f"{self.place.asset} ({self.place.snapshot})"
            say(f"{who}: {stale} shards not proven, made from what has changed since")
        return found

    def _is_stale(self, want: Want, row: Shard) -> bool:
        """Whether a shard has the inputs that its recipe names, in an earlier state, and its audit reports this."""
        pairs = list(zip(want.inputs or (), row.inputs, strict=False))
        named = len(pairs) == len(want.inputs or ()) == len(row.inputs)
        return named and all(
            (now.asset, now.shard) == (was.asset, was.shard) and (now == was or now.asset in self._changed_assets)
            for now, was in pairs
        )

    @cached_property
    def _changed_assets(self) -> set[str]:
        """The assets whose change since is a finding of the partition's audit: by the head, or of blocklists."""
        head = self.state.head
        made_from = {(each.asset, each.snapshot): each.fingerprint for each in (head.inputs if head else ())}
        return {
            each.asset
            for each in self._target.upstream
            if kind_of(each.asset) is BLOCKLIST
            or made_from.get((each.asset, each.snapshot), each.fingerprint) != each.fingerprint
        }

    def has_other_rows(self, new: Shard) -> bool:
        """Whether the ledger names other rows for a shard that was made again."""
        old = self.rows.get(new.name)
        return (
            old is not None and not self.place.kind.immutable and (old.content, old.length) != (new.content, new.length)
        )

    def path_for_message(self, name: str) -> str:
        """What a message names: the object of a shard, or the table if the shard is a part of several objects."""
        return self.place.table if self.place.kind.immutable else self.place.shard(name)
