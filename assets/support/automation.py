"""Automation conditions: when Dagster's sensors request assets.

Dagster's `eager()` is not enough. It ignores new assets of old snapshots, and changed code. It would also never request
an index while one of its snapshots is missing.
"""

from functools import cache

import dagster as dg


@cache
def when_needed() -> dg.AutomationCondition:  # type: ignore[type-arg]  # the default of the alias is right
    """For slices: requested once if it is missing, or an input or the recipe changed, and if all inputs exist."""
    return _touched() & ~dg.AutomationCondition.any_deps_missing() & ~_deps_touched() & _quiet()


@cache
def when_below_changed() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """For indexes: the same, but one existing slice is enough; an index over no slices would be empty."""
    exists = ~dg.AutomationCondition.missing()
    return _touched() & dg.AutomationCondition.any_deps_match(exists).with_label("any_deps_there") & _quiet()


def _touched() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    new_code = dg.AutomationCondition.code_version_changed()
    changed = dg.AutomationCondition.newly_missing() | _deps_changed() | new_code
    handled = dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated()
    return changed.since(handled & ~new_code)  # the request before a change of the recipe does not cover it


def _deps_changed() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """The content of an input changed. A run that kept every shard does not change the data version, and counts not."""
    news = dg.AutomationCondition.data_version_changed() | dg.AutomationCondition.will_be_requested()
    return dg.AutomationCondition.any_deps_match(news).with_label("any_deps_changed")


def _deps_touched() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """An input will be requested by another sensor's tick: it must be made first, or the asset would be made twice.

    Tokenizers, models and labelled sets are left out: only people make them, so they may stay out of date for ever.
    """
    alone = _touched() & ~dg.AutomationCondition.will_be_requested()  # an input of the same tick is made first anyway
    touched = dg.AutomationCondition.any_deps_match(alone)
    return touched.ignore(dg.AssetSelection.groups("tokenizers", "models")).with_label("any_deps_touched")


def _quiet() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    return ~dg.AutomationCondition.any_deps_in_progress() & ~dg.AutomationCondition.in_progress()
