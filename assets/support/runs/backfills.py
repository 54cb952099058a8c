"""Backfills of Dagster's database that have not ended."""

import dagster as dg

ENDED = frozenset({"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"})
"""Dagster exports no names of these states, and so its filter by state cannot be used without its private modules."""


def going_backfills(instance: dg.DagsterInstance) -> set[str]:
    """The ids of the backfills that have not ended. An unknown state counts as not ended.

    Args:
        instance: Dagster's.
    """
    return {each.backfill_id for each in instance.get_backfills() if each.status.value not in ENDED}
