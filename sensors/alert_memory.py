"""The cursor of the sensor `alerts`: which events it has looked at, and what it has posted."""

import json
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from resources.pages.news import without_news
from sensors.alert_messages import Unposted

KINDS = (
    dg.DagsterEventType.RUN_FAILURE,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
    dg.DagsterEventType.FRESHNESS_STATE_CHANGE,
)
"""The kinds of events that alerts tell of."""


@dataclass
class Memory:
    """The cursor.

    Attributes:
        after: storage id of the newest event that was looked at, by the kind of event.
        posted: time of the last post of each topic, and the alerts that were left out since.
        awaited: time when sources were first seen that may never have had a snapshot, see never_come().
        refused: number of ticks in which the webhook refused a message, by its topic.
        passed: alerts that were passed, by topic, because the webhook refused their message in REFUSALS ticks. The next
            message of the kind `more` names them.
    """

    after: dict[str, int] = field(default_factory=dict)
    posted: dict[str, tuple[float, Unposted]] = field(default_factory=dict)
    awaited: dict[str, float | None] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    passed: dict[str, Unposted] = field(default_factory=dict)


def load_memory(cursor: str | None) -> Memory | None:
    """The memory of a cursor; None if it cannot be read."""
    try:
        found = json.loads(without_news(cursor))
        after = {kind.value: int(found["after"][kind.value]) for kind in KINDS}
        posted = {str(topic): (float(when), _left_out(left)) for topic, (when, left) in found["posted"].items()}
        awaited = {
            str(asset): None if since is None else float(since) for asset, since in found.get("awaited", {}).items()
        }
        refused = {str(topic): int(number) for topic, number in found.get("refused", {}).items()}
        passed = {str(topic): _left_out(left) for topic, left in found.get("passed", {}).items()}
        return Memory(after=after, posted=posted, awaited=awaited, refused=refused, passed=passed)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _left_out(found: Any) -> Unposted:
    """What a cursor says of alerts that were left out; cursors of 0.2 have their number alone."""
    if isinstance(found, int):
        return Unposted(found)
    return Unposted(int(found["number"]), str(found["run"]), str(found["why"]))
