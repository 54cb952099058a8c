"""Automation conditions: when Dagster's sensors request assets.

Dagster's `eager()` is not enough. It ignores new assets of old snapshots, and changed code. It would also never request
an index while one of its snapshots is missing.

A change makes a partition due. It is due until a run takes it up: one that automation has requested, or one of a
person. What becomes of that run does not matter, so a failed or terminated run does not come back. A change after the
run's begin makes the partition due again, because the run may have read what was there before.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import dagster as dg

from assets.support.runs.tags import made_together_tag
from gristmill.lake.asset_kinds import RAW, kind_of, names_in_asset_address
from resources.pauses import paused_names


class Needed(dg.AutomationCondition[dg.AssetKey]):
    """A condition that Dagster's records of the definitions name, and do not spell out: four kilobytes an asset.

    It is evaluated as the whole condition: an asset's page shows all of that, and cursors of either are the same.

    Args:
        words: description of the condition for the page of the asset.
        whole: the condition.
    """

    def __init__(self, words: str, whole: dg.AutomationCondition[Any]) -> None:
        self._words, self.whole = words, whole

    @property
    def name(self) -> str:
        """The name of the condition in Dagster."""
        return "needed"

    @property
    def description(self) -> str:
        """The description of the condition."""
        return self._words

    @property
    def whole_id(self) -> str:
        """The same for equal conditions, in each process."""
        return self.whole.get_unique_id()

    async def evaluate(  # type: ignore[override]  # Dagster's own conditions are evaluated so too
        self, context: dg.AutomationContext[Any]
    ) -> dg.AutomationResult[Any]:
        """The result of the whole condition."""
        ids = self.whole.get_node_unique_ids(parent_unique_ids=[None], child_indices=[None], target_key=None)
        return await replace(context, condition=self.whole, condition_unique_ids=ids).evaluate_async()


class Paused(dg.AutomationCondition[dg.AssetKey]):
    """True while a person has paused a source or a mix of the asset. What changes meanwhile is requested after it.

    Args:
        names: names of the sources and mixes.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    @property
    def name(self) -> str:
        """The name of the condition in Dagster."""
        return "paused"

    @property
    def description(self) -> str:
        """The description of the condition."""
        return "Paused by a person"

    def evaluate(self, context: dg.AutomationContext[Any]) -> dg.AutomationResult[Any]:
        """All partitions, or none."""
        held = bool(self._names & paused_names(context.asset_graph_view.instance))
        return dg.AutomationResult(context, context.candidate_subset if held else context.get_empty_subset())


def when_needed(address: str, source: str, reads: Sequence[str]) -> Needed:
    """The condition for slices: requested once for each change of an input or the recipe, if all inputs exist and none
    must be made.

    Args:
        address: address of the asset.
        source: the source whose snapshots are its partitions.
        reads: addresses of its inputs.
    """
    ready = ~_deps_unmade() & ~dg.AutomationCondition.in_progress()
    if all(kind_of(each) is RAW for each in reads):
        whole = _due_alone() & ready
    else:
        whole = _due_together(address) & ready & ~_deps_behind()
    words = "Due, and all inputs are ready"
    return Needed(words, whole & ~Paused(frozenset({source, names_in_asset_address(address).get("mix", source)})))


def when_below_changed(name: str) -> Needed:
    """The condition for indexes: requested once for each change, also without some slices; one over no slices would be
    empty.

    Args:
        name: name of the mix or the dedupe recipe.
    """
    there = dg.AutomationCondition.any_deps_match(~dg.AutomationCondition.missing()).with_label("any_deps_there")
    quiet = ~dg.AutomationCondition.any_deps_in_progress() & ~dg.AutomationCondition.in_progress()
    words = "A slice or the recipe has changed, and no slice is being made"
    return Needed(words, _due_alone() & there & quiet & ~Paused(frozenset({name})))


def _due_together(address: str) -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """What changed since a run took it up, if runs may make it together with its inputs.

    An input counts if its content changed in a run that does not make the asset too. A run that kept every shard does
    not change the data version.
    """
    together = dg.AutomationCondition.all_new_updates_have_run_tags(tag_keys={made_together_tag(address)})
    news = dg.AutomationCondition.data_version_changed() & ~together | dg.AutomationCondition.will_be_requested()
    new_code = dg.AutomationCondition.code_version_changed()
    deps_changed = dg.AutomationCondition.any_deps_match(news).with_label("any_deps_changed")
    changed = dg.AutomationCondition.newly_missing() | deps_changed | new_code
    return changed.since(_taken_up() & ~new_code)  # a run does not know the recipe that comes after it


@cache
def _due_alone() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """What changed since a run took it up, if no run makes it together with its inputs.

    Inputs change at any time, so a tick often sees a change and a run's begin at once. Then the change counts, unless
    the run has made the asset later than that.
    """
    updated = dg.AutomationCondition.newly_updated()
    older = dg.AutomationCondition.any_deps_match(updated).since(updated)  # Dagster compares the times of these two
    news = dg.AutomationCondition.any_deps_match(dg.AutomationCondition.data_version_changed())
    new_code = dg.AutomationCondition.code_version_changed()
    changed = dg.AutomationCondition.newly_missing() | news.with_label("any_deps_changed") & older | new_code
    there = (~dg.AutomationCondition.missing()).newly_true()  # at the first tick: all that is made
    return ~(there | _taken_up()).since(changed)


@cache
def _taken_up() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """Requested, or seen in a run for the first time: in progress, or already made, or reported by `sync`.

    The end of a run that was in progress is not counted: inputs may have changed since its begin.
    """
    seen = dg.AutomationCondition.run_in_progress() | dg.AutomationCondition.newly_updated()
    return dg.AutomationCondition.newly_requested() | seen.newly_true()


@cache
def _deps_unmade() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """An input is missing or is being made, and will not be made in the same run."""
    unmade = dg.AutomationCondition.missing() | dg.AutomationCondition.in_progress()
    alone = unmade & ~dg.AutomationCondition.will_be_requested()
    return dg.AutomationCondition.any_deps_match(alone).with_label("any_deps_unmade")


@cache
def _deps_behind() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """An input is older than its own inputs or its recipe: it must be made first, or the asset would be made twice.

    Tokenizers, models and labelled sets are left out: only people make them, so they may stay out of date for ever.
    """
    below = dg.AutomationCondition.any_deps_match(dg.AutomationCondition.data_version_changed())
    older = (below | dg.AutomationCondition.code_version_changed()).since(dg.AutomationCondition.newly_updated())
    alone = older & ~dg.AutomationCondition.will_be_requested()  # an input of the same tick is made first anyway
    behind = dg.AutomationCondition.any_deps_match(alone)
    return behind.ignore(dg.AssetSelection.groups("tokenizers", "models")).with_label("any_deps_behind")
