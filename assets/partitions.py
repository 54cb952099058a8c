"""The snapshots of each source: one dynamic partition set a source, shared by everything made from it."""

from functools import cache

import dagster as dg


@cache
def snapshots_of(source: str) -> dg.DynamicPartitionsDefinition:
    """The partition set of a source."""
    return dg.DynamicPartitionsDefinition(name=f"snapshots/{source}")
