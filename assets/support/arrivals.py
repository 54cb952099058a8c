"""Raw arrivals: tells Dagster which raw snapshots exist. Used by the raw-arrival sensors and by the job `sync`.

Dagster does not make raw data. So each new or changed raw snapshot is reported: its partition, and a materialization
whose data version comes from the names, sizes and etags of its objects; if objects were rewritten with size and etag
kept, from their bytes too (gristmill/raw_data/rewritten.py). A snapshot that has vanished is reported with the data
version `EMPTY`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster import DagsterEventType

from assets.support.facts.tables import metadata_table
from assets.support.keys import key_of, snapshots_of
from assets.support.runs.backfills import going_backfills
from assets.support.runs.runless_events import MOST, record_events
from assets.support.runs.tags import PARTITION
from gristmill.errors import DataError
from gristmill.lake.address import place, raw_asset
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.changes import RawChanges, find_changes
from gristmill.raw_data.scan import EMPTY, Seen, present_snapshots, scan_raw
from gristmill.recipes.source import Source
from gristmill.reports.sizes import number_and_noun, size_in_words

ARRIVALS = "raw_arrivals"
"""The name of the sensor that watches the raw data of all sources."""

DATA_VERSION = "dagster/data_version"

FOUND = "found"
"""How the words of a report begin that tells nothing of the time when the snapshot came: Dagster's database is new."""

_ENDED = {dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED}

LISTED = 50
"""Most files that a report names."""


def data_versions(
    instance: dg.DagsterInstance, key: dg.AssetKey, partitions: Sequence[str] | None = None
) -> dict[str, str]:
    """The last data version of each partition of an asset, by partition key. It takes one query.

    Args:
        instance: Dagster's instance.
        key: the asset's key.
        partitions: keys of the partitions to look up; by default all.
    """
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        key, DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION], partitions
    )
    return {partition: values[DATA_VERSION] for partition, values in tags.items()}


def reported_versions(
    instance: dg.DagsterInstance, source: str, snapshots: Sequence[str] | None = None
) -> dict[str, str]:
    """The last reported data version of each raw snapshot, by snapshot.

    It is read from Dagster's event log, so it is right even if a sensor's cursor is lost.
    """
    return data_versions(instance, key_of(raw_asset(source)), snapshots)


def is_vanished(instance: dg.DagsterInstance, source: str, snapshot: str) -> bool:
    """Whether the last report of a snapshot says that it has vanished: it has no objects left.

    Then its documents may become empty. Without such a report, an empty raw folder is an error: its data may be lost.
    """
    return reported_versions(instance, source, [snapshot]).get(snapshot) == EMPTY


Compare = Callable[[str, Seen], RawChanges | None]
"""What has changed in a snapshot; None if nobody knows."""


def report(
    instance: dg.DagsterInstance,
    source: Source,
    due: dict[str, Seen],
    late: Callable[[], bool] = lambda: False,
    compare: Compare = lambda _, __: None,
) -> dict[str, str]:
    """Reports raw snapshots to Dagster: for each a partition, an observation and a materialization.

    A data version that is Dagster's last one is not reported again, because a second report would make everything that
    reads it out of date.

    Args:
        instance: Dagster's instance.
        source: the recipe.
        due: the snapshots to report. It is changed: snapshots that are reported, or need no report, are removed. The
            others are left for the sensor's next tick.
        late: whether time is up; it is asked after each snapshot, and at least one is reported.
        compare: function that tells which objects of a snapshot have changed.

    Returns:
        What was reported of each snapshot, in words; sorted by snapshot.
    """
    last_versions = reported_versions(instance, source.name)
    same = {key: seen for key, seen in due.items() if seen.is_version(last_versions.get(key))}
    for snapshot in same:
        del due[snapshot]
    keys = due.keys() | {key for key, seen in same.items() if seen.objects}  # a person may have deleted a key
    if keys:
        instance.add_dynamic_partitions(snapshots_of(source.name).name or "", sorted(keys))
    told: dict[str, str] = {}
    snapshots = sorted(due)
    for first in range(0, len(snapshots), MOST):
        facts: dict[str, tuple[Seen, dict[str, Any]]] = {}
        for snapshot in snapshots[first : first + MOST]:
            if told and late():
                break
            seen = due.pop(snapshot)
            changes = compare(snapshot, seen)
            told[snapshot] = _in_words(seen, last_versions.get(snapshot), changes)
            facts[snapshot] = (seen, _facts(seen, told[snapshot], changes))
        _record(instance, source, facts)
    return told


def _record(instance: dg.DagsterInstance, source: Source, found: Mapping[str, tuple[Seen, Mapping[str, Any]]]) -> None:
    """Records the reports of some snapshots: what was seen, and the metadata.

    Both events of a snapshot are needed, the observation first. Automation reacts to the materialization. But for raw
    data, an asset that Dagster does not make, Dagster 1.13 uses the observation to show whether v0 is unsynced.
    """
    key, words = key_of(raw_asset(source.name)), "the version of the materialization that follows"
    tags = {snapshot: {DATA_VERSION: seen.version} for snapshot, (seen, _) in found.items()}
    record_events(
        instance,
        [dg.AssetObservation(key, partition=each, tags=tags[each], description=words) for each in found],
    )
    made = [
        dg.AssetMaterialization(
            key, partition=each, tags=tags[each], description=str(facts["what happened"]), metadata=facts
        )
        for each, (_, facts) in found.items()
    ]
    record_events(instance, made)


def _in_words(seen: Seen, last_version: str | None, changes: RawChanges | None) -> str:
    """What has happened to a snapshot since its last report."""
    files = f"{number_and_noun(seen.objects, 'file')}, {size_in_words(seen.bytes)}"
    differs = str(changes or "")
    if not seen.objects:
        return f"vanished: {differs or 'no file is left'}"
    if last_version is None and changes is not None:
        return f"{FOUND}: {files}; documents were made of it before Dagster knew of it"
    if last_version in {None, EMPTY}:
        return f"new: {files}"
    touched = changes is not None and changes.again and not (changes.new or changes.changed or changes.gone)
    return f"{'touched' if touched else 'changed'}: {f'{differs}; ' if differs else ''}{files} now"


def _facts(seen: Seen, words: str, changes: RawChanges | None) -> dict[str, Any]:
    """The metadata of a report."""
    facts: dict[str, Any] = {"what happened": words, "size": size_in_words(seen.bytes)}
    if changes is not None:
        facts["changed files"] = metadata_table(list(changes.rows(LISTED)))
    return {**facts, "files": seen.objects, "bytes": seen.bytes}


def report_arrivals(
    instance: dg.DagsterInstance, source: Source, store: Store, lake: Store | None = None
) -> tuple[list[str], dict[str, str]]:
    """Scans the raw data of a source once, and reports each snapshot that is new or changed.

    A snapshot without the source's marker is not reported. But unlike the sensor, this does not wait for the source's
    quiet time (see Source): the caller knows that the data are complete. Vanished snapshots are left to the sensor,
    which confirms them with a second scan.

    Args:
        instance: Dagster's instance.
        source: the recipe.
        store: the store with its raw data: the lake or another one.
        lake: the lake, so that reports say what differs from what documents were made of; None: they do not.

    Returns:
        (snapshots, problems): the reported snapshots; and for each name that is not a valid snapshot, and each snapshot
        that is held back, the reason.
    """

    def compare(snapshot: str, seen: Seen) -> RawChanges | None:
        return find_changes(source, lake, store, snapshot, seen) if lake is not None else None

    scan = scan_raw(source, store)
    return list(report(instance, source, present_snapshots(source, scan), compare=compare)), scan.invalid | scan.held


def forget_vanished(
    instance: dg.DagsterInstance,
    source: Source,
    lake: Store,
    below: Sequence[str],
    known: Mapping[str, str],
    late: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Removes the partition keys of vanished snapshots from Dagster, if everything that was made from them is empty.

    Args:
        instance: Dagster's instance.
        source: the recipe.
        lake: the lake.
        below: addresses of all assets whose partitions are this source's snapshots.
        known: the last reported data version of snapshots that have no objects now, by snapshot.
        late: whether time is up; it is asked before each snapshot. The next call continues.

    Returns:
        The snapshots whose keys were removed. A key that a run or a backfill uses is left to a later tick.
    """
    partition_set = snapshots_of(source.name).name or ""
    vanished = {key for key, version in known.items() if version == EMPTY}
    if not vanished:
        return []
    vanished_keys = sorted(vanished & set(instance.get_dynamic_partitions(partition_set)))
    removed: list[str] = []
    if not vanished_keys or going_backfills(instance):
        return removed
    for key in vanished_keys:
        if late():
            break
        if all(_is_empty(lake, address, key) for address in below) and not _is_being_made(instance, key):
            instance.delete_dynamic_partition(partition_set, key)
            removed.append(key)
    return removed


def _is_being_made(instance: dg.DagsterInstance, snapshot: str) -> bool:
    """Whether a run of this snapshot has not ended: it would fail without the key."""
    unfinished = [status for status in dg.DagsterRunStatus if status not in _ENDED]
    runs = dg.RunsFilter(statuses=unfinished, tags={PARTITION: snapshot})
    return bool(instance.get_runs(runs, limit=1))


def _is_empty(lake: Store, address: str, snapshot: str) -> bool:
    """Whether a partition has no ledger, or one without shards, and no run has claimed it.

    A ledger that cannot be read is something: its key stays, and those of other snapshots are looked at.
    """
    partition = place(address, snapshot)
    try:
        ledger = read_head(lake, partition)
    except DataError:
        return False
    return (ledger is None or not ledger.totals.get("shards")) and lake.head(partition.claim_path) is None
