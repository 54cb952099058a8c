"""The work of `verify --reconvert`, `--retag` and `--remix`: which steps are derived again, and what that shows."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from gristmill.derivation.partitions import Derivation, Derived, why_made_differently
from gristmill.derivation.steps import FLAGS, restrict_step_to_assets, step_making_partition, verify_flag_of_step
from gristmill.errors import GristmillError
from gristmill.execution.finding import Finding, guard_proof
from gristmill.execution.mend import add_mend_to_finding
from gristmill.execution.step import Step
from gristmill.execution.work import Say
from gristmill.lake.address import Place, place, place_of_ledger
from gristmill.lake.asset_kinds import ledger_of_object
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.lake.store.open import Lake
from gristmill.pipeline.steps import snapshots_with_ledger
from gristmill.recipes.catalogue import read_catalogue


class DerivationTask(msgspec.Struct, frozen=True):
    """Partitions that one step makes together, such as the sets of several taggers.

    Attributes:
        assets: their addresses.
        snapshot: their key.
        sample: sample that draws their shards.
    """

    assets: tuple[str, ...]
    snapshot: str
    sample: ShardSample

    def __str__(self) -> str:
        return f"{', '.join(self.assets)} ({self.snapshot})"


class DerivationResult(msgspec.Struct, frozen=True):
    """What a task has shown.

    Attributes:
        task: the task.
        notes: lines on what could not be proven, and why.
        findings: findings on what is not as its step makes it.
        drawn: number of shards that were made again.
        proven: shards that are as recorded.
    """

    task: DerivationTask
    notes: list[str]
    findings: list[Finding]
    drawn: int
    proven: frozenset[Derived]

    @property
    def unproven_ledgers(self) -> set[str]:
        """The paths of the ledgers that the findings are about."""
        ledgers = {place(asset, self.task.snapshot).ledger for asset in self.task.assets}
        named = {ledger_of_object(finding.path) for finding in self.findings}
        return ledgers if named - ledgers else ledgers & named


def derivation_tasks(
    lake: Lake,
    shelves: tuple[str, ...],
    paths: Iterable[str],
    samples: Mapping[str, ShardSample],
    say: Say,
    beside: list[Finding],
) -> Iterator[DerivationTask]:
    """The work that is asked for, upstream assets first.

    Args:
        lake: the lake.
        shelves: the packages that hold the recipes.
        paths: the paths of the ledgers that are audited.
        samples: the sample of each option that was given, by its name.
        say: function that takes a line about each partition that no step of ours makes: adopted data, and partitions
            whose recipe is on no shelf; and partitions whose step a damaged object hides.
        beside: list that receives the findings on such objects, each once.
    """
    if samples.keys().isdisjoint(FLAGS):
        return
    places = [each for each in map(place_of_ledger, paths) if each is not None and not each.kind.product]
    chosen = {(each.asset, each.snapshot) for each in places}
    seen: set[tuple[str, str]] = set()
    for each in places:
        if (each.asset, each.snapshot) in seen:
            continue
        step, damages = _step_or_finding(lake, shelves, each)
        together = {(asset, each.snapshot) for asset in step.makes} & chosen if step else {(each.asset, each.snapshot)}
        seen |= together
        option = verify_flag_of_step(step) if step else None
        if damages:
            told = {damage.what for damage in beside}
            beside += [damage for damage in damages if damage.what not in told]
            say(f"{_partition_in_words(each)}: not proven, a damaged object hides what makes it")
        elif option is None:
            say(f"{_partition_in_words(each)}: not proven, no recipe on the shelves makes it")
        elif not option:
            say(f"{_partition_in_words(each)}: not derived again, adopted from others")
        elif option in samples:
            assets = tuple(asset for asset in (step.makes if step else ()) if (asset, each.snapshot) in together)
            yield DerivationTask(assets, each.snapshot, samples[option])


def not_as_declared(
    lake: Lake, shelves: tuple[str, ...], paths: Iterable[str], say: Say, beside: list[Finding]
) -> set[str]:
    """The paths of ledgers of token caches and exports that the recipes on the shelves would make otherwise.

    Their audits make them again as their ledgers say. A ledger alone does not say what was meant.

    Args:
        lake: the lake.
        shelves: the packages that hold the recipes.
        paths: the paths of the ledgers that are audited.
        say: function that takes the reason for each that another recipe made.
        beside: list that receives the findings on those that the same recipe makes of something else.
    """
    store, found = lake.store(), set[str]()
    for path in paths:
        partition = place_of_ledger(path)
        if partition is None or not partition.kind.product:
            continue
        step, findings = _step_or_finding(lake, shelves, partition)
        why = "a damaged object hides what makes it" if findings else ""
        if step is None:
            why = why or "no recipe on the shelves makes it"
        elif not why:
            try:
                why, findings = why_made_differently(store, step.plan(store).targets[0])
                beside += [add_mend_to_finding(store, each) for each in findings]
            except GristmillError as error:
                why = str(error)
        if why:
            say(f"{_partition_in_words(partition)}: not proven, {why}")
        found |= {path} if why or findings else set()
    return found


def missing_note(lake: Lake, shelves: tuple[str, ...], paths: Collection[str], prefix: str) -> str:
    """A note on partitions that the recipes on the shelves make of the snapshots of the lake, and that it lacks.

    What is not there is never wrong. So whoever removes it everywhere is found by this note alone.

    Args:
        lake: the lake.
        shelves: the packages that hold the recipes.
        paths: the paths of the ledgers that are audited.
        prefix: an asset's address, or its first folders; empty: the whole lake.

    Returns:
        The note; empty if the lake has them all.
    """
    catalogue, store = read_catalogue(shelves), lake.store()
    made = {name: snapshots_with_ledger(store, source) for name, source in catalogue.sources.items()}
    below = (
        each
        for each in catalogue.partitioned_assets()
        if not prefix or f"{each[0]}/".startswith(f"{prefix.rstrip('/')}/")
    )
    places = (place(asset, snapshot) for asset, source in below for snapshot in sorted(made[source]))
    missing = [_partition_in_words(each) for each in places if each.ledger not in paths]
    if not missing:
        return ""
    return (
        f"{len(missing)} partitions that the recipes make are not in the lake, such as {missing[0]}: see gristmill plan"
    )


def _step_or_finding(lake: Lake, shelves: tuple[str, ...], partition: Place) -> tuple[Step | None, list[Finding]]:
    """The step that makes a partition; or the finding on what hides it, such as a damaged order of snapshots."""
    store, catalogue, steps = lake.store(), read_catalogue(shelves), list[Step | None]()

    def look() -> Iterator[Finding]:
        steps.append(step_making_partition(lake, catalogue, shelves, partition.asset, partition.snapshot))
        yield from ()

    damages = [add_mend_to_finding(store, each) for each in guard_proof(store, partition.ledger, look())]
    return (steps[0] if steps else None), damages


def _partition_in_words(partition: Place) -> str:
    return f"{partition.asset} ({partition.snapshot})"


def derive_task(lake: Lake, shelves: tuple[str, ...], task: DerivationTask, *, first_only: bool) -> DerivationResult:
    """Does a task.

    Args:
        lake: the lake.
        shelves: the packages that hold the recipes.
        task: the task.
        first_only: stop at the first finding.

    Returns:
        The findings and notes of the task, and the shards that were proven.

    Raises:
        StoreError: the lake does not answer.
    """
    store, notes = lake.store(), list[str]()
    partition = place(task.assets[0], task.snapshot)
    step, damages = _step_or_finding(lake, shelves, partition)
    if step is None:  # its recipe went, or an object was damaged, while verify was at work
        notes += [] if damages else [f"{task}: not proven, no recipe on the shelves makes it"]
        return DerivationResult(task, notes, damages, 0, frozenset())
    derivation = Derivation(lake, restrict_step_to_assets(step, frozenset(task.assets)), task.sample, notes.append)
    found = guard_proof(store, partition.ledger, derivation.derivation_findings())
    findings = [add_mend_to_finding(store, each) for each in (islice(found, 1) if first_only else found)]
    return DerivationResult(task, notes, findings, len(derivation.drawn), derivation.proven_shards)


def sound_shards(proven: Collection[Derived], wrong: Collection[str]) -> set[Derived]:
    """The shards of partitions whose own audit found nothing.

    Args:
        proven: shards that were derived again.
        wrong: the paths of the ledgers with findings.
    """
    return {each for each in proven if place(each[0], each[1]).ledger not in wrong}
