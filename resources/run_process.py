"""Which process a run is. A tag of the run says it, so that any process of Dagster can look whether the run lives."""

from collections.abc import Mapping

import msgspec

from gristmill.process import Process, this_process

PROCESS_TAG = ".dagster/gristmill_process"
"""Dagster's UI hides tags that begin so. A re-execution inherits it, and writes its own before it starts."""


def process_tag() -> dict[str, str]:
    """The tag of a run that this process executes."""
    return {PROCESS_TAG: msgspec.json.encode(this_process()).decode()}


def process_of(tags: Mapping[str, str]) -> Process | None:
    """The process of a run; None if no tag says which.

    Args:
        tags: tags of the run.
    """
    try:
        return msgspec.json.decode(tags.get(PROCESS_TAG, ""), type=Process)
    except msgspec.MsgspecError:
        return None
