"""When things are made by themselves.

Not `eager()`: it ignores new assets over old snapshots and changed code, and an index would never fire while one
snapshot is missing.
"""

from functools import cache

import dagster as dg


@cache
def when_needed() -> dg.AutomationCondition:  # type: ignore[type-arg]  # the alias's default is what is meant
    """For slices: missing, or something below changed, or the recipe did; once, and only when all inputs are there."""
    return _touched() & ~dg.AutomationCondition.any_deps_missing() & _quiet()


@cache
def when_below_changed() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    """For indexes: the same, over whatever slices there are, if there is one: there is nothing to close over none."""
    there = ~dg.AutomationCondition.missing()
    return _touched() & dg.AutomationCondition.any_deps_match(there).with_label("any_deps_there") & _quiet()


def _touched() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    changed = (
        dg.AutomationCondition.newly_missing()
        | dg.AutomationCondition.any_deps_updated()
        | dg.AutomationCondition.code_version_changed()
    )
    handled = dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated()
    return changed.since(handled)


def _quiet() -> dg.AutomationCondition:  # type: ignore[type-arg]  # see above
    return ~dg.AutomationCondition.any_deps_in_progress() & ~dg.AutomationCondition.in_progress()
