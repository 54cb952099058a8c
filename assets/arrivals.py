"""Raw arrivals: what lies under `raw/` as Dagster should see it; reported by the sensor, and by `sync`."""

from collections.abc import Iterable, Mapping

import dagster as dg

from assets.keys import key_of
from assets.partitions import snapshots_of
from gristmill.lake.address import raw_asset
from gristmill.lake.identity import digest_of
from gristmill.lake.store import Entry, Store
from gristmill.stages.conversion import Source
from gristmill.stages.raw_listing import list_raw, list_snapshots

DATA_VERSION = "dagster/data_version"


def arrivals(in_lake: Mapping[str, str], known: Mapping[str, str | None]) -> list[str]:
    """The snapshots whose listing is not the one that was reported last (or never was).

    Args:
        in_lake: digest of the listing, by snapshot.
        known: the digest reported last, by snapshot.
    """
    return sorted(snapshot for snapshot, digest in in_lake.items() if known.get(snapshot) != digest)


def listing_digest(entries: Mapping[str, Entry]) -> str:
    """What a snapshot's listing is: names, sizes and etags."""
    return digest_of(sorted([name, entry.size, entry.etag] for name, entry in entries.items()))


def reported(instance: dg.DagsterInstance, source: Source, snapshots: Iterable[str]) -> dict[str, str | None]:
    """The digest last reported of each snapshot, from Dagster's own record and from no cursor."""
    key = key_of(raw_asset(source.name))
    found: dict[str, str | None] = {}
    for snapshot in snapshots:
        event = instance.get_latest_data_version_record(key, partition_key=snapshot)
        record = event.asset_materialization if event else None
        found[snapshot] = (record.tags or {}).get(DATA_VERSION) if record else None
    return found


def look(source: Source, store: Store) -> tuple[dict[str, str], dict[str, int], dict[str, str]]:
    """Digest and bytes by snapshot, and the trouble with names that make no valid one."""
    counted, trouble = list_snapshots(source, store)
    listings = {snapshot: list_raw(source, store, snapshot) for snapshot in counted}
    digests = {snapshot: listing_digest(listing.entries) for snapshot, listing in listings.items()}
    return digests, {snapshot: listing.bytes for snapshot, listing in listings.items()}, trouble


def report_arrivals(instance: dg.DagsterInstance, source: Source, store: Store) -> tuple[list[str], dict[str, str]]:
    """Adds partitions and reports a materialization for every snapshot that is new or changed.

    Returns:
        The snapshots that were reported, and the trouble with names that make no valid one.
    """
    digests, sizes, trouble = look(source, store)
    changed = arrivals(digests, reported(instance, source, digests))
    if changed:
        instance.add_dynamic_partitions(snapshots_of(source.name).name or "", changed)
    for snapshot in changed:
        instance.report_runless_asset_event(
            dg.AssetMaterialization(
                asset_key=key_of(raw_asset(source.name)),
                partition=snapshot,
                metadata={"bytes": sizes[snapshot]},
                tags={DATA_VERSION: digests[snapshot]},
            )
        )
    return changed, trouble
