"""The automation sensors of versions before there was one for all: one a source, and up to three a mix.

Their cursors say what was requested, and which changes were seen. Without them, a change that was reported just before
an update would never be followed.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from typing import Any

import dagster as dg

SUFFIX = "_automation"
"""The end of their names."""


class FormerCursors:
    """The cursors of those sensors.

    Args:
        instance: Dagster's instance.
    """

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance
        self.conditions = cache(self._conditions)

    def of(self, keys: Collection[dg.AssetKey]) -> str:
        """The cursor of Dagster's sensor of some assets; empty if no former sensor knew one of them.

        Args:
            keys: of the assets.
        """
        from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor  # noqa: PLC0415 - only after an update
        from dagster._daemon import asset_daemon  # noqa: PLC0415 - see above

        known = self.conditions()
        found = [known[key] for key in keys if key in known]
        if not found:
            return ""
        whole = replace(AssetDaemonCursor.empty(), previous_condition_cursors=found)
        return asset_daemon.asset_daemon_cursor_to_instigator_serialized_cursor(whole)

    def _conditions(self) -> dict[dg.AssetKey, Any]:
        from dagster._daemon import asset_daemon  # noqa: PLC0415 - only after an update

        found: dict[dg.AssetKey, Any] = {}
        for state in self._instance.all_instigator_state() if self._instance.schedule_storage else ():
            text = getattr(state.instigator_data, "cursor", None)
            if not state.name.endswith(SUFFIX) or not text:
                continue
            try:
                cursor = asset_daemon.asset_daemon_cursor_from_instigator_serialized_cursor(text, None)
            except Exception:  # noqa: BLE001, S112 - what cannot be read is as if it were not there
                continue
            found.update({each.key: each for each in cursor.previous_condition_cursors or ()})
        return found
