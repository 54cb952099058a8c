"""Pauses: the sources and mixes of which automation requests nothing, because a person has said so."""

import json
from collections.abc import Collection

import dagster as dg

PAUSED = "gristmill/paused"
"""The key of their names in Dagster's own storage."""


def paused_names(instance: dg.DagsterInstance) -> frozenset[str]:
    """The names of the sources, mixes and dedupe recipes that are paused."""
    return frozenset(json.loads(instance.daemon_cursor_storage.get_cursor_values({PAUSED}).get(PAUSED) or "[]"))


def pause_recipes(instance: dg.DagsterInstance, names: Collection[str]) -> None:
    """Pauses some; others stay as they are."""
    _record(instance, paused_names(instance) | set(names))


def unpause_recipes(instance: dg.DagsterInstance, names: Collection[str]) -> None:
    """Ends the pause of some; others stay as they are."""
    _record(instance, paused_names(instance) - set(names))


def _record(instance: dg.DagsterInstance, names: Collection[str]) -> None:
    instance.daemon_cursor_storage.set_cursor_values({PAUSED: json.dumps(sorted(names))})
