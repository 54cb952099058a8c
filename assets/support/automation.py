"""When things are made by themselves.

Not `eager()`: it ignores new assets over old snapshots and changed code, and an index would never fire while one
snapshot is missing.
"""

from functools import cache

import dagster as dg


@cache
def when_needed() -> dg.AutomationCondition:  # type: ignore[type-arg]  # the alias's default is what is meant
    """For slices: missing, or something below changed, or the recipe did; once, and only when all inputs are there."""
    return _touched() & ~dg.AutomationCondition.any_deps_missing() & ~_deps_touched() & _quiet()


@cache
def when_below_changed() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """For indexes: the same, over whatever slices there are, if there is one: there is nothing to close over none."""
    there = ~dg.AutomationCondition.missing()
    return _touched() & dg.AutomationCondition.any_deps_match(there).with_label("any_deps_there") & _quiet()


def _touched() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    new_code = dg.AutomationCondition.code_version_changed()
    changed = dg.AutomationCondition.newly_missing() | _deps_changed() | new_code
    handled = dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated()
    return changed.since(handled & ~new_code)  # a recipe that changes just after a request is not what it asked for


def _deps_changed() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """An input has other content than before: a run that kept every shard tells nobody below."""
    news = dg.AutomationCondition.data_version_changed() | dg.AutomationCondition.will_be_requested()
    return dg.AutomationCondition.any_deps_match(news).with_label("any_deps_changed")


def _deps_touched() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """An input is about to be made itself, by another sensor's tick: to go first would be to go twice.

    Tokenizers are left out: nothing but a hand makes them, so they may stay touched for ever.
    """
    alone = _touched() & ~dg.AutomationCondition.will_be_requested()  # asked for in this very tick, it goes first
    touched = dg.AutomationCondition.any_deps_match(alone)
    return touched.ignore(dg.AssetSelection.groups("tokenizers")).with_label("any_deps_touched")


def _quiet() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    return ~dg.AutomationCondition.any_deps_in_progress() & ~dg.AutomationCondition.in_progress()
