"""What is red in Dagster now: failed partitions, failed assets without partitions, and failed audits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import dagster as dg

from assets.support.keys import address_of, key_of, snapshots_of
from assets.support.last_reading import readings_of


class Red(NamedTuple):
    """Something that is red.

    Attributes:
        asset: its address.
        what: the snapshot, or the name of the check; empty: the asset.
        why: description of what has become of it.
    """

    asset: str
    what: str
    why: str


def red_of(
    instance: dg.DagsterInstance,
    slices: Mapping[str, str],
    whole: Sequence[str],
    checks: Mapping[str, Sequence[str]],
) -> list[Red]:
    """The red things that a person would see on the pages of assets.

    Args:
        instance: Dagster's instance.
        slices: the source of each partitioned asset, by address.
        whole: addresses of the assets without partitions.
        checks: the names of the blocking checks of each asset, by address: their audits are looked at.
    """
    return [
        *_partitions(instance, slices),
        *_assets(instance, whole),
        *_audits(instance, [key for address, names in checks.items() for key in readings_of(address, names)]),
    ]


def _partitions(instance: dg.DagsterInstance, slices: Mapping[str, str]) -> Iterator[Red]:
    for address, source in slices.items():
        partitions = snapshots_of(source)
        keys = sorted(instance.get_dynamic_partitions(partitions.name or ""))
        found = instance.get_status_by_partition(key_of(address), keys, partitions) if keys else None
        for snapshot, status in (found or {}).items():
            if status is not None and status.name == "FAILED":
                yield Red(address, snapshot, "its last run failed")


def _assets(instance: dg.DagsterInstance, whole: Sequence[str]) -> Iterator[Red]:
    """Assets whose last run has failed, and has not made them."""
    for record in instance.get_asset_records([key_of(address) for address in whole]) if whole else ():
        entry = record.asset_entry
        made = entry.last_materialization
        if entry.last_run_id is None or (made is not None and made.run_id == entry.last_run_id):
            continue
        run = instance.get_run_by_id(entry.last_run_id)
        if run is not None and run.status is dg.DagsterRunStatus.FAILURE:
            yield Red(address_of(entry.asset_key), "", "its last run failed")


def _audits(instance: dg.DagsterInstance, keys: Sequence[dg.AssetCheckKey]) -> Iterator[Red]:
    latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys) if keys else {}
    for key, record in latest.items():
        read = record.evaluation
        if (
            isinstance(read, dg.AssetCheckEvaluation)
            and not read.passed
            and read.severity == dg.AssetCheckSeverity.ERROR
        ):
            yield Red(address_of(key.asset_key), key.name, read.description or "failed")
