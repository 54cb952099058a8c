"""Sources whose snapshots do not come within the `expected_hours` of their recipes."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import dagster as dg

from assets.support.keys import address_of, key_of
from assets.support.next_steps import OF_LATE
from gristmill.errors import escape_controls, shorten
from gristmill.lake.address import raw_asset
from gristmill.recipes.catalogue import Catalogue
from sensors.alert_messages import Alert, unreadable_alert

LONGEST_NAME = 200
"""Characters of a partition's key."""


def expected_hours(catalogue: Catalogue) -> dict[str, float]:
    """The hours within which a snapshot is expected, by the address of the raw asset."""
    sources = catalogue.sources.values()
    return {raw_asset(source.name): source.expected_hours for source in sources if source.expected_hours is not None}


def late_alert(instance: dg.DagsterInstance, key: dg.AssetKey, hours: float | None) -> Alert:
    """The alert for a late source. It names the newest report of a snapshot, and its time.

    Args:
        instance: Dagster's instance.
        key: key of the raw asset.
        hours: `expected_hours` of its recipe; None if the recipe has none any more.
    """
    within = "the hours that its recipe expected" if hours is None else f"{hours:g} h (expected_hours of its recipe)"
    newest = instance.get_latest_materialization_event(key)
    if newest is None or newest.asset_materialization is None:
        error = f"no snapshot has ever come; one was expected within {within}"
    else:
        snapshot = escape_controls(shorten(newest.asset_materialization.partition or "", LONGEST_NAME))
        when = datetime.fromtimestamp(newest.timestamp, UTC).strftime("%Y-%m-%d %H:%M UTC")
        error = f"no new or changed snapshot within {within}; the newest report is that of {snapshot}, {when}"
    return Alert(
        event="source_late",
        run="",
        job="",
        assets=[address_of(key)],
        snapshot="",
        check="",
        error=error,
        next=OF_LATE,
    )


def never_come(
    instance: dg.DagsterInstance, hours: Mapping[str, float], awaited: dict[str, float | None], now: float
) -> Iterator[Alert]:
    """The alerts for sources that never had a snapshot, each once: Dagster's own policy says nothing of them.

    Dagster is asked once for each source, when its hours are over.

    Args:
        instance: Dagster's instance.
        hours: hours within which a snapshot is expected, as from expected_hours().
        awaited: time when each source was first seen here; None: it needs no look any more. It is changed; that of an
            alert is changed after the alert was taken.
        now: the time in seconds.
    """
    for asset in awaited.keys() - hours.keys():
        del awaited[asset]
    for asset, allowed in hours.items():
        since = awaited.setdefault(asset, now)
        if since is None:
            continue
        awaited[asset] = since = min(since, now)  # a clock may be set back
        if now - since < allowed * 3600:
            continue
        try:
            came = instance.get_latest_materialization_event(key_of(asset)) is not None
            alert = None if came else late_alert(instance, key_of(asset), allowed)
        except Exception as error:  # noqa: BLE001 - one source must not hold back the alerts of the others
            alert = unreadable_alert(error, asset=asset)
        if alert is not None:
            yield alert
        awaited[asset] = None
